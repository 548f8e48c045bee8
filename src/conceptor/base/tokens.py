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
_TOKEN = re.compile(PATTERN)
_APOSTROPHES = str.maketrans("‘’", "''")


def tokenize(sentence: str) -> list[str]:
    """Return the lower-cased tokens that contain a letter; punctuation and numbers are dropped.

    The paper's notebook takes NLTK's `word_tokenize` and keeps tokens where `str.islower()`
    holds; this expression does the same without NLTK (docs/evaluation.md says how closely).
    """
    return list(chain.from_iterable(map(_split, sentence.lower().split())))


# No token goes across a blank, and by Zipf's law most of what stands between two has been seen.
@lru_cache(maxsize=1 << 17)
def _split(run: str) -> tuple[str, ...]:
    """Return the tokens of lower-case text without blanks."""
    tokens = _TOKEN.findall(run.translate(_APOSTROPHES))
    return tuple(token for token in tokens if token.islower())
