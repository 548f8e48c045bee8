"""Measure how well words find their translations in two aligned sets of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.progress import silent
from conceptor.evaluation.statistics import value
from conceptor.evaluation.translation import distinct, translate
from conceptor.vectors.chunks import RowCollector, as_vectors, read_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.base.progress import Progress
    from conceptor.concepts.align import Alignment
    from conceptor.vectors.table import WordVectors


def read_first(vectors: object, count: int, progress: Progress = silent) -> WordVectors:
    """Return the first rows of vectors."""
    collector = RowCollector((), count)
    for words, rows in read_chunks(as_vectors(vectors), progress):
        collector.add(words, np.asarray(rows))
        if collector.count >= count:
            break
    return collector.table()


def measure_alignment(
    source: object,
    target: object,
    alignment: Alignment,
    dictionary: Sequence[tuple[str, str]],
    among: int,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Return precision at 1 and 10 and the mean reciprocal rank, × 100, by cosine and by CSLS.

    Only the first `among` words of either side take part.
    """
    left, right = (read_first(each, among, progress) for each in (source, target))
    groups = distinct(right.vectors)
    mapped = (
        left.with_vectors(alignment.source(left.vectors)),
        right.with_vectors(alignment.target(right.vectors)),
    )
    found: dict[str, Any] = {}
    for name in ("cosine", "csls"):
        result = translate(*mapped, dictionary, csls=name == "csls", groups=groups)
        found[name] = {metric: 100 * value(each) for metric, each in result.statistics.items()}
        found |= {"used": len(result.ranks), "total": result.total}
    return found
