"""Attach a static query encoder to stored vectors, and measure what it loses.

Survey the store, choose a start, fit without a tenth of the documents, measure with sentences of
those as questions, then fit to all documents.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from conceptor import __version__
from conceptor.base.arrays import cosines, unit_rows32
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.progress import Progress, silent
from conceptor.evaluation.judged import Encode, judge, nearest_rows, read_judgments
from conceptor.evaluation.retrieval import DEPTH
from conceptor.evaluation.statistics import Mean, paired_differences
from conceptor.integrations.stores import open_store
from conceptor.static_models.attaching import (
    RIDGE,
    SENTENCES,
    VOCABULARY,
    Attachment,
    Start,
    Survey,
    start_from_model,
    start_from_static,
    start_from_zero,
    survey,
    text_hash,
)
from conceptor.static_models.model import StaticModel
from conceptor.static_models.transformer import open_encoder
from conceptor.vectors.tokenizer import TokenReader
from conceptor.vectors.vectors import Vectors

# If the model's vectors are farther from the stored ones, another model made them.
_SAME_MODEL = 0.8
_COMPARED_TEXTS = 32
# The number of the store's words that are looked up in the tokenizer, and the share of unknown
# words that deserves a warning.
_WORDS, _UNKNOWN = 20_000, 0.05
# The number of tokens that are always kept, however small the table.
_TOKENS = 1 << 24
# Every n-th document, by a hash of its text, is held out for measuring.
_HELD_OUT = 10
# Questions come from at most this many documents, and this many from each.
_MOST_DOCUMENTS, _EACH = 300, 2
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SHORTEST, _LONGEST = 5, 30
# Thresholds for the lower end of the interval, from the best verdict down. Calibrated on two
# collections and checked on a third (docs/studies/attach.md).
USE, WITH_BM25, DO_NOT = "use it", "use it together with BM25", "do not use it"
BM25_ALONE, TOO_FEW = "use BM25 alone", "too few questions to judge"
# With fewer questions there is no verdict.
_FEWEST_QUESTIONS = 20
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
    base: StaticModel | str | os.PathLike[str] | None = None,
    sentences: str | os.PathLike[str] | Iterable[str] | None = SENTENCES,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = VOCABULARY,
    queries: str | os.PathLike[str] | None = None,
    relevant: str | os.PathLike[str] | None = None,
    table: str | None = None,
    text_column: str | None = None,
    column: str | None = None,
    text_file: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    ridge: float = RIDGE,
    keep: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> StaticModel:
    """Return a static query encoder for vectors that are already stored.

    The index does not change: search it by inner product with the encoder's vector of a query.

    Parameters
    ----------
    texts
        Texts, with `vectors`; or a store: a Parquet, Feather or `.npy` file, a frame of pandas or
        Polars, an Arrow table, a LanceDB folder or table, or the address of a PostgreSQL database.
    vectors : array of shape (texts, n), optional
        The stored vector of each text.
    model : path, hub name, transformers model, or function from texts to vectors, optional
        The model that made the vectors. The fit starts from its words, and the loss is measured
        against it.
    tokenizer
        The model's tokenizer, if `model` is not a folder.
    base : StaticModel or path, optional
        Another static model to start from. Without `model` and `base` the fit starts from zero.
    sentences, vocabulary
        As for `distill`, for the table that the fit starts from.
    queries, relevant, id_column : optional
        Files with one query (`id<TAB>text`), and one relevant document (`id<TAB>document`), per
        line. A document is its row in the store, from 1, or its id in `id_column`; by default the
        one that fits.
    table, text_column, column, text_file
        Where texts and vectors (`column`) are, if it is ambiguous; `text_file` is for `.npy`.
    ridge, keep, progress
        Strength of the regularization; a folder from which an interrupted call resumes; called
        with the progress of the work.

    Returns
    -------
    StaticModel
        With `offset`, and the measurements in `provenance`.

    Examples
    --------
    >>> encoder = attach(texts, vectors, model="all-MiniLM-L6-v2/")  # doctest: +SKIP
    >>> index.search(encoder.encode(["a question"]), 10)  # doctest: +SKIP
    """
    if model is not None and base is not None:
        raise InvalidInputError("both --model and --base were given; choose one")
    if (queries is None) != (relevant is None):
        raise InvalidInputError("--questions and --relevant belong together; give both")
    if queries is not None and find_spec("bm25s") is None:
        raise MissingExtraError("measuring BM25", "bm25")
    if id_column is not None and relevant is None:
        raise InvalidInputError("--id-column needs --relevant")
    if not 0 < ridge < np.inf:
        raise InvalidInputError(f"ridge is {ridge}; it must be positive and finite")
    store = open_store(
        texts, vectors, texts=text_file, table=table, text_column=text_column, column=column
    )
    surveyed = survey(store, progress)
    judgments = None
    if queries is not None and relevant is not None:
        judgments = read_judgments(queries, relevant, store, surveyed.rows, id_column)
    encoder = None if model is None else open_encoder(model, tokenizer)
    remarks = list(surveyed.warnings)
    words = [word for word, _ in surveyed.words.most_common()]
    if encoder is not None:
        remarks += _check_model(store, encoder)
        start = start_from_model(
            encoder,
            words,
            vocabulary=vocabulary,
            sentences=sentences,
            keep=None if keep is None else Path(keep),
            progress=progress,
        )
    elif base is not None:
        start = start_from_static(base, words)
    elif words:
        start = start_from_zero(words)
    else:
        raise InvalidInputError(f"{store.name}: the texts have no words; check the column of texts")
    reader = TokenReader(start.tokenizer)
    most_common = dict(surveyed.words.most_common(_WORDS))
    is_unknown = np.diff(reader(list(most_common)).ends) == 0
    unknown = float(is_unknown @ np.array(list(most_common.values()), dtype=np.float64))
    unknown /= max(sum(most_common.values()), 1)
    if unknown > _UNKNOWN:
        remarks.append(
            f"{unknown:.0%} of the words are unknown to the tokenizer; start from a model of their "
            "language, or from zero"
        )

    fitted, held_out, questions = _gather(store, surveyed, start, reader, progress)
    fitting: dict[str, Any] = {"mapped": start.mapped, "ridge": ridge, "progress": progress}
    provenance = start.provenance | {
        "attached_to": store.name,
        "documents": fitted.documents + held_out.documents,
        "pieces": f"of {', '.join(map(str, start.sizes))} tokens",
        "ridge": ridge,
        "unknown_words": unknown,
        "dimensions": store.dimension,
        "library": f"conceptor {__version__}",
    }
    trial = None
    if questions and fitted.documents:
        trial = fitted.fit(start.table, **fitting)
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
        whole.fit(start.table, near=trial, **fitting),
        start.tokenizer,
        provenance,
        # The table keeps its scale: vectors of queries have length 1.
        (whole.mean * surveyed.scale).astype(np.float32),
    )
    for remark in remarks:
        warnings.warn(remark, AttachWarning, stacklevel=2)
    if judgments is not None:
        provenance["judged"], gains = judge(store, judgments, result.encode, encoder)
        provenance["verdict"] = judged_verdict(gains)
        provenance["documents_named_by"] = judgments.named_by
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


class Questions(NamedTuple):
    """Sentences of a held-out document; `hash` decides which documents are used."""

    hash: bytes
    row: int
    texts: list[str]


def _gather(
    store: Vectors, surveyed: Survey, start: Start, reader: TokenReader, progress: Progress
) -> tuple[Attachment, Attachment, list[Questions]]:
    """Return the documents to fit to, the held-out ones, and questions made from the latter.

    If the store has very many tokens, only a sample of the documents is used.
    """
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
                    questions.append(Questions(name, before + row, sentences))
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
    """How often an encoder finds the right document, in percent, with its 95% interval.

    `against` is the document that must be among the first ten: "model" for the model's own first
    hit, or "document" for the one that the question was taken from. `documents` is the number of
    documents in the measured fit.
    """

    against: str
    documents: int
    questions: int
    share: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """A recommendation.

        After a fit to few documents it is never the best one: the questions then do not show what
        is missing, as the start already answers them.
        """
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
    attached = gains["attached"]
    if attached.size < _FEWEST_QUESTIONS:
        return TOO_FEW
    for name, verdict in (("BM25", BM25_ALONE), ("attached + BM25", WITH_BM25)):
        differences = paired_differences({"nDCG": attached}, [{"nDCG": gains[name]}])
        if differences["nDCG"].interval(0).sign > 0:
            return verdict
    return USE


def _measure(
    store: Vectors, questions: list[Questions], encode: Encode, model: Encode | None, documents: int
) -> Loss:
    """Return how often an encoder, fitted to `documents`, finds the goal among the first ten."""
    texts = [text for each in questions for text in each.texts]
    sources = np.array([each.row for each in questions for _ in each.texts])
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
