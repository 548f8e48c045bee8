"""The available part of the Google News vectors: 31,530 of three million words.

Of two published packages one has 26,423 frequent words in the file's order, scaled to length 1, and
the other 13,013 words with their lengths. Words in both have the same vectors up to length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.progress import Progress, silent
from conceptor.data.registry import MissingDataError, fetch
from conceptor.vectors.files import open_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import collect_rows

if TYPE_CHECKING:
    from pathlib import Path

    from conceptor.data.word_lists import Directory

FREQUENT = "vectors/googlenews-26k.bin"
ORIGINAL_LENGTHS = "vectors/googlenews-13k.bin"
TOTAL = 3_000_000


def google_news_vectors(
    data: Directory = None, *, offline: bool = False, progress: Progress = silent
) -> tuple[WordVectors, str]:
    """Return the words of both parts, and a line that describes them.

    The second cannot be downloaded; without it, the vectors of the first are returned unchanged.
    """
    frequent = _read(fetch(FREQUENT, data, offline=offline, progress=progress))
    count = f"of the {TOTAL:,} Google News words"
    try:
        other = _read(fetch(ORIGINAL_LENGTHS, data, offline=offline))
    except MissingDataError:
        return frequent, f"{len(frequent):,} {count}, all of length 1"
    merged, scale, rescaled = merge(frequent, other)
    rest = f"{rescaled:,} of unknown length have length {scale:.2f}"
    return merged, f"{len(merged):,} {count}; {rest}"


def _read(path: Path) -> WordVectors:
    opened = open_vectors(path)
    return collect_rows(opened, (), first=opened.count or TOTAL)


def merge(units: WordVectors, other: WordVectors) -> tuple[WordVectors, float, int]:
    """Return the union, the length given to unit vectors, and the number of those vectors.

    That length is the root mean square of the shared words, so that both kinds have the same weight
    in second moments. Words of the first part come first: only they are sorted by frequency.
    """
    places = units.rows(other.words)
    shared = places >= 0
    lengths = np.linalg.norm(other.vectors[shared].astype(np.float64), axis=1)
    scale = float(np.sqrt(np.mean(lengths**2)))
    vectors = units.vectors * np.float32(scale)
    vectors[places[shared]] = other.vectors[shared]
    added = [word for word in other.words if word not in units]
    merged = np.concatenate([vectors, other.vectors[~shared]])
    return WordVectors([*units.words, *added], merged), scale, len(units) - int(shared.sum())
