"""The user's labels: scored pairs of words, sentences or rows, and queries with relevant rows."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import cosines
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.evaluation.statistics import SpearmanCorrelation
from conceptor.evaluation.task import Outcome
from conceptor.evaluation.text_tasks import DEPTH, SentencePair, score_rankings
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import MISSING
from conceptor.vectors.texts import SomeRows, as_texts, read_some

Rows = NDArray[Any]
Path_ = str | os.PathLike[str]
# Two rows and a score. A row is named by its text, by its number from 1 as a string, or by its
# index from 0.
RowPair = tuple[str | int, str | int, float]

# The families of results for rows of texts.
TEXT_PAIRS, TEXT_RETRIEVAL = "text-pairs", "text-retrieval"
_RECALL_DEPTH = 100


def split_lines(path: Path_, what: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is neither blank nor a comment.

    Fields are separated by tabs; without tabs, by commas in .csv files, otherwise by spaces.
    """
    lines = read_lines(path, f"of {what}")
    tabs = any("\t" in line for _, line in lines)
    by_comma = Path(path).suffix.lower() == ".csv" and not tabs
    for number, line in lines:
        if line.startswith("#"):
            continue
        try:
            fields = next(csv.reader([line])) if by_comma else line.split("\t" if tabs else None)
        except csv.Error as error:
            where = f"{os.fspath(path)}, line {number}"
            raise InvalidInputError(f"{where}: not comma-separated fields ({error})") from None
        yield number, [field.strip() for field in fields]


def _parse_number(text: str) -> float:
    if "_" in text or not text.isascii():  # Python accepts 1_000, and any digits
        raise ValueError
    return float(text)


def read_pairs(path: Path_, *, once: bool = False) -> list[SentencePair]:
    """Read lines of two words or sentences and a score; skip a heading and # comments.

    With `once`, raise for a pair listed twice, in either order: it would narrow intervals.
    """
    pairs: list[SentencePair] = []
    lines: dict[frozenset[str], int] = {}
    for index, (number, fields) in enumerate(split_lines(path, "pairs")):
        where = f"{os.fspath(path)}, line {number}"
        try:
            left, right, score = fields
            gold = _parse_number(score)
        except ValueError:
            if index == 0 and len(fields) == 3:
                continue  # a heading
            raise InvalidInputError(
                f"{where}: expected two texts and a score, separated by tabs; found {len(fields)} "
                "fields" + (f", the last is {fields[-1]!r}" if len(fields) == 3 else "")
            ) from None
        if not (left and right and math.isfinite(gold)):
            raise InvalidInputError(f"{where}: a text is empty or the score is not finite")
        if (before := lines.setdefault(frozenset((left, right)), number)) != number and once:
            raise InvalidInputError(
                f"{where}: the same pair as on line {before}; remove one, or replace both by one "
                "line with their mean score"
            )
        pairs.append(SentencePair(left, right, gold))
    if not pairs:
        raise InvalidInputError(f"{os.fspath(path)}: contains no pairs")
    if len({pair.gold for pair in pairs}) == 1:
        raise InvalidInputError(
            f"{os.fspath(path)}: all scores are equal, so nothing can agree with them"
        )
    return pairs


def name_files(files: Sequence[Path_]) -> list[str]:
    """Return the names of files of pairs in results: file names, or paths if names are equal."""
    names = [Path(file).name for file in files]
    if len(set(names)) < len(names):
        names = [os.fspath(file) for file in files]
    if len(set(names)) < len(names):
        raise InvalidInputError("a file of pairs was named twice; name each once")
    return names


def read_text_pairs(pairs: object) -> dict[str, Sequence[RowPair]]:
    """Return scored pairs by name from a file, from files, or from two rows and a score each."""
    if pairs is None:
        return {}
    listed: list[Any] = [pairs] if isinstance(pairs, (str, os.PathLike)) else list(pairs)  # type: ignore[call-overload]
    if listed and isinstance(listed[0], (str, os.PathLike)):
        named = zip(name_files(listed), listed, strict=True)
        return {name: read_pairs(file, once=True) for name, file in named}
    if any(len(each) != 3 for each in listed):
        raise InvalidInputError("pairs: each pair must be two rows and a score")
    return {"pairs": listed} if listed else {}


def begin_pairs(
    dataset: str, pairs: Sequence[RowPair], some: SomeRows
) -> Callable[[Callable[[Rows], Rows]], Outcome]:
    """Return a function that scores a transform on the pairs that have both of their rows."""
    places = np.array([[some.find(left), some.find(right)] for left, right, _ in pairs])
    covered = (places != MISSING).all(axis=1)
    if not covered.any():
        raise InvalidInputError(
            f"{dataset}: no pair has both of its texts (such as {str(pairs[0][0])!r}) among the "
            "rows; use the texts of the rows, or row numbers from 1"
        )
    left, right = some.vectors[places[covered, 0]], some.vectors[places[covered, 1]]
    gold = np.array([pair[2] for pair in pairs], dtype=np.float64)[covered]

    def score(change: Callable[[Rows], Rows]) -> Outcome:
        statistic = SpearmanCorrelation(cosines(change(left), change(right)), gold)
        return Outcome(TEXT_PAIRS, dataset, "spearman", len(gold), len(covered), statistic)

    return score


@dataclass(frozen=True, eq=False)
class Judgments:
    """Vectors of queries, and the rows that are relevant to each, with their origin."""

    dataset: str
    queries: Rows
    relevant: Sequence[Mapping[str | int, str]]

    def find(self, some: SomeRows, dimension: int) -> list[NDArray[np.int64]]:
        """Return the places of the relevant rows of each query; raise for an unknown row."""
        if self.queries.shape[1] != dimension:
            raise InvalidInputError(
                f"{self.dataset}: the queries have {self.queries.shape[1]} dimensions, the rows "
                f"{dimension}; encode both with the same model"
            )
        places = []
        for rows in self.relevant:
            for row, where in rows.items():
                if some.find(row) == MISSING:
                    raise InvalidInputError(
                        f"{where}: there is no row {str(row)!r} among {some.count:,}; use a row "
                        "number from 1, or the text of a row"
                    )
            places.append(np.unique(some.places[[some.find(row) for row in rows]]))
        return places

    def search(self, change: Callable[[Rows], Rows]) -> Nearest:
        """Return the search for the queries after a transform."""
        return Nearest(change(self.queries), _RECALL_DEPTH)

    def outcomes(self, nearest: Nearest, relevant: Sequence[NDArray[np.int64]]) -> list[Outcome]:
        """Return the scores of a finished search: nDCG@10 and recall@100."""
        hits = [np.isin(*pair) for pair in zip(nearest.rows, relevant, strict=True)]
        gain, recall = score_rankings(hits, relevant)
        count, name = len(hits), f"{self.dataset}, recall"
        return [
            Outcome(TEXT_RETRIEVAL, self.dataset, f"nDCG@{DEPTH}", count, count, gain),
            Outcome(TEXT_RETRIEVAL, name, f"recall@{_RECALL_DEPTH}", count, count, recall, False),
        ]


def read_judgments(queries: object, relevant: object) -> Judgments | None:
    """Return queries (a path, array or Vectors) and their relevant rows; raise for one of both.

    `relevant` is a path (see `read_relevant`), a mapping, or a sequence of rows for each query.
    """
    if queries is None and relevant is None:
        return None
    if queries is None or relevant is None:
        raise InvalidInputError("--queries and --relevant belong together; give both")
    opened = as_texts(queries)
    by_query: dict[int, dict[str | int, str]] = {}
    if isinstance(relevant, (str, os.PathLike)):
        name, lines = Path(relevant).name, read_relevant(relevant)
        sample = read_some(opened, requests=[query for _, query, _ in lines])
        for where, query, row in lines:
            index = sample.find(query)
            if index == MISSING:
                raise InvalidInputError(
                    f"{where}: there is no query {query!r} among the {sample.count:,} of "
                    f"{opened.name}; use its number from 1, or its text"
                )
            by_query.setdefault(int(sample.places[index]), {}).setdefault(row, where)
    else:
        name = "queries"
        items = relevant.items() if isinstance(relevant, Mapping) else enumerate(relevant)  # type: ignore[arg-type]
        for place, rows in items:
            named = (each if isinstance(each, str) else int(each) for each in rows)
            by_query[int(place)] = dict.fromkeys(named, name)
    numbers = sorted(query for query, rows in by_query.items() if rows)
    if not numbers:
        raise InvalidInputError(f"{name}: no query has a relevant row")
    sample = read_some(opened, requests=numbers)
    if wrong := [each for each in numbers if not 0 <= each < sample.count]:
        raise InvalidInputError(
            f"{name}: has judgments for query {wrong[0]}, but there are {sample.count:,} queries, "
            "numbered from 0"
        )
    return Judgments(name, sample.vectors, [by_query[each] for each in numbers])


def read_relevant(path: Path_) -> list[tuple[str, str, str]]:
    """Return the place in the file, the query and the row for each relevant row.

    A line has a query, a row, and optionally a grade; 0 or below means not relevant. TREC's
    `query 0 row grade` works too.
    """
    lines = []
    for number, fields in split_lines(path, "judgments"):
        where = f"{os.fspath(path)}, line {number}"
        try:
            query, *between, row = fields if len(fields) == 2 else fields[:-1]
            grade = 1.0 if len(fields) == 2 else _parse_number(fields[-1])
            if len(between) > 1 or not (query and row and math.isfinite(grade)):
                raise ValueError
        except ValueError:
            raise InvalidInputError(
                f"{where}: expected a query, a row and maybe a grade, separated by tabs or spaces"
            ) from None
        if grade > 0:
            lines.append((where, query, row))
    if not lines:
        raise InvalidInputError(f"{os.fspath(path)}: lists no relevant row")
    return lines
