"""The user's own labels for rows of texts: scored pairs, and queries with relevant rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import cosines
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.evaluation.own import check_once, name_files, read_pairs, split_lines
from conceptor.evaluation.retrieval import DEPTH, ndcg
from conceptor.evaluation.statistics import Mean, SpearmanCorrelation
from conceptor.evaluation.task import Outcome
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import MISSING
from conceptor.vectors.texts import SomeRows, as_texts, read_some

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[Any]


# The families of results.
PAIRS, RETRIEVAL = "text-pairs", "text-retrieval"
_RECALL_DEPTH = 100
# Scores of this many queries with a block of rows take only megabytes.
_QUERIES_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Scored pairs of rows; pairs with a missing row are left out."""

    dataset: str
    left: Sequence[str | int]
    right: Sequence[str | int]
    gold: NDArray[np.float64]

    @property
    def asked(self) -> list[str | int]:
        """The rows that are needed."""
        return [*self.left, *self.right]

    def begin(self, some: SomeRows) -> Callable[[Callable[[Rows], Rows]], Outcome]:
        """Return a function that scores a transform of the rows; raise if no pair has rows."""
        left, right = (
            np.array([some.find(each) for each in side]) for side in (self.left, self.right)
        )
        known = (left != MISSING) & (right != MISSING)
        if not known.any():
            raise InvalidInputError(
                f"{self.dataset}: no pair has both of its texts (such as {str(self.left[0])!r}) "
                "among the rows; use the texts of the rows, or row numbers from 1"
            )
        rows = some.vectors[left[known]], some.vectors[right[known]]
        gold = self.gold[known]

        def score(change: Callable[[Rows], Rows]) -> Outcome:
            found = SpearmanCorrelation(cosines(change(rows[0]), change(rows[1])), gold)
            used, total = int(known.sum()), len(known)
            return Outcome(PAIRS, self.dataset, "spearman", used, total, found)

        return score


@dataclass(frozen=True, eq=False)
class Judgements:
    """Vectors of queries, and the rows that are relevant to each, with their origin."""

    dataset: str
    queries: Rows
    relevant: Sequence[Mapping[str | int, str]]

    @property
    def asked(self) -> list[str | int]:
        """The rows that are needed."""
        return [each for some in self.relevant for each in some]

    def begin(self, some: SomeRows, dimension: int) -> list[frozenset[int]]:
        """Return the places of the relevant rows of each query; raise for an unknown row."""
        if self.queries.shape[1] != dimension:
            raise InvalidInputError(
                f"{self.dataset}: the queries have {self.queries.shape[1]} dimensions, the rows "
                f"{dimension}; encode both with the same model"
            )
        found = []
        for rows in self.relevant:
            places = [some.find(row) for row in rows]
            for (row, where), place in zip(rows.items(), places, strict=True):
                if place == MISSING:
                    raise InvalidInputError(
                        f"{where}: there is no row {str(row)!r} among {some.count:,}; use a row "
                        "number from 1, or the text of a row"
                    )
            found.append(frozenset(some.places[places].tolist()))
        return found

    def searches(self, change: Callable[[Rows], Rows]) -> list[Nearest]:
        """Return searches for the queries after a transform."""
        rows = change(self.queries)
        step = _QUERIES_AT_ONCE
        return [Nearest(rows[i : i + step], _RECALL_DEPTH) for i in range(0, len(rows), step)]

    def outcomes(
        self, searches: Sequence[Nearest], relevant: Sequence[frozenset[int]]
    ) -> list[Outcome]:
        """Return the scores of finished searches: nDCG@10 and recall@100."""
        found = np.concatenate([each.rows for each in searches])
        gains, recalls = [], []
        for near, wanted in zip(found.tolist(), relevant, strict=True):
            hits = np.array([row in wanted for row in near])
            # Rows that were not found come last, beyond the first ten of nDCG@10.
            missed = np.ones(len(wanted) - int(hits.sum()), dtype=np.bool_)
            gains.append(ndcg(np.concatenate([hits, missed])))
            recalls.append(hits.sum() / len(wanted))
        scores = {f"nDCG@{DEPTH}": gains, f"recall@{_RECALL_DEPTH}": recalls}
        return [
            Outcome(
                RETRIEVAL,
                self.dataset if number == 0 else f"{self.dataset}, recall",
                metric,
                len(each),
                len(each),
                Mean(np.array(each, dtype=np.float64)),
                in_mean=number == 0,
            )
            for number, (metric, each) in enumerate(scores.items())
        ]


def read_text_pairs(pairs: object) -> list[TextPairs]:
    """Return scored pairs from files, or from triples of two rows and a score.

    A row is named by its text, by its number from 1 as a string, or by its index from 0.
    """
    if pairs is None:
        return []
    if isinstance(pairs, (str, os.PathLike)):
        pairs = [pairs]
    given: list[Any] = list(pairs)  # type: ignore[call-overload]
    if not given or not isinstance(given[0], (str, os.PathLike)):
        return [_pairs_of("pairs", given)] if given else []
    found = []
    for name, file in zip(name_files(given), given, strict=True):
        check_once(file)
        found.append(_pairs_of(name, read_pairs(file)))
    return found


def _pairs_of(name: str, triples: Sequence[tuple[Any, Any, float]]) -> TextPairs:
    if any(len(each) != 3 for each in triples):
        raise InvalidInputError(f"{name}: each pair must be two rows and a score")
    left, right, gold = zip(*triples, strict=True)
    return TextPairs(name, left, right, np.array(gold, dtype=np.float64))


def read_judgements(queries: object, relevant: object) -> Judgements | None:
    """Return queries and their relevant rows; raise if only one of the two is given.

    Parameters
    ----------
    queries : path, array or Vectors
        Vectors from the same model as the rows, one per query.
    relevant : path, mapping, or sequence of rows for each query
        A file has lines with a query, a relevant row, and optionally a grade; 0 or below means not
        relevant. TREC's `query 0 row grade` works too.
    """
    if queries is None and relevant is None:
        return None
    if queries is None or relevant is None:
        here, other = ("queries", "relevant") if relevant is None else ("relevant", "queries")
        raise InvalidInputError(Setting(here), " needs ", Setting(other), " too; give both")
    opened = as_texts(queries)
    by_query: dict[int, dict[str | int, str]] = {}
    if isinstance(relevant, (str, os.PathLike)):
        lines = _read_lines(relevant)
        some = read_some(opened, asked=[query for _, query, _ in lines])
        for where, query, row in lines:
            number = some.find(query)
            if number == MISSING:
                raise InvalidInputError(
                    f"{where}: there is no query {query!r} among the {some.count:,} of "
                    f"{opened.name}; use its number from 1, or its text"
                )
            by_query.setdefault(int(some.places[number]), {}).setdefault(row, where)
        name = Path(relevant).name
    else:
        name = "queries"
        items = relevant.items() if isinstance(relevant, Mapping) else enumerate(relevant)  # type: ignore[arg-type]
        for place, rows in items:
            named = (each if isinstance(each, str) else int(each) for each in rows)
            by_query[int(place)] = dict.fromkeys(named, name)
    asked = sorted(query for query, rows in by_query.items() if rows)
    if not asked:
        raise InvalidInputError(f"{name}: no query has a relevant row")
    some = read_some(opened, asked=asked)
    if asked[0] < 0 or asked[-1] >= some.count:
        raise InvalidInputError(
            f"{name}: has judgements for query {asked[-1] if asked[0] >= 0 else asked[0]}, but "
            f"there are {some.count:,} queries, numbered from 0"
        )
    return Judgements(name, some.vectors, [by_query[each] for each in asked])


def _read_lines(path: str | os.PathLike[str]) -> list[tuple[str, str, str]]:
    """Return the place, the query and the row of each relevant row."""
    found = []
    for number, fields in split_lines(path, "judgements"):
        where = f"{os.fspath(path)}, line {number}"
        try:
            query, *between, row = fields if len(fields) == 2 else fields[:-1]
            grade = 1.0 if len(fields) == 2 else float(fields[-1])
            if len(between) > 1 or not (query and row):
                raise ValueError
        except ValueError:
            raise InvalidInputError(
                f"{where}: expected a query, a row and maybe a grade, separated by tabs or blanks"
            ) from None
        if grade > 0:
            found.append((where, query, row))
    if not found:
        raise InvalidInputError(f"{os.fspath(path)}: lists no relevant row")
    return found
