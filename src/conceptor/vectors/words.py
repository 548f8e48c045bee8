"""Millions of words without a Python string for each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PackedWords(Sequence[str]):
    """UTF-8 words, concatenated in `blob`; word i is `blob[offsets[i]:offsets[i + 1]]`.

    Takes about 8 bytes per word besides the text. Strings are made on demand.
    """

    __slots__ = ("blob", "offsets")

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.blob = blob
        self.offsets = offsets

    @classmethod
    def from_words(cls, words: Iterable[str | bytes]) -> PackedWords:
        """Pack strings; bytes are kept as they are."""
        if isinstance(words, PackedWords):
            return words
        try:
            encoded = [word.encode() if isinstance(word, str) else word for word in words]
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"the word {error.object!r} is not valid Unicode") from None
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=offsets[1:])
        blob = np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8)
        return cls(blob, offsets)

    @classmethod
    def cut(
        cls, buffer: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> PackedWords:
        """Copy the words at `buffer[starts[i]:ends[i]]`."""
        from conceptor.kernels import gather_words

        blob = np.empty(int((ends - starts).sum()), dtype=np.uint8)
        offsets = np.empty(len(starts) + 1, dtype=np.int64)
        gather_words(buffer, starts, ends, blob, offsets)
        return cls(blob, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[PackedWords]) -> PackedWords:
        """Concatenate several runs of words."""
        blob = np.concatenate([part.blob[part.offsets[0] : part.offsets[-1]] for part in parts])
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(blob, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def text_bytes(self) -> int:
        """Length of all words together, in bytes."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def nbytes(self) -> int:
        """Memory in use, in bytes."""
        return self.blob.nbytes + self.offsets.nbytes

    def raw(self, index: int) -> bytes:
        """Return the bytes of one word."""
        return self.blob[self.offsets[index] : self.offsets[index + 1]].tobytes()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> PackedWords: ...
    def __getitem__(self, index: int | slice) -> str | PackedWords:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return self.take(np.arange(start, stop, step))
            return PackedWords(self.blob, self.offsets[start : max(start, stop) + 1])
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.raw(index % len(self)).decode()

    def __iter__(self) -> Iterator[str]:
        base = int(self.offsets[0])
        data = self.blob[base : self.offsets[-1]].tobytes()
        bounds = (self.offsets - base).tolist()
        start = bounds[0]
        for end in bounds[1:]:
            yield data[start:end].decode()
            start = end

    def take(self, rows: NDArray[np.int64]) -> PackedWords:
        """Return the words of these rows."""
        return PackedWords.cut(self.blob, self.offsets[:-1][rows], self.offsets[1:][rows])

    def first_not_utf8(self) -> int:
        """Return the first word that is not valid UTF-8, or -1.

        The whole run is decoded at once. That alone would miss a character that is split between
        two words; then the second word begins with a continuation byte.
        """
        begins = self.offsets[:-1][np.diff(self.offsets) > 0]
        data = self.blob[self.offsets[0] : self.offsets[-1]].tobytes()
        try:
            data.decode()
            if not np.any(self.blob[begins] & 0xC0 == 0x80):
                return -1
        except UnicodeDecodeError:
            pass
        return next(i for i in range(len(self)) if not is_utf8(self.raw(i)))

    def first_with(self, characters: bytes) -> int:
        """Return the first word that contains one of these ASCII characters, or -1."""
        base, end = self.offsets[0], self.offsets[-1]
        held = np.isin(self.blob[base:end], np.frombuffer(characters, dtype=np.uint8))
        places = np.flatnonzero(held)
        if not len(places):
            return -1
        return int(np.searchsorted(self.offsets, base + places[0], side="right")) - 1


def is_utf8(word: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _hash(
    words: PackedWords, key: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    from conceptor.kernels import hash_words

    hashes = np.empty(len(words), dtype=np.uint64)
    more = np.empty(len(words), dtype=np.uint32)
    hash_words(words.blob, words.offsets, key, hashes, more)
    return hashes, more


class WordIndex:
    """Finds some words among packed ones by 96-bit hashes, without a string for each.

    The leading bits of a hash lead to a mark. About one other word in sixteen has a mark too; the
    rest of the hash tells it apart.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._key = np.frombuffer(os.urandom(16), dtype=np.uint64)
        hashes, more = _hash(PackedWords.from_words(words), self._key)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes, self._more = hashes[self._order], more[self._order]
        bits = (16 * len(hashes)).bit_length()
        self._shift = np.uint64(64 - bits)
        self._marks = np.zeros(1 << bits, dtype=np.bool_)
        self._marks[hashes >> self._shift] = True

    def find(self, words: PackedWords) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows whose words are in the index, and their numbers there."""
        hashes, more = _hash(words, self._key)
        rows = np.flatnonzero(self._marks[hashes >> self._shift])
        places = np.searchsorted(self._hashes, hashes[rows], side="right") - 1
        same = (self._hashes[places] == hashes[rows]) & (self._more[places] == more[rows])
        return rows[same], self._order[places[same]]


def take_words(words: Sequence[str], rows: NDArray[np.int64]) -> Sequence[str]:
    """Return the words of these rows; packed words stay packed."""
    return words.take(rows) if isinstance(words, PackedWords) else [words[i] for i in rows.tolist()]


# A file may claim to have any number of words; beyond this many, the table grows as they come.
_MOST_EXPECTED = 1 << 22


class SeenWords:
    """The words seen so far as a set of 96-bit hashes, 16 to 32 bytes per word.

    Each set has a new random key, so no file can contain words that are made to collide. The
    probability that any two of n words collide is n²/2⁹⁷: 6·10⁻¹⁷ for three million words.
    """

    def __init__(self, expected: int = 0) -> None:
        self._key = np.frombuffer(os.urandom(16), dtype=np.uint64)
        self._make_table(1 << max(12, (4 * min(expected, _MOST_EXPECTED) // 3).bit_length()))

    def _make_table(self, size: int) -> None:
        self._table = np.zeros(size, dtype=np.uint64)
        self._more = np.zeros(size, dtype=np.uint32)
        self._count = 0

    def add(self, words: PackedWords) -> NDArray[np.bool_]:
        """Add words; return which of them are new."""
        hashes, more = _hash(words, self._key)
        while 4 * (self._count + len(hashes)) > 3 * len(self._table):
            self._grow()
        return self._insert(hashes, more)

    def _insert(self, hashes: NDArray[np.uint64], more: NDArray[np.uint32]) -> NDArray[np.bool_]:
        from conceptor.kernels import insert_hashes

        new = np.empty(len(hashes), dtype=np.bool_)
        self._count += insert_hashes(self._table, self._more, hashes, more, new)
        return new

    def _grow(self) -> None:
        """Double the table; it is ordered, so it is freed from one end while the new one fills."""
        size = len(self._table)
        parts: list[Any] = []
        for start in range(0, size, size // 16):
            table, more = (each[start : start + size // 16] for each in (self._table, self._more))
            parts.append((table[table != 0], more[table != 0]))
        self._make_table(2 * size)
        parts.reverse()
        while parts:
            self._insert(*parts.pop())
