"""Texts as lists of rows, where most of a text has been met before."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Memory", "Rows"]

# By Zipf's law this many stretches between blanks are nearly all of any text.
_MOST = 1 << 17


class Memory(dict[str, tuple[int, ...]]):
    """The numbers that a function returned for strings; a string met again is one look-up.

    The owner clears it when `is_full`, at a time when nothing rests on what it holds.
    """

    def __init__(self, read: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> tuple[int, ...]:
        found = self[text] = self._read(text)
        return found

    def join(self, texts: Iterable[str]) -> list[int]:
        """Return the numbers of all texts, one after the other."""
        return list(chain.from_iterable(map(self.__getitem__, texts)))

    @property
    def is_full(self) -> bool:
        """Whether more is held than is worth its memory."""
        return len(self) > _MOST


class Rows(NamedTuple):
    """The distinct rows of some texts; text i has those of ``columns[ends[i]:ends[i + 1]]``."""

    distinct: NDArray[np.intp]
    columns: NDArray[np.intp]
    ends: NDArray[np.intp]

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Rows:
        """Return the rows of each text as indices of the distinct ones."""
        ends = np.cumsum([0, *map(len, rows)])
        every = np.fromiter(chain.from_iterable(rows), dtype=np.intp, count=ends[-1])
        distinct, columns = np.unique(every, return_inverse=True)
        return cls(distinct, columns, ends)
