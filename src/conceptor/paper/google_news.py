"""The part of the Google News vectors that can be had: 31,530 of three million words.

Two published packages carry words of the paper's own file. One has 26,423 frequent words in the
file's order, brought to length 1; the other 13,013 words with their original lengths. Vectors of
words in both are the same up to length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.data.registry import MissingDataError, fetch
from conceptor.vectors import open_vectors
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from conceptor.data.registry import Bars

FREQUENT = "vectors/googlenews-26k.bin"
ORIGINAL_LENGTHS = "vectors/googlenews-13k.bin"
TOTAL = 3_000_000


def google_news_vectors(
    data: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    progress: Bars | None = None,
) -> tuple[WordVectors, str]:
    """Return the words of both parts, and a line that says what they are.

    The first part is required (MissingDataError); the second cannot be downloaded, and without it
    the vectors of the first are returned as they are.
    """
    words, units = open_vectors(fetch(FREQUENT, data, offline=offline, progress=progress)).read()
    count = f"of the {TOTAL:,} Google News words"
    try:
        other = open_vectors(fetch(ORIGINAL_LENGTHS, data, offline=offline)).read()
    except MissingDataError:
        return WordVectors(words, units), f"{len(words):,} {count}, all of length 1"
    merged, scale, rescaled = merge(words, units, *other)
    note = f"{len(merged):,} {count}; {rescaled:,} of unknown length have length {scale:.2f}"
    return merged, note


def merge(
    words: list[str],
    units: NDArray[np.float32],
    other_words: list[str],
    other_vectors: NDArray[np.float32],
) -> tuple[WordVectors, float, int]:
    """Return the union, the length given to unit vectors, and how many of them have it.

    Words of the second part keep their lengths. The others get the root mean square length of the
    shared words, so that both kinds weigh the same in second moments, which is where length
    matters: cosines do not know it. Words of the first part come first: they are in the order of
    frequency, the others in none.
    """
    rows = {word: row for row, word in enumerate(words)}
    shared = np.array([word in rows for word in other_words])
    lengths = np.linalg.norm(other_vectors[shared].astype(np.float64), axis=1)
    scale = float(np.sqrt(np.mean(lengths**2)))
    vectors = units * np.float32(scale)
    vectors[[rows[word] for word in other_words if word in rows]] = other_vectors[shared]
    added = [word for word in other_words if word not in rows]
    table = WordVectors([*words, *added], np.concatenate([vectors, other_vectors[~shared]]))
    return table, scale, len(words) - int(shared.sum())
