"""Retrieval: documents ranked by the cosine of averaged word vectors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import row_lengths
from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.task import Outcome, Texts, TextTask

# Documents, queries, judgements.
FILES: dict[str, tuple[str, ...]] = {
    "Cranfield": (
        "retrieval/cranfield/cran.all.1400",
        "retrieval/cranfield/cran.qry",
        "retrieval/cranfield/cranqrel",
    ),
    "CISI": ("retrieval/cisi/CISI.ALL", "retrieval/cisi/CISI.QRY", "retrieval/cisi/CISI.REL"),
}
# Cranfield's abstracts repeat their title; CISI's do not.
_FIELDS = {"Cranfield": ("W",), "CISI": ("T", "W")}
DEPTH = 10


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, the queries that have judgements, and the relevant documents of each."""

    documents: Sequence[str]
    queries: Sequence[str]
    relevant: Sequence[NDArray[np.intp]]

    @cached_property
    def texts(self) -> Texts:
        """The documents, then the queries, split into tokens."""
        return Texts([*self.documents, *self.queries])


@dataclass(frozen=True, eq=False)
class Retrieval(TextTask):
    """nDCG@10 or mean average precision over the queries of a collection."""

    dataset: str
    collection: Collection
    metric: str = "nDCG@10"
    in_mean: bool = True
    task = "retrieval"

    @property
    def texts(self) -> Texts:
        """The documents, then the queries."""
        return self.collection.texts

    def score_texts(self, vectors: NDArray[Any], covered: NDArray[np.bool_]) -> Outcome:
        """Score vectors of `texts`, however they were made."""
        count = len(self.collection.documents)
        unit = vectors / row_lengths(vectors)[:, np.newaxis]
        # Ties are broken by document order.
        ranked = np.argsort(-(unit[count:] @ unit[:count].T), axis=1, kind="stable")
        score = ndcg if self.in_mean else average_precision
        pairs = zip(ranked, self.collection.relevant, strict=True)
        scores = np.array([score(np.isin(order, relevant)) for order, relevant in pairs])
        return self.outcome(Mean(scores), int(covered[count:].sum()), len(scores))


def ndcg(hits: NDArray[np.bool_], relevant: int | None = None) -> float:
    """Return nDCG@10 of a ranking: which of its documents are relevant, in order.

    `relevant` is the number of relevant documents, if the ranking may not have all of them.
    """
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    top = hits[:DEPTH]
    ideal = discounts[: int(hits.sum()) if relevant is None else relevant].sum()
    return float(top @ discounts[: len(top)] / ideal)


def score_rankings(
    hits: Sequence[NDArray[np.bool_]], relevant: Sequence[Sized]
) -> tuple[Mean, Mean]:
    """Return nDCG@10 and recall of each query: which of its first documents are relevant."""
    counted = [(each, len(rows)) for each, rows in zip(hits, relevant, strict=True)]
    gains = np.array([ndcg(each, count) for each, count in counted])
    return Mean(gains), Mean(np.array([each.sum() / count for each, count in counted]))


def average_precision(hits: NDArray[np.bool_]) -> float:
    """Return the mean precision at the ranks of the relevant documents."""
    ranks = np.flatnonzero(hits) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean())


def read_retrieval(dataset: str, paths: Mapping[str, str | os.PathLike[str]]) -> list[Retrieval]:
    """Read a collection; queries without a relevant document are left out.

    Queries are numbered in the order of their file, as in the judgements. In Cranfield's judgements
    −1 means not relevant.
    """
    documents, queries, judgements = (paths[name] for name in FILES[dataset])
    texts = _read_records(documents, _FIELDS[dataset])
    query_texts = _read_records(queries, ("W",))
    relevant: list[list[int]] = [[] for _ in query_texts]
    for line in Path(judgements).read_text().splitlines():
        query, document, grade = (int(field) for field in line.split()[:3])
        if grade >= 0:
            relevant[query - 1].append(document - 1)
    judged = [i for i, rows in enumerate(relevant) if rows]
    collection = Collection(
        texts,
        [query_texts[i] for i in judged],
        [np.unique(np.array(relevant[i], dtype=np.intp)) for i in judged],
    )
    return [
        Retrieval(dataset, collection),
        Retrieval(f"{dataset} MAP", collection, "MAP", in_mean=False),
    ]


def _read_records(path: str | os.PathLike[str], fields: tuple[str, ...]) -> list[str]:
    """Return some fields of each `.I` record, joined."""
    text = Path(path).read_text(encoding="latin-1")
    texts = []
    for record in re.split(r"^\.I \d+ *\n", text, flags=re.MULTILINE)[1:]:
        _, *rest = re.split(r"^\.([A-Z]) *\n", record, flags=re.MULTILINE)
        by_name = zip(rest[::2], rest[1::2], strict=True)
        texts.append(" ".join(" ".join(part.split()) for name, part in by_name if name in fields))
    return texts
