"""Score an attached encoder on the user's judgements, next to the model, BM25, and both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import unit_rows32
from conceptor.base.errors import MissingExtraError
from conceptor.evaluation.attached.measuring import fuse, search
from conceptor.evaluation.retrieval import DEPTH, ndcg
from conceptor.evaluation.statistics import Mean, paired_differences, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from conceptor.evaluation.attached.judgements import JudgedQueries
    from conceptor.evaluation.attached.measuring import Encode
    from conceptor.evaluation.statistics import Interval
    from conceptor.vectors.vectors import Vectors

MODEL, ATTACHED, BM25, BOTH = "model", "attached", "BM25", "attached + BM25"
# The number of ranks used in a fusion.
_RANKS = 100


@dataclass(frozen=True, eq=False)
class Judged:
    """nDCG@10 and recall@10 of each search method, one number per query."""

    ndcg: dict[str, Mean]
    recall: dict[str, Mean]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row of figures for each search method, in percent; gains are over the first."""
        first = next(iter(self.ndcg))
        found = []
        for name, statistic in self.ndcg.items():
            gain = self.gain(name, first)
            found.append(
                {
                    "name": name,
                    "nDCG@10": 100 * value(statistic),
                    "recall@10": 100 * value(self.recall[name]),
                    "difference": gain.difference,
                    "low": gain.low,
                    "high": gain.high,
                }
            )
        return found

    def gain(self, name: str, over: str) -> Interval:
        """Return the gain in nDCG@10 of one search method over another, with its interval."""
        parts = paired_differences({"nDCG": self.ndcg[over]}, [{"nDCG": self.ndcg[name]}])
        return parts["nDCG"].interval(0)


def judge(
    store: Vectors, judgements: JudgedQueries, encode: Encode, model: Encode | None
) -> Judged:
    """Run and score all available search methods; the model comes first if there is one."""
    asked: dict[str, NDArray[Any]] = {}
    if model is not None:
        asked[MODEL] = unit_rows32(model(judgements.queries))
    asked[ATTACHED] = encode(judgements.queries)
    found = search(store, np.concatenate(list(asked.values())).astype(np.float32), _RANKS)
    size = len(judgements.queries)
    ranked = {name: found[i * size : (i + 1) * size] for i, name in enumerate(asked)}
    ranked[BM25] = search_words([text for texts, _ in store.chunks() for text in texts], judgements)
    return score(ranked | {BOTH: fuse_all(ranked[ATTACHED], ranked[BM25])}, judgements.relevant)


def fuse_all(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first ten of two fused rankings of each query, by reciprocal ranks."""
    pairs = zip(one, other, strict=True)
    return np.array([(fuse(pair, DEPTH) + [-1] * DEPTH)[:DEPTH] for pair in pairs])


def search_words(texts: list[str], judgements: JudgedQueries) -> NDArray[np.int64]:
    """Return the rows that BM25 ranks first for each query; -1 where it finds no more."""
    try:
        import bm25s
    except ImportError:
        raise MissingExtraError("measuring BM25", "bm25") from None
    index = bm25s.BM25()
    options = {"stopwords": None, "show_progress": False}
    index.index(bm25s.tokenize(texts, **options), show_progress=False)
    queries = bm25s.tokenize(judgements.queries, return_ids=False, **options)
    found = np.full((len(queries), _RANKS), -1, dtype=np.int64)
    for i, words in enumerate(queries):
        scores = np.asarray(index.get_scores(words))
        order = np.argsort(-scores, kind="stable")[:_RANKS]
        order = order[scores[order] > 0]
        found[i, : len(order)] = order
    return found


def score(ranked: Mapping[str, NDArray[np.int64]], relevant: list[NDArray[np.int64]]) -> Judged:
    """Return nDCG@10 and recall@10 of rankings, query by query."""
    gains: dict[str, Mean] = {}
    recalls: dict[str, Mean] = {}
    for name, orders in ranked.items():
        pairs = list(zip(orders, relevant, strict=True))
        gains[name] = Mean(np.array([_ndcg(order, wanted) for order, wanted in pairs]))
        recalls[name] = Mean(
            np.array([np.isin(wanted, order[:DEPTH]).mean() for order, wanted in pairs])
        )
    return Judged(gains, recalls)


def _ndcg(order: NDArray[np.int64], wanted: NDArray[np.int64]) -> float:
    """Return nDCG@10 of the first rows; missing relevant rows still count."""
    top = np.isin(order[:DEPTH], wanted)
    missing = len(wanted) - int(top.sum())
    rest = np.zeros(DEPTH - len(top), dtype=bool)
    return ndcg(np.concatenate([top, rest, np.ones(missing, dtype=bool)]))
