"""Split an English sentence into tokens as the STS protocol does."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

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
_TOKEN = re.compile(PATTERN)
_TO_ASCII = str.maketrans(APOSTROPHES, "'" * len(APOSTROPHES))


def tokenize(sentence: str) -> list[str]:
    """Return the lower-cased tokens that contain a letter; punctuation and numbers are dropped.

    The paper's notebook takes NLTK's `word_tokenize` and keeps tokens where `str.islower()`
    holds; this expression does the same without NLTK (docs/evaluation.md says how closely).
    """
    return list(chain.from_iterable(map(_split_again, sentence.lower().split())))


def split_run(run: str) -> tuple[str, ...]:
    """Return the tokens of lower-case text without blanks; no token goes across a blank."""
    tokens = _TOKEN.findall(run.translate(_TO_ASCII))
    return tuple(token for token in tokens if token.islower())


# By Zipf's law most of what stands between two blanks has been seen.
_split_again = lru_cache(maxsize=1 << 17)(split_run)
