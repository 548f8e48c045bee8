"""Attach a static query encoder to stored vectors, and measure what it loses."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor import __version__
from conceptor.base.arrays import cosines, unit_rows32
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import read_lines
from conceptor.base.progress import Progress, silent
from conceptor.evaluation.labels import read_relevant
from conceptor.evaluation.statistics import Mean, paired_differences, value
from conceptor.evaluation.text_tasks import DEPTH, score_rankings
from conceptor.integrations.stores import open_store
from conceptor.static_models.attaching import (
    RIDGE,
    SENTENCES,
    VOCABULARY,
    Attachment,
    Start,
    Survey,
    start_from_model,
    start_from_zero,
    survey,
    text_hash,
)
from conceptor.static_models.model import StaticModel
from conceptor.static_models.transformer import open_encoder
from conceptor.vectors.columns import names_ids
from conceptor.vectors.tokenizer import TokenReader
from conceptor.vectors.vectors import Vectors

Encode = Callable[[list[str]], NDArray[Any]]
ROWS = "rows"  # in the place of a column: documents are named by their rows, from 1
# The number of ranks used in a fusion, and its constant.
_RANKS, _CONSTANT = 100, 60
# If the model's vectors are farther from the stored ones, another model made them.
_SAME_MODEL = 0.8
_COMPARED_TEXTS = 32
# The number of words that are looked up in the tokenizer, and the share of unknown ones to warn of.
_WORDS, _UNKNOWN = 20_000, 0.05
# The number of tokens that are always kept, however small the table.
_TOKENS = 1 << 24
# Every n-th document, by a hash of its text, is held out for measuring; at most this many documents
# give questions, and this many each.
_HELD_OUT, _MOST_DOCUMENTS, _EACH = 10, 300, 2
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SHORTEST, _LONGEST = 5, 30
USE, WITH_BM25, DO_NOT = "use it", "use it together with BM25", "do not use it"
BM25_ALONE, TOO_FEW = "use BM25 alone", "too few questions to judge"
_FEWEST_QUESTIONS = 20
# For the lower end of the interval, from the best verdict down. Calibrated on two collections and
# checked on a third (docs/studies/static-models.md).
_THRESHOLDS = {"model": (75.0, 50.0), "document": (60.0, 45.0)}
# After a fit to fewer documents, the verdict is never the best one: on the same two collections,
# even samples of 300 kept 90 to 94% of the model's nDCG@10, and of 600 on average 95%.
_ENOUGH = 600


class AttachWarning(UserWarning):
    """A warning about a store."""


def attach(
    texts: Any,  # noqa: ANN401
    vectors: Any = None,  # noqa: ANN401
    *,
    model: object = None,
    tokenizer: object = None,
    sentences: str | os.PathLike[str] | Iterable[str] | None = SENTENCES,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = VOCABULARY,
    queries: str | os.PathLike[str] | None = None,
    relevant: str | os.PathLike[str] | None = None,
    table: str | None = None,
    text_column: str | None = None,
    column: str | None = None,
    text_file: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    keep: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> StaticModel:
    """Return a static query encoder for vectors that are already stored.

    The index does not change: search it by inner product with the encoder's vector of a query. The
    loss is measured by a fit without a tenth of the documents, with sentences of those as
    questions, and recorded in the model's `provenance`.

    Parameters
    ----------
    texts
        Texts; or only a store: a Parquet, Feather or `.npy` file, a frame of pandas or Polars, an
        Arrow table, a LanceDB folder or table, or the address of a PostgreSQL database.
    vectors : optional
        The stored vector of each text.
    model : optional
        The model that made the vectors: path, hub name, transformers model, or function from texts
        to vectors. The fit starts from its words, and the loss is measured against it. Without it,
        the fit starts from zero.
    tokenizer : optional
        The tokenizer of a model that is not a folder.
    sentences
        As for `distill`, for the table that the fit starts from.
    vocabulary
        Likewise.
    queries : optional
        A file with one query per line, `id<TAB>text`.
    relevant : optional
        A file with one relevant document per line, `id<TAB>document`. A document is its row in the
        store, from 1, or its id.
    id_column : optional
        The column of ids, or `rows`; needed if the store has a column of ids.
    table : optional
        The table of a database.
    text_column : optional
        The column of texts, if it is ambiguous.
    column : optional
        The column of vectors, if it is ambiguous.
    text_file : optional
        The texts of a `.npy` file, one per line.
    keep : optional
        A folder from which an interrupted call resumes.

    Examples
    --------
    >>> encoder = attach(texts, vectors, model="all-MiniLM-L6-v2/")  # doctest: +SKIP
    >>> index.search(encoder.encode(["a question"]), 10)  # doctest: +SKIP
    """
    if (queries is None) != (relevant is None):
        raise InvalidInputError("--questions and --relevant belong together; give both")
    if queries is not None and find_spec("bm25s") is None:
        raise MissingExtraError("measuring BM25", "bm25")
    if id_column is not None and relevant is None:
        raise InvalidInputError("--id-column needs --relevant")
    store = open_store(
        texts, vectors, texts=text_file, table=table, text_column=text_column, column=column
    )
    surveyed = survey(store, progress)
    judgments = None
    if queries is not None and relevant is not None:
        judgments = read_judgments(queries, relevant, store, surveyed.rows, id_column)
    folder = None if keep is None else Path(keep)
    encoder = None if model is None else open_encoder(model, tokenizer, folder)
    remarks = list(surveyed.warnings)
    words = [word for word, _ in surveyed.words.most_common()]
    if encoder is not None:
        remarks += _check_model(store, encoder)
        start = start_from_model(
            encoder,
            words,
            vocabulary=vocabulary,
            sentences=sentences,
            progress=progress,
        )
    elif words:
        start = start_from_zero(words)
    else:
        raise InvalidInputError(f"{store.name}: the texts have no words; check the column of texts")
    reader = TokenReader(start.tokenizer)
    unknown = 0.0
    if words:
        common, counts = zip(*surveyed.words.most_common(_WORDS), strict=True)
        unknown = float(np.average(np.diff(reader(common).ends) == 0, weights=counts))
    if unknown > _UNKNOWN:
        remarks.append(
            f"{unknown:.0%} of the words are unknown to the tokenizer; start from a model of their "
            "language, or from zero"
        )
    fitted, held_out, questions = _gather(store, surveyed, start, reader, progress)
    provenance = start.provenance | {
        "attached_to": store.name,
        "documents": fitted.documents + held_out.documents,
        "pieces": f"of {', '.join(map(str, start.sizes))} tokens",
        "ridge": RIDGE,
        "unknown_words": unknown,
        "dimensions": store.dimension,
        "library": f"conceptor {__version__}",
    }
    trial = None
    if questions and fitted.documents:
        trial = fitted.fit(start.table, progress=progress)
        encode = StaticModel(trial, start.tokenizer).encode
        loss = _measure(store, questions, encode, encoder, fitted.documents)
        provenance |= {"measured": str(loss), "verdict": loss.verdict, "loss": loss._asdict()}
    else:
        remarks.append(
            "the loss was not measured: no held-out document has a sentence of five words or more"
        )
    whole = fitted + held_out
    del fitted, held_out
    result = StaticModel(
        whole.fit(start.table, near=trial, progress=progress),
        start.tokenizer,
        provenance,
        # The table keeps its scale: vectors of queries have length 1.
        (whole.mean * surveyed.scale).astype(np.float32),
    )
    for remark in remarks:
        warnings.warn(remark, AttachWarning, stacklevel=2)
    if judgments is not None:
        provenance["judged"], gains = judge(store, *judgments, result.encode, encoder)
        provenance["verdict"] = judged_verdict(gains)
    return result


def _check_model(store: Vectors, encode: Encode) -> list[str]:
    """Raise if the model's vectors have another dimension; warn if their directions differ."""
    labels, vectors = next(iter(store.chunks()))
    # Short texts only: models and libraries truncate long texts differently.
    short = sorted((len(text), row) for row, text in enumerate(labels) if text.strip())
    rows = [row for _, row in short[:_COMPARED_TEXTS]]
    encoded = encode([labels[row] for row in rows])
    if encoded.shape[1] != store.dimension:
        raise InvalidInputError(
            f"the model's vectors have {encoded.shape[1]} dimensions, those in {store.name} have "
            f"{store.dimension}; name the model that made them, or leave it out"
        )
    cosine = float(np.median(cosines(encoded, vectors[rows])))
    if cosine >= _SAME_MODEL:
        return []
    return [
        f"the model's vectors differ from the stored ones (median cosine {cosine:.2f}); did this "
        "model make them, without a prefix?"
    ]


# The hash of a held-out document, which decides whether it is used, its row, and sentences of it.
Questions = tuple[bytes, int, list[str]]


def _gather(
    store: Vectors, surveyed: Survey, start: Start, reader: TokenReader, progress: Progress
) -> tuple[Attachment, Attachment, list[Questions]]:
    """Return documents to fit to (a sample if there are too many), held-out ones and questions."""
    parts = [Attachment(reader, start.rows, store.dimension, start.sizes) for _ in range(2)]
    # Tokens take four bytes each, like the table's numbers, so both get the same memory.
    most = max(start.rows * store.dimension, _TOKENS)
    stride = -(-surveyed.words.total() * len(start.sizes) // most)
    questions: list[Questions] = []
    before = 0
    for texts, vectors in store.chunks(progress, "counting"):
        rows: tuple[list[int], list[int]] = ([], [])
        for row, text in enumerate(texts):
            name = text_hash(text)
            if text.strip() and int.from_bytes(name[1:]) % stride == 0:
                is_held_out = name[0] % _HELD_OUT == 0
                rows[is_held_out].append(row)
                if is_held_out and (sentences := make_questions(text)):
                    questions.append((name, before + row, sentences))
        for part, chosen in zip(parts, rows, strict=True):
            scaled = np.asarray(vectors[chosen], np.float32) / np.float32(surveyed.scale)
            part.add([texts[row] for row in chosen], scaled)
        questions = sorted(questions)[:_MOST_DOCUMENTS]
        before += len(texts)
    return parts[0], parts[1], questions


def make_questions(text: str) -> list[str]:
    """Return up to two sentences spread over a text, or words from its middle."""
    sentences = [each.strip() for each in _SENTENCE.split(text)]
    sentences = [each for each in sentences if _SHORTEST <= len(each.split()) <= _LONGEST]
    if not sentences:
        words = text.split()
        middle = max(0, (len(words) - 20) // 2)
        sentences = [" ".join(words[middle : middle + 20])] if len(words) >= _SHORTEST else []
    step = max(1, len(sentences) // _EACH)
    return sentences[step // 2 :: step][:_EACH]


class Loss(NamedTuple):
    """How often an encoder ranks the right document among the first ten, with its 95% interval."""

    against: str  # "model": its first hit is right; "document": that of the question is right
    documents: int  # in the measured fit
    questions: int
    share: float  # in percent
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """A recommendation; never the best one after a fit to few documents."""
        if self.questions < _FEWEST_QUESTIONS:
            return TOO_FEW
        best, good = _THRESHOLDS[self.against]
        if self.low >= best and self.documents >= _ENOUGH:
            return USE
        return WITH_BM25 if self.low >= good else DO_NOT

    def __str__(self) -> str:
        by_model = self.against == "model"
        goal = "that the model ranks first" if by_model else "that the question was taken from"
        return (
            f"for {self.share:.0f}% [{self.low:.0f}, {self.high:.0f}] of {self.questions} "
            f"questions the document {goal} is among the first {DEPTH}"
        )


def judged_verdict(gains: Mapping[str, Mean]) -> str:
    """Return a recommendation from the nDCG of each search method on the user's judgments."""

    def is_better(one: str, other: str) -> bool:
        differences = paired_differences({"nDCG": gains[other]}, [{"nDCG": gains[one]}])
        return differences["nDCG"].interval(0).sign > 0

    both = "attached + BM25"
    if len(gains["attached"]) < _FEWEST_QUESTIONS:
        return TOO_FEW
    if is_better("BM25", "attached") and not is_better(both, "BM25"):
        return BM25_ALONE
    return WITH_BM25 if is_better(both, "attached") else USE


def _measure(
    store: Vectors, questions: list[Questions], encode: Encode, model: Encode | None, documents: int
) -> Loss:
    """Return how often an encoder, fitted to `documents`, finds the goal among the first ten."""
    texts = [text for *_, sentences in questions for text in sentences]
    sources = np.array([row for _, row, sentences in questions for _ in sentences])
    # Search with the model's unit vectors, as the model is used.
    queries = [encode(texts)] + ([] if model is None else [unit_rows32(model(texts))])
    hits = nearest_rows(store, np.concatenate(queries), DEPTH)
    goals = sources if model is None else hits[len(texts) :, 0]
    is_right = (hits[: len(texts)] == goals[:, np.newaxis]).any(axis=1)
    # The bootstrap draws documents, not questions.
    _, groups = np.unique(sources, return_inverse=True)
    means = np.bincount(groups, is_right) / np.bincount(groups)
    nothing = {"questions": Mean(np.zeros(len(means)))}
    gains = paired_differences(nothing, [{"questions": Mean(means)}])
    interval = gains["questions"].interval(0)
    against = "document" if model is None else "model"
    return Loss(against, documents, len(texts), interval.difference, interval.low, interval.high)


def read_judgments(
    queries: str | os.PathLike[str],
    relevant: str | os.PathLike[str],
    store: Vectors,
    rows: int,
    id_column: str | None = None,
) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Return queries, and the rows of the documents that are relevant to each.

    Lines are `id<TAB>query`, and `id<TAB>document[<TAB>grade]` as in `read_relevant`. A document is
    its row in the store, from 1, or its id in a column. If the store has a column of ids, the user
    must say which: numbers may fit both, and a wrong guess would only show as a low score. Queries
    without a relevant document are left out.
    """
    texts: dict[str, str] = {}
    for number, line in read_lines(queries, "of queries"):
        name, _, text = (part.strip() for part in line.partition("\t"))
        if not text:
            raise InvalidInputError(f"{queries}, line {number}: expected an id, a tab and a query")
        if name in texts:
            raise InvalidInputError(f"{queries}, line {number}: the id {name!r} occurs twice")
        texts[name] = text
    usable: list[str] = getattr(store.extra, "id_columns", [])
    if id_column is None and (ids := list(filter(names_ids, usable))):
        raise InvalidInputError(
            f"{relevant}: its documents may be rows of the store, or ids of its column {ids[0]}; "
            f"choose with --id-column {ROWS} or --id-column {ids[0]}"
        )
    column = id_column or ROWS
    if column != ROWS and column not in usable:
        raise InvalidInputError(
            f"{store.name}: {column} is not a column of ids; columns of text or whole numbers "
            f"are: {', '.join(usable) or 'none'}"
        )
    judgments = read_relevant(relevant)
    needed = {document for *_, document in judgments}
    values = map(str, range(1, rows + 1)) if column == ROWS else store.extra.values(column)
    places: dict[str, int] = {}
    for row, name in enumerate(each.strip() for each in values):
        if name in places:
            raise InvalidInputError(
                f"{store.name}: the column {column} has {name!r} in rows {places[name] + 1} and "
                f"{row + 1}; ids must be unique"
            )
        if name in needed:
            places[name] = row
    documents: dict[str, set[int]] = {query: set() for query in texts}
    for where, query, document in judgments:
        if query not in texts:
            raise InvalidInputError(f"{where}: {queries} has no query with the id {query!r}")
        if document not in places:
            reason = f"the store has rows 1 to {rows}"
            reason = reason if column == ROWS else f"it is not in the column {column}"
            raise InvalidInputError(f"{where}: there is no document {document!r}; {reason}")
        documents[query].add(places[document])
    judged = {query: sorted(each) for query, each in documents.items() if each}
    return [texts[query] for query in judged], [np.array(each) for each in judged.values()]


def judge(
    store: Vectors,
    texts: list[str],
    relevant: list[NDArray[np.int64]],
    encode: Encode,
    model: Encode | None,
) -> tuple[list[dict[str, Any]], dict[str, Mean]]:
    """Return the scores of each search method, differences from the first, and nDCG by query."""
    queries = {"attached": encode(texts)}
    if model is not None:
        queries = {"model": unit_rows32(model(texts))} | queries
    rows = nearest_rows(store, np.concatenate(list(queries.values())), _RANKS)
    rankings = dict(zip(queries, np.split(rows, len(queries)), strict=True))
    rankings["BM25"] = _search_words(store, texts)
    both = zip(rankings["attached"], rankings["BM25"], strict=True)
    rankings["attached + BM25"] = np.array([fuse(*pair) for pair in both])
    results: list[dict[str, Any]] = []
    by_query: dict[str, Mean] = {}
    for name, orders in rankings.items():
        pairs = zip(orders[:, :DEPTH], relevant, strict=True)
        gains, recalls = score_rankings([np.isin(*pair) for pair in pairs], relevant)
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
        products = queries @ np.asarray(vectors, dtype=np.float32).T
        rows = np.broadcast_to(np.arange(before, before + len(vectors)), products.shape)
        scores, best = np.hstack([scores, products]), np.hstack([best, rows])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        scores = np.take_along_axis(scores, order, axis=1)
        best = np.take_along_axis(best, order, axis=1)
        before += len(vectors)
    return best


def _search_words(store: Vectors, queries: list[str]) -> NDArray[np.int64]:
    """Return the rows that BM25 ranks first for each query; -1 where it finds no more."""
    import bm25s

    texts = [text for labels, _ in store.chunks() for text in labels]
    index = bm25s.BM25()
    options = {"stopwords": None, "show_progress": False}
    index.index(bm25s.tokenize(texts, **options), show_progress=False)
    rows = np.full((len(queries), _RANKS), -1, dtype=np.int64)
    for i, words in enumerate(bm25s.tokenize(queries, return_ids=False, **options)):
        if not words:  # its words have two characters or more
            continue
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
