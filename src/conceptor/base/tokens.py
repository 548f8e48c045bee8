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
# Quotation marks that are used as apostrophes.
APOSTROPHES = "‘’"
_TOKEN = re.compile(PATTERN)


def tokenize(sentence: str) -> list[str]:
    """Return the lower-cased tokens that contain a letter; punctuation and numbers are dropped.

    The paper's notebook takes NLTK's `word_tokenize` and keeps tokens where `str.islower()`
    holds; this expression does the same without NLTK (docs/explanation/evaluation.md).
    """
    return list(chain.from_iterable(map(_split, sentence.lower().split())))


# By Zipf's law most runs between two spaces have been seen before.
@lru_cache(maxsize=1 << 17)
def _split(run: str) -> list[str]:
    for mark in APOSTROPHES:
        run = run.replace(mark, "'")
    return [token for token in _TOKEN.findall(run) if token.islower()]
