"""The available part of the Google News vectors: 31,530 of three million words.

Two published packages contain words of the paper's own file. The first has 26,423 frequent words in
the file's order, scaled to length 1. The second has 13,013 words with their original lengths. Words
in both have the same vectors up to length.
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
    """Return the words of both parts, and a line that describes them.

    The first part is required (MissingDataError). The second cannot be downloaded; without it, the
    vectors of the first are returned unchanged.
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
    """Return the union, the length given to unit vectors, and the number of those vectors.

    Words of the second part keep their lengths. The others get the root mean square length of the
    shared words, so that both kinds have the same weight in second moments. Length matters only
    there; cosines ignore it. Words of the first part come first, because only they are sorted by
    frequency.
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
