"""Turn the tokens of a text into numbers, one per distinct word."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal
from unicodedata import category

import numpy as np

from conceptor.base.threads import prefetch
from conceptor.paper.ppmi.text import DOCUMENT_END, read_blocks
from conceptor.vectors.numbering import WordNumbers

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.paper.ppmi.text import Corpus

Tokens = Literal["words", "spaces"]
Unit = Literal["line", "paragraph", "document"]

UNITS = ("line", "paragraph", "document")  # in the order of the kernels' constants
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
    """Write the numbers of a corpus's tokens and boundaries to a file."""
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
