"""Look up the rows of texts, and remember each string that was seen before.

By Zipf's law most words of a text are repeats. So each run between two blanks is read once; when it
repeats, it costs one table lookup, in a compiled loop over the bytes of many texts.
"""

from __future__ import annotations

from itertools import chain, pairwise
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.numbering import WordNumbers, grow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["Memory", "RowLists", "split_at"]

# This many runs between blanks cover nearly all of any text.
_MOST = 1 << 17
# Positions in a text are 32-bit numbers.
_MOST_BYTES = 1 << 31
_CHARACTERS = 0x110000
# For `find_tokens`: neither lines nor paragraphs are boundaries.
_NO_UNIT = 2


class RowLists(NamedTuple):
    """The rows of some texts; text i has ``rows[ends[i]:ends[i + 1]]``."""

    rows: Numbers
    ends: Numbers

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]]) -> RowLists:
        """Return the rows of each text."""
        ends = _ends(list(map(len, lists)))
        return cls(np.fromiter(chain.from_iterable(lists), np.int64, count=ends[-1]), ends)

    @classmethod
    def concatenate(cls, parts: Sequence[RowLists]) -> RowLists:
        """Return the rows of all texts of several."""
        lengths = np.concatenate([np.diff(part.ends) for part in parts])
        return cls(np.concatenate([part.rows for part in parts]), _ends(lengths))

    def without(self, row: int) -> RowLists:
        """Return all rows except one."""
        kept = self.rows != row
        return RowLists(self.rows[kept], _ends(kept)[self.ends])

    def distinct(self) -> tuple[Numbers, Numbers]:
        """Return the distinct rows in order, and the place of each row among them."""
        top = int(self.rows.max(initial=-1)) + 1
        if top > 4 * len(self.rows):
            found, places = np.unique(self.rows, return_inverse=True)
            return found, places
        used = np.zeros(top, dtype=bool)
        used[self.rows] = True
        return np.flatnonzero(used), (np.cumsum(used) - 1)[self.rows]


class Memory:
    """The rows of strings; each string is read once, and looked up in a table after that.

    Parameters
    ----------
    read : function from a list of strings to `RowLists`
        Called with the new strings, one thread at a time.
    in_run : ndarray of bool, optional
        For each character, whether it belongs to a run that is read as a unit (`split_at`).
    """

    def __init__(
        self, read: Callable[[list[str]], RowLists], in_run: NDArray[np.bool_] | None = None
    ) -> None:
        self._read, self._in_run = read, in_run
        self._lock = Lock()
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._numbers = WordNumbers()
        self._rows = np.zeros(0, dtype=np.int64)
        self._ends = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return self._numbers.known

    def of_texts(self, texts: Sequence[str]) -> RowLists:
        """Return the rows of texts, run by run."""
        from conceptor.kernels import find_tokens

        encoded = [_encode(text) for text in texts]
        data = _array(b" ".join(encoded))
        starts = np.empty(len(data) // 2 + 1, dtype=np.int32)
        ends = np.empty_like(starts)
        found = find_tokens(data, self._in_run, _NO_UNIT, np.array([True, False]), starts, ends)
        stops = np.cumsum([len(each) + 1 for each in encoded], dtype=np.int64)
        each = np.diff(np.searchsorted(starts[:found], stops), prepend=0)
        return self._of(data, starts[:found], ends[:found], _ends(each))

    def of_lists(self, lists: Sequence[Sequence[str]]) -> RowLists:
        """Return the rows of lists of strings."""
        encoded = list(map(_encode, chain.from_iterable(lists)))
        data = _array(b"".join(encoded))
        places = _ends(list(map(len, encoded))).astype(np.int32)
        return self._of(data, places[:-1].copy(), places[1:].copy(), _ends(list(map(len, lists))))

    def _of(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int32],
        ends: NDArray[np.int32],
        texts: Numbers,
    ) -> RowLists:
        with self._lock:
            if len(self) > _MOST:
                self.clear()
            try:
                before = len(self)
                numbers = self._numbers.number(data, starts, ends)
                if len(self) > before:
                    self._extend(before)
                firsts = self._ends[numbers]
                lengths = self._ends[numbers + 1] - firsts
                rows = self._rows
            except BaseException:
                self.clear()  # a string that has a number but was not read must not count as known
                raise
        places = _ends(lengths)
        shifts = np.repeat(firsts - places[:-1], lengths)
        return RowLists(rows[shifts + np.arange(len(shifts))], places[texts])

    def _extend(self, before: int) -> None:
        words = self._numbers.words()[before:]
        data = words.blob[words.offsets[0] : words.offsets[-1]].tobytes()
        bounds = (words.offsets - words.offsets[0]).tolist()
        found = self._read(
            [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds)]
        )
        start = int(self._ends[before])
        self._rows = grow(self._rows, start + len(found.rows))
        self._rows[start : start + len(found.rows)] = found.rows
        self._ends = grow(self._ends, len(self) + 1)
        self._ends[before : len(self) + 1] = start + found.ends


def split_at(blanks: str) -> NDArray[np.bool_]:
    """Return for each character whether it is not one of these."""
    table = np.ones(_CHARACTERS, dtype=bool)
    table[[ord(blank) for blank in blanks]] = False
    return table


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _array(data: bytes) -> NDArray[np.uint8]:
    if len(data) >= _MOST_BYTES:
        raise InvalidInputError("the texts are larger than 2 GiB; pass fewer at a time")
    return np.frombuffer(data, dtype=np.uint8)


def _ends(lengths: Sequence[int] | Numbers) -> Numbers:
    """Return where each of several parts ends, with 0 before the first."""
    found = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=found[1:])
    return found
