"""Split an English sentence into tokens as the STS protocol does."""

from __future__ import annotations

import re

# Contractions split as in the Penn Treebank: do|n't, it|'s, can|not. O'Neill, and/or, well-known
# and .spx stay whole.
_CLITIC = r"(?:s|m|d|ll|re|ve)\b"
_TOKEN = re.compile(
    r"n't\b"
    rf"|'{_CLITIC}"
    r"|(?:[^\W\d_]\.){2,}(?:-\w+)*"  # u.s., u.s.-led
    r"|can(?=not\b)"
    r"|\w+?(?=n't\b)"
    rf"|(?:(?<!\.)\.)?\w+(?:[-./+*=~^|\\]\w+|'(?!{_CLITIC})\w+)*"
)
_APOSTROPHES = str.maketrans("‘’", "''")


def tokenize(sentence: str) -> list[str]:
    """Return the lower-cased tokens that contain a letter; punctuation and numbers are dropped.

    The paper's notebook takes NLTK's `word_tokenize` and keeps tokens where `str.islower()`
    holds; this expression does the same without NLTK (docs/evaluation.md says how closely).
    """
    tokens = _TOKEN.findall(sentence.lower().translate(_APOSTROPHES))
    return [token for token in tokens if token.islower()]
