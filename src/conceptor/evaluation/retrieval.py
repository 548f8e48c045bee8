"""Retrieval: documents ranked by the cosine of averaged word vectors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import row_lengths
from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.task import Outcome
from conceptor.evaluation.texts import Texts, TextTask

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

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
    task = "retrieval"

    @property
    def texts(self) -> Texts:
        """The documents, then the queries."""
        return self.collection.texts

    def score_texts(self, made: NDArray[Any], known: NDArray[np.bool_]) -> Outcome:
        """Score vectors of `texts`, however they were made."""
        count = len(self.collection.documents)
        unit = made / row_lengths(made)[:, np.newaxis]
        # Ties are broken by document order.
        ranked = np.argsort(-(unit[count:] @ unit[:count].T), axis=1, kind="stable")
        score = ndcg if self.metric == "nDCG@10" else average_precision
        pairs = zip(ranked, self.collection.relevant, strict=True)
        scores = np.array([score(np.isin(order, relevant)) for order, relevant in pairs])
        used, in_mean = int(known[count:].sum()), self.metric == "nDCG@10"
        return Outcome.of(self, used, len(scores), Mean(scores), in_mean=in_mean)


def ndcg(hits: NDArray[np.bool_]) -> float:
    """Return nDCG@10 of a ranking, given its relevant documents."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    top = hits[:DEPTH]
    ideal = discounts[: min(DEPTH, int(hits.sum()))].sum()
    return float(top @ discounts[: len(top)] / ideal)


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
    asked = _read_records(queries, ("W",))
    relevant: list[list[int]] = [[] for _ in asked]
    for line in Path(judgements).read_text().splitlines():
        query, document, grade = (int(field) for field in line.split()[:3])
        if grade >= 0:
            relevant[query - 1].append(document - 1)
    judged = [i for i, found in enumerate(relevant) if found]
    collection = Collection(
        texts,
        [asked[i] for i in judged],
        [np.unique(np.array(relevant[i], dtype=np.intp)) for i in judged],
    )
    return [Retrieval(dataset, collection), Retrieval(f"{dataset} MAP", collection, "MAP")]


def _read_records(path: str | os.PathLike[str], fields: tuple[str, ...]) -> list[str]:
    """Return some fields of each `.I` record, joined."""
    text = Path(path).read_text(encoding="latin-1")
    found = []
    for record in re.split(r"^\.I \d+ *\n", text, flags=re.MULTILINE)[1:]:
        _, *rest = re.split(r"^\.([A-Z]) *\n", record, flags=re.MULTILINE)
        by_name = zip(rest[::2], rest[1::2], strict=True)
        found.append(" ".join(" ".join(part.split()) for name, part in by_name if name in fields))
    return found
