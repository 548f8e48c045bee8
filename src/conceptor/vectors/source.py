"""The base of all readers: words and float32 rows, in chunks, in file order, each word once."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.vectors.rows import LabelledVectors
from conceptor.vectors.vectors import RowKind
from conceptor.vectors.words import PackedWords, SeenWords, is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

OnError = Literal["raise", "skip"]
BLOCK_BYTES = 4 << 20  # measured: smaller blocks cost calls, larger ones cache misses
LARGEST_DIMENSION = 1 << 20
LARGEST = np.finfo(np.float32).max
LARGEST_HALF = np.float32(np.finfo(np.float16).max)


class Chunk(NamedTuple):
    """Consecutive rows of a vectors file."""

    words: PackedWords
    vectors: NDArray[np.float32]

    def take(self, rows: NDArray[np.int64]) -> Chunk:
        """Return some of the rows."""
        return Chunk(self.words.take(rows), self.vectors[rows])


@dataclass
class Findings:
    """Problems that one pass over a file found."""

    duplicates: int = 0
    skipped: int = 0
    first_skipped: str = ""
    remarks: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return one line for each kind of finding."""
        lines = list(self.remarks)
        if self.duplicates:
            lines.append(f"{self.duplicates} duplicate words dropped, the first of each kept")
        if self.skipped:
            lines.append(f"{self.skipped} bad rows skipped, the first: {self.first_skipped}")
        return lines


class LocatedChunk(NamedTuple):
    """A chunk as a reader decodes it; `places` holds the row or line numbers, for messages."""

    chunk: Chunk
    places: NDArray[np.int64]


class VectorSource(LabelledVectors):
    """A vectors file opened for reading; every pass over `chunks` starts at the beginning.

    Attributes
    ----------
    path, format, dimension, dtype
        The file, the name of its format, the length of a vector, and how numbers are stored.
    count
        How many vectors it yields; None until a pass is complete.
    header_count
        How many rows the file says it has, if it does.
    has_words
        Whether rows have labels, or only numbers.
    rows_are
        The user's choice of what rows are; None leaves it to `decide_rows`.
    findings
        The rows that the last pass dropped, and its remarks.
    """

    format: str
    place = "row"
    dimension: int = 0
    count: int | None = None
    header_count: int | None = None
    has_words: bool = True

    def __init__(self, path: Path, dimension: int, dtype: np.dtype[np.generic]) -> None:
        if not 0 < dimension <= LARGEST_DIMENSION:
            raise InvalidInputError(
                f"{path}: vectors of {dimension} numbers; expected 1 to {LARGEST_DIMENSION}"
            )
        self.path = path
        self.dimension = dimension
        self.dtype = dtype
        self._opened = self._states()
        self.findings = Findings()
        # The places of the rows that the last pass has dropped so far.
        self.gone: list[int] = []
        self.on_error: OnError = "raise"
        self.replace_spaces: str | None = None
        # The settings of a whole pass that had nothing to drop.
        self._clean_under: tuple[OnError, str | None, RowKind] | None = None

    @abstractmethod
    def _decode(self) -> Iterator[LocatedChunk]:
        """Yield the file's rows as they are, duplicates included."""

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def worth_keeping(self) -> bool:
        """Whether decoding costs more than reading the bytes again."""
        return True

    def files(self) -> list[Path]:
        """Return the files that are read, which must not be overwritten."""
        return [self.path]

    @property
    def size(self) -> int:
        """The bytes on disk when the file was opened."""
        return self._opened[0][2]

    def _states(self) -> list[tuple[int, int, int]]:
        """Return a stamp that changes if a file is replaced or modified."""
        found = [path.stat() for path in self.files()]
        return [(each.st_ino, each.st_mtime_ns, each.st_size) for each in found]

    def _check_unchanged(self) -> None:
        """Raise if a file has changed since it was opened; a deleted file was still read whole."""
        with suppress(FileNotFoundError):
            if self._states() != self._opened:
                raise InvalidInputError(
                    f"{self.path}: changed while it was being read; repeat the same call"
                )

    def chunks(self) -> Iterator[Chunk]:
        """Yield the vectors in file order.

        A repeated word is dropped. NaN, infinities and words that are not UTF-8 raise
        `InvalidInputError`, or are skipped and counted with `on_error = "skip"`. If a whole pass
        finds none of these, the next one does not check again.
        """
        self.findings = Findings()
        self.gone.clear()
        seen = SeenWords(min(self.header_count or 0, self.size // (2 * self.dimension)))
        settings = self.on_error, self.replace_spaces, self.kind
        is_clean = settings == self._clean_under  # the file has not changed, so this still holds
        count = 0
        # Two texts may be equal; in a vocabulary each word occurs once.
        drops_seen = self.has_words and self.kind is not RowKind.TEXTS
        for located in self._decode():
            kept = located if is_clean else self._drop_bad_rows(located)
            if self.replace_spaces is not None:
                blob = kept.chunk.words.blob
                blob[blob == 32] = ord(self.replace_spaces)
            if drops_seen and not is_clean:
                kept = self._drop_seen(kept, seen)
            if len(kept.places) < len(located.places):
                self.gone.extend(np.setdiff1d(located.places, kept.places).tolist())
            chunk = kept.chunk
            count += len(chunk.words)
            if len(chunk.words):
                yield chunk
        self._check_unchanged()
        if count == 0:
            raise InvalidInputError(f"{self.path}: contains no vectors")
        self.count = count
        if not (self.findings.duplicates or self.findings.skipped):
            self._clean_under = settings

    def _drop_seen(self, located: LocatedChunk, seen: SeenWords) -> LocatedChunk:
        new = seen.add(located.chunk.words)
        if new.all():
            return located
        self.findings.duplicates += int(np.count_nonzero(~new))
        return LocatedChunk(located.chunk.take(np.flatnonzero(new)), located.places[new])

    def _drop_bad_rows(self, located: LocatedChunk) -> LocatedChunk:
        from conceptor.kernels import first_beyond

        chunk, places = located
        while (row := first_beyond(chunk.vectors, LARGEST)) >= 0:
            word = chunk.words.raw(row).decode(errors="replace")
            has_nan = np.isnan(chunk.vectors[row]).any()
            found = "NaN" if has_nan else "Inf or a number too large for float32"
            self._reject(int(places[row]), f"the vector of {word!r} has {found}")
            good = np.asarray(np.isfinite(chunk.vectors).all(axis=1))
            chunk, places = self._keep(chunk, places, good)
        while (row := chunk.words.first_not_utf8()) >= 0:
            self._reject(int(places[row]), f"the word {chunk.words.raw(row)!r} is not UTF-8")
            rows = range(len(chunk.words))
            good = np.array([is_utf8(chunk.words.raw(i)) for i in rows], dtype=np.bool_)
            chunk, places = self._keep(chunk, places, good)
        return LocatedChunk(chunk, places)

    def _keep(
        self, chunk: Chunk, places: NDArray[np.int64], good: NDArray[np.bool_]
    ) -> tuple[Chunk, NDArray[np.int64]]:
        self.findings.skipped += int(np.count_nonzero(~good)) - 1
        return chunk.take(np.flatnonzero(good)), places[good]

    def _reject(self, place: int, found: str) -> None:
        """Raise for a bad row, or count it with `on_error = "skip"`."""
        message = f"{self.path}, {self.place} {place}: {found}"
        if self.on_error == "raise":
            raise InvalidInputError(
                f"{message}; repair the file, or skip such rows with ", Setting("on_error", "skip")
            )
        self.findings.skipped += 1
        self.findings.first_skipped = self.findings.first_skipped or message

    @property
    def words(self) -> list[str]:
        """All words, in file order; takes a pass over the file."""
        return [word for chunk in self.chunks() for word in chunk.words]

    def to_array(self) -> NDArray[np.float32]:
        """Return all vectors as one array, in file order; takes a pass over the file."""
        parts = [chunk.vectors for chunk in self.chunks()]
        whole = np.empty((sum(map(len, parts)), self.dimension), dtype=np.float32)
        start = 0
        parts.reverse()
        while parts:  # freed one by one, so two whole copies never exist
            part = parts.pop()
            whole[start : start + len(part)] = part
            start += len(part)
        return whole

    def read(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the words and the vectors, in one pass."""
        chunks = list(self.chunks())
        words = [word for chunk in chunks for word in chunk.words]
        return words, np.concatenate([chunk.vectors for chunk in chunks])


def number_rows(start: int, stop: int) -> PackedWords:
    """Return labels for rows without words: their numbers, from 1."""
    return PackedWords.from_words(b"%d" % row for row in range(start + 1, stop + 1))


def check_finite(chunk: Chunk, dtype: np.dtype[np.generic]) -> None:
    """Raise, naming the word, if a vector cannot be stored."""
    from conceptor.kernels import first_beyond

    row = first_beyond(chunk.vectors, LARGEST_HALF if dtype.itemsize == 2 else LARGEST)
    if row >= 0:
        raise InvalidInputError(
            f"the vector of {chunk.words[row]!r} has NaN, Inf or a number too large for {dtype}"
        )
