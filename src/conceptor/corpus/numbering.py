"""Turn the tokens of a text into numbers, one for each distinct word."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import category

import numpy as np

from conceptor.base.threads import prefetch
from conceptor.corpus.text import DOCUMENT_END, read_blocks
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.corpus.text import Corpus

Tokens = Literal["words", "spaces"]
Unit = Literal["line", "paragraph", "document"]

UNITS = ("line", "paragraph", "document")  # in the order of the kernels' constants
_FIRST_PLACES = 1 << 16
# Unicode assigns nothing between the ideographs of plane 3 and the specials of plane 14.
_LETTERS_END = 0x33480
_ALL_CHARACTERS = 0x110000


@cache
def _in_token(tokens: Tokens) -> NDArray[np.bool_]:
    """Return for each character whether it belongs to a token."""
    assigned = [chr(c) for c in range(_LETTERS_END)]
    table = np.full(_ALL_CHARACTERS, tokens == "spaces")
    if tokens == "spaces":
        table[:_LETTERS_END] = [c != DOCUMENT_END and not c.isspace() for c in assigned]
    else:
        table[:_LETTERS_END] = [c.isalnum() or category(c)[0] == "M" for c in assigned]
    return table


def number_corpus(
    corpus: Corpus, file: IO[bytes], tokens: Tokens, lowercase: bool, unit: Unit, progress: Progress
) -> WordNumbers:
    """Write the number of each token of a corpus, or of a boundary, to a file."""
    from conceptor.kernels import find_tokens

    in_token = _in_token(tokens)
    numbers = WordNumbers()
    state = np.array([True, False])
    seen = 0
    for block in prefetch(read_blocks(corpus)):
        text = block.text.lower() if lowercase else block.text
        if tokens == "words":
            text = text.replace("’", "'")
        encoded = np.frombuffer(text.encode(errors="replace"), dtype=np.uint8)
        starts = np.empty(len(encoded) + 1, dtype=np.int32)
        ends = np.empty_like(starts)
        found = find_tokens(encoded, in_token, UNITS.index(unit), state, starts, ends)
        file.write(numbers.number(encoded, starts[:found], ends[:found]).tobytes())
        seen += found
        progress("reading", block.fraction, seen)
    return numbers


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
        self.counts = _grow(self.counts, most)
        self._hashes = _grow(self._hashes, most)
        self._offsets = _grow(self._offsets, most + 1)
        self._blob = _grow(self._blob, int(self._offsets[self.known]) + letters)
        if 2 * most > len(self._table):
            self._table = np.zeros(1 << (4 * most - 1).bit_length(), dtype=np.int32)
            fill_table(self._table, self._hashes[: self.known])


def _grow(array: NDArray[Any], size: int) -> NDArray[Any]:
    if len(array) >= size:
        return array
    larger = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
