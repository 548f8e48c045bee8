"""Score an attached encoder on the user's judgments, next to the model, BM25, and both."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import unit_rows32
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import read_lines
from conceptor.evaluation.labels import read_relevant
from conceptor.evaluation.retrieval import DEPTH, score_rankings
from conceptor.evaluation.statistics import Mean, paired_differences, value
from conceptor.vectors.columns import names_ids
from conceptor.vectors.vectors import Vectors

Encode = Callable[[list[str]], NDArray[Any]]
# In the place of a column: documents are named by their rows, from 1.
ROWS = "rows"
# The number of ranks used in a fusion, and its constant.
_RANKS, _CONSTANT = 100, 60


class JudgedQueries(NamedTuple):
    """Queries, and the rows of the documents that are relevant to each.

    `named_by` is the column of the store whose ids name the documents, or "rows".
    """

    queries: list[str]
    relevant: list[NDArray[np.int64]]
    named_by: str = ROWS


def read_judgments(
    queries: str | os.PathLike[str],
    relevant: str | os.PathLike[str],
    store: Vectors,
    rows: int,
    id_column: str | None = None,
) -> JudgedQueries:
    """Read `id<TAB>query` lines, and `id<TAB>document[<TAB>grade]` lines.

    A document is its row in the store, from 1, or its id in a column of the store. A grade of 0 or
    below means not relevant. Queries without a relevant document are left out.
    """
    texts: dict[str, str] = {}
    for number, line in read_lines(queries, "queries", ""):
        name, _, text = line.partition("\t")
        if not text.strip():
            raise InvalidInputError(f"{queries}, line {number}: expected an id, a tab and a query")
        if name.strip() in texts:
            raise InvalidInputError(
                f"{queries}, line {number}: the id {name.strip()!r} occurs twice"
            )
        texts[name.strip()] = text.strip()
    judgments = read_relevant(relevant)
    for where, query, _ in judgments:
        if query not in texts:
            raise InvalidInputError(f"{where}: {queries} has no query with the id {query!r}")
    wheres = {document: where for where, _, document in reversed(judgments)}
    named_by, places = _find_documents(relevant, wheres, store, rows, id_column)
    documents: dict[str, set[int]] = {}
    for _, query, document in judgments:
        documents.setdefault(query, set()).add(places[document])
    judged = [query for query in texts if query in documents]
    return JudgedQueries(
        [texts[query] for query in judged],
        [np.array(sorted(documents[query]), dtype=np.int64) for query in judged],
        named_by,
    )


def _find_documents(
    relevant: str | os.PathLike[str],
    wheres: dict[str, str],
    store: Vectors,
    rows: int,
    id_column: str | None,
) -> tuple[str, dict[str, int]]:
    """Return how the judgments name documents, and the row of each.

    Without a named column, the names must fit rows, or the ids of one column. If they fit several
    and mean different documents, the user must choose.
    """
    usable: list[str] = getattr(store.extra, "id_columns", [])
    if id_column is not None and id_column != ROWS and id_column not in usable:
        raise InvalidInputError(
            f"{store.name}: {id_column} is not a column of ids; columns of text or whole numbers "
            f"are: {', '.join(usable) or 'none'}"
        )
    columns = [id_column] if id_column else [ROWS, *filter(names_ids, usable)]
    places: dict[str, dict[str, int]] = {}
    for column in columns:
        values = store.extra.values(column) if column in usable else map(str, range(1, rows + 1))
        places[column] = {}
        for row, name in enumerate(each.strip() for each in values):
            if name in places[column]:
                if column == id_column:
                    raise InvalidInputError(
                        f"{store.name}: the column {column} has {name!r} in rows "
                        f"{places[column][name] + 1} and {row + 1}; ids must be unique"
                    )
                places[column] = {}
                break
            if name in wheres:
                places[column][name] = row
    complete = [column for column in columns if len(places[column]) == len(wheres)]
    if not complete:
        best = max(columns, key=lambda column: len(places[column]))
        name = next(name for name in wheres if name not in places[best])
        reasons = [f"the store has rows 1 to {rows}"] if ROWS in columns else []
        if named := [column for column in columns if column != ROWS]:
            reasons.append(f"it is not in the column {' or '.join(named)}")
        hint = "; name a column of ids with --id-column NAME" if usable and not id_column else ""
        raise InvalidInputError(
            f"{wheres[name]}: there is no document {name!r}; {', and '.join(reasons)}{hint}"
        )
    for column in complete[1:]:
        if places[column] != places[complete[0]]:
            raise InvalidInputError(
                f"{relevant}: its documents may be rows of the store, or ids of its column "
                f"{column}; choose with --id-column {complete[0]} or --id-column {column}"
            )
    return complete[0], places[complete[0]]


def judge(
    store: Vectors, judgments: JudgedQueries, encode: Encode, model: Encode | None
) -> tuple[list[dict[str, Any]], dict[str, Mean]]:
    """Return nDCG@10 and recall@10 of each search method, in percent, and nDCG by query.

    The model comes first if there is one; differences are from the first.
    """
    queries = {"attached": encode(judgments.queries)}
    if model is not None:
        queries = {"model": unit_rows32(model(judgments.queries))} | queries
    rows = nearest_rows(store, np.concatenate(list(queries.values())), _RANKS)
    rankings = dict(zip(queries, np.split(rows, len(queries)), strict=True))
    rankings["BM25"] = _search_words(store, judgments.queries)
    both = zip(rankings["attached"], rankings["BM25"], strict=True)
    rankings["attached + BM25"] = np.array([fuse(*pair) for pair in both])
    results: list[dict[str, Any]] = []
    by_query: dict[str, Mean] = {}
    for name, orders in rankings.items():
        pairs = zip(orders[:, :DEPTH], judgments.relevant, strict=True)
        gains, recalls = score_rankings([np.isin(*pair) for pair in pairs], judgments.relevant)
        by_query[name] = gains
        first = next(iter(by_query.values()))
        interval = paired_differences({"nDCG": first}, [{"nDCG": gains}])["nDCG"].interval(0)
        scores = {"nDCG@10": 100 * value(gains), "recall@10": 100 * value(recalls)}
        results.append({"name": name, **scores, **asdict(interval)})
    return results, by_query


def nearest_rows(store: Vectors, queries: NDArray[np.float32], depth: int) -> NDArray[np.int64]:
    """Return the rows with the largest inner products, best first, in one pass over a store."""
    best = np.full((len(queries), depth), -1, dtype=np.int64)
    scores = np.full((len(queries), depth), -np.inf, dtype=np.float32)
    before = 0
    for _, vectors in store.chunks():
        rows = np.arange(before, before + len(vectors))
        products = queries @ np.asarray(vectors, dtype=np.float32).T
        scores = np.concatenate([scores, products], axis=1)
        best = np.concatenate([best, np.broadcast_to(rows, products.shape)], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        scores = np.take_along_axis(scores, order, axis=1)
        best = np.take_along_axis(best, order, axis=1)
        before += len(vectors)
    return best


def _search_words(store: Vectors, queries: list[str]) -> NDArray[np.int64]:
    """Return the rows that BM25 ranks first for each query; -1 where it finds no more."""
    try:
        import bm25s
    except ImportError:
        raise MissingExtraError("measuring BM25", "bm25") from None
    texts = [text for labels, _ in store.chunks() for text in labels]
    index = bm25s.BM25()
    options = {"stopwords": None, "show_progress": False}
    index.index(bm25s.tokenize(texts, **options), show_progress=False)
    rows = np.full((len(queries), _RANKS), -1, dtype=np.int64)
    for i, words in enumerate(bm25s.tokenize(queries, return_ids=False, **options)):
        scores = np.asarray(index.get_scores(words))
        order = np.argsort(-scores, kind="stable")[:_RANKS]
        order = order[scores[order] > 0]
        rows[i, : len(order)] = order
    return rows


def fuse(one: NDArray[np.int64], other: NDArray[np.int64]) -> list[int]:
    """Return the first ten by the sum of 1 / (60 + rank) (Cormack et al. 2009), padded with -1."""
    scores: dict[int, float] = {}
    for ranking in (one, other):
        for rank, row in enumerate(ranking.tolist(), 1):
            if row >= 0:  # -1 marks places without a result
                scores[row] = scores.get(row, 0.0) + 1 / (_CONSTANT + rank)
    # Ties keep the order of the first ranking, as dictionaries keep their order.
    rows = sorted(scores, key=scores.__getitem__, reverse=True)[:DEPTH]
    return rows + [-1] * (DEPTH - len(rows))
