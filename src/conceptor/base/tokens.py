"""Split an English sentence into tokens as the STS protocol does."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Contractions split as in the Penn Treebank: do|n't, it|'s, can|not. O'Neill, and/or, well-known
# and .spx stay whole.
_CLITIC = r"(?:s|m|d|ll|re|ve)\b"
PATTERN = (
    r"n't\b"
    rf"|'{_CLITIC}"
    r"|(?:[^\W\d_]\.){2,}(?:-\w+)*"  # u.s., u.s.-led
    r"|can(?=not\b)"
    r"|\w+?(?=n't\b)"
    rf"|(?:(?<!\.)\.)?\w+(?:[-./+*=~^|\\]\w+|'(?!{_CLITIC})\w+)*"
)
# Quotation marks that stand for an apostrophe.
APOSTROPHES = "‘’"
# After the tokens of each run; no token contains it.
RUN_END = "\n"
_TOKEN_OR_END = re.compile(f"{PATTERN}|{RUN_END}")


def tokenize(sentence: str) -> list[str]:
    """Return the lower-cased tokens that contain a letter; punctuation and numbers are dropped.

    The paper's notebook takes NLTK's `word_tokenize` and keeps tokens where `str.islower()`
    holds; this expression does the same without NLTK (docs/explanation/evaluation.md).
    """
    return list(chain.from_iterable(map(_split_again, sentence.lower().split())))


def split_runs(runs: Iterable[str]) -> list[str]:
    """Return the tokens of lower-case texts without blanks, with `RUN_END` after those of each."""
    joined = RUN_END.join([*runs, ""])
    for mark in APOSTROPHES:
        joined = joined.replace(mark, "'")
    return [token for token in _TOKEN_OR_END.findall(joined) if token == RUN_END or token.islower()]


# By Zipf's law most of what stands between two blanks has been seen.
@lru_cache(maxsize=1 << 17)
def _split_again(run: str) -> list[str]:
    return split_runs([run])[:-1]
