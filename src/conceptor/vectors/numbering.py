"""Number words in order of first appearance, in compiled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST_PLACES = 1 << 16


class WordNumbers:
    """Numbers words in order of first appearance, and counts how often each occurs."""

    def __init__(self) -> None:
        self.known = 0
        self.counts = np.zeros(0, dtype=np.int64)
        self._table = np.zeros(_FIRST_PLACES, dtype=np.int32)
        self._hashes = np.zeros(0, dtype=np.uint64)
        self._blob = np.zeros(0, dtype=np.uint8)
        self._offsets = np.zeros(1, dtype=np.int64)

    def number(
        self, text: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Return the number of each token of a text."""
        from conceptor.kernels import number_tokens

        self._make_room(len(starts), len(text))
        numbers = np.empty(len(starts), dtype=np.int32)
        kept = (self._table, self._hashes, self._blob, self._offsets, self.counts)
        self.known = number_tokens(text, starts, ends, *kept, self.known, numbers)
        return numbers

    def words(self) -> PackedWords:
        """Return the words, by number."""
        return PackedWords(self._blob, self._offsets[: self.known + 1])

    def _make_room(self, tokens: int, letters: int) -> None:
        from conceptor.kernels import fill_table

        most = self.known + tokens
        self.counts = grow(self.counts, most)
        self._hashes = grow(self._hashes, most)
        self._offsets = grow(self._offsets, most + 1)
        self._blob = grow(self._blob, int(self._offsets[self.known]) + letters)
        if 2 * most > len(self._table):
            self._table = np.zeros(1 << (4 * most - 1).bit_length(), dtype=np.int32)
            fill_table(self._table, self._hashes[: self.known])


def grow(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array with enough room, doubled in length if it was too short."""
    if len(array) >= size:
        return array
    larger = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
