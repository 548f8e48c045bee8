"""Read all rows of vectors at once, for tests."""

from __future__ import annotations

import numpy as np


def read_all(vectors):
    """Return the labels and the rows."""
    chunks = list(vectors.chunks())
    labels = [label for labels, _ in chunks for label in labels]
    return labels, np.concatenate([rows for _, rows in chunks])


def cut(vectors, size):
    """Yield labels and rows, this many at a time."""
    labels, rows = read_all(vectors)
    for start in range(0, len(labels), size):
        yield labels[start : start + size], rows[start : start + size]
