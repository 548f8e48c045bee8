"""Attach a static encoder to a store: survey, start, fit, measure, fit again on everything."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor import __version__
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.progress import silent
from conceptor.evaluation.attached.judged import judge
from conceptor.evaluation.attached.judgements import read_judgements
from conceptor.evaluation.attached.measuring import Questions, measure
from conceptor.evaluation.attached.survey import Survey, held, is_taken, read_texts, survey
from conceptor.integrations.stores import open_store
from conceptor.static_models.attaching import RIDGE, Attachment
from conceptor.static_models.distilling import open_encoder
from conceptor.static_models.model import StaticModel
from conceptor.static_models.starting import (
    SENTENCES,
    VOCABULARY,
    Start,
    start_from_model,
    start_from_static,
    start_from_zero,
)
from conceptor.vectors.tokenizer import TokenReader

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.evaluation.attached.measuring import Encode
    from conceptor.static_models.distilling import Encoder
    from conceptor.vectors.vectors import Vectors

# If the model's vectors are farther from the stored ones, another model made them.
_SAME_MODEL = 0.8
_CHECKED = 32
# The number of the store's words that are looked up in the tokenizer.
_WORDS = 20_000
# The number of tokens that are always kept, however small the table.
_TOKENS = 1 << 24
# A share of unknown words that deserves a warning.
_UNKNOWN = 0.05


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
    queries, relevant : path, optional
        Files with one query (`id<TAB>text`), and one relevant document (`id<TAB>document`), per
        line. A document is its row in the store, from 1, or its id.
    table, text_column, column, text_file
        Where texts and vectors (`column`) are, if it is ambiguous; `text_file` is for `.npy`.
    id_column : str, optional
        The column whose ids `relevant` names, or "rows"; by default the one that fits.
    ridge : float
        Strength of the regularisation of rows.
    keep : path, optional
        A folder for the model's vectors computed so far; an interrupted call resumes from it.
    progress
        Called with the progress of the work.

    Returns
    -------
    StaticModel
        With `offset`, and the measurements in `provenance`.

    Examples
    --------
    >>> encoder = attach(texts, vectors, model="all-MiniLM-L6-v2/")  # doctest: +SKIP
    >>> index.search(encoder.encode(["a question"]), 10)  # doctest: +SKIP
    """
    _check_settings(model, base, queries, relevant, id_column, ridge)
    store = open_store(
        texts,
        vectors,
        texts=text_file,
        table=table,
        text_column=text_column,
        column=column,
    )
    found = survey(store, progress)
    judgements = None
    if queries is not None and relevant is not None:
        judgements = read_judgements(queries, relevant, store, found.rows, id_column)
    encoder = None if model is None else open_encoder(model, tokenizer)
    remarks = found.warnings()
    if encoder is not None:
        remarks += _check_model(store, encoder)
    words = [word for word, _ in found.words.most_common()]
    if not words and model is None and base is None:
        raise InvalidInputError(f"{store.name}: the texts have no words; check the column of texts")
    folder = None if keep is None else Path(keep)
    if encoder is not None:
        start = start_from_model(
            encoder,
            words,
            vocabulary=vocabulary,
            sentences=sentences,
            keep=folder,
            progress=progress,
        )
    else:
        start = start_from_zero(words) if base is None else start_from_static(base, words)
    made, remark = _fit(store, found, start, encoder, ridge, progress)
    for each in [*remarks, *remark]:
        warnings.warn(each, AttachWarning, stacklevel=2)
    if judgements is not None:
        judged = judge(store, judgements, made.encode, encoder)
        made.provenance["judged"] = judged.rows()
        made.provenance["documents_named_by"] = judgements.named_by
    return made


class AttachWarning(UserWarning):
    """A warning about a store."""


def _check_settings(
    model: object,
    base: object,
    queries: object,
    relevant: object,
    id_column: object,
    ridge: float,
) -> None:
    if model is not None and base is not None:
        raise InvalidInputError(
            "both ", Setting("model"), " and ", Setting("base"), " were given; choose one"
        )
    if (queries is None) != (relevant is None):
        raise InvalidInputError(
            Setting("queries"), " and ", Setting("relevant"), " belong together; give both"
        )
    if id_column is not None and relevant is None:
        raise InvalidInputError(Setting("id_column"), " needs ", Setting("relevant"))
    if not 0 < ridge < np.inf:
        raise InvalidInputError(f"ridge is {ridge}; it must be positive and finite")


def _fit(
    store: Vectors,
    found: Survey,
    start: Start,
    encoder: Encoder | None,
    ridge: float,
    progress: Progress,
) -> tuple[StaticModel, list[str]]:
    """Fit without the held-out documents, measure, and fit with all of them."""
    reader = TokenReader(start.tokenizer)
    one, other, questions = _gather(store, found, start, reader, progress)

    def solve(part: Attachment, near: NDArray[np.float32] | None) -> NDArray[np.float32]:
        return part.fit(start.table, mapped=start.mapped, ridge=ridge, near=near, progress=progress)

    first = None
    unknown = _unknown_share(found, reader)
    provenance: dict[str, Any] = start.provenance | {
        "attached_to": store.name,
        "documents": one.documents + other.documents,
        "pieces": f"of {', '.join(map(str, start.sizes))} tokens",
        "ridge": ridge,
        "unknown_words": unknown,
        "dimensions": store.dimension,
        "library": f"conceptor {__version__}",
    }
    if len(questions) and one.documents:
        first = solve(one, None)
        trial = StaticModel(first, start.tokenizer)
        loss = measure(store, questions, trial.encode, encoder, one.documents)
        provenance |= {"measured": loss.sentence(), "verdict": loss.verdict, "loss": asdict(loss)}
    remarks = []
    if "verdict" not in provenance:
        remarks.append(
            "the loss was not measured: no held-out document has a sentence of five words or more"
        )
    whole = one + other
    del one, other
    offset = whole.mean.astype(np.float32)
    if unknown > _UNKNOWN:
        remarks.append(
            f"{unknown:.0%} of the words are unknown to the tokenizer; start from a model of their "
            "language, or from zero"
        )
    return StaticModel(solve(whole, first), start.tokenizer, provenance, offset), remarks


def _gather(
    store: Vectors, found: Survey, start: Start, reader: TokenReader, progress: Progress
) -> tuple[Attachment, Attachment, Questions]:
    """Read the documents to fit to, the held-out documents, and questions made from the latter."""
    one, other = (Attachment(reader, start.rows, store.dimension, start.sizes) for _ in range(2))
    # Tokens take four bytes each, like the table's numbers, so both get the same memory.
    most = max(start.rows * store.dimension, _TOKENS)
    stride = -(-found.tokens * len(start.sizes) // most)
    questions = Questions()
    row = 0
    for labels, vectors in store.chunks():
        texts = list(labels)
        out = held(texts)
        taken = np.array([bool(text.strip()) and is_taken(text, stride) for text in texts])
        for part, chosen in ((one, taken & ~out), (other, taken & out)):
            rows = np.flatnonzero(chosen).tolist()
            part.add([texts[i] for i in rows], np.asarray(vectors)[chosen])
        for i in np.flatnonzero(taken & out).tolist():
            questions.add(row + i, texts[i])
        row += len(texts)
        progress("counting", store.fraction_read(), row)
    return one, other, questions


def _unknown_share(found: Survey, reader: TokenReader) -> float:
    """Return the share of the store's words that are unknown to the tokenizer."""
    words, counts = zip(*found.words.most_common(_WORDS), strict=True) if found.words else ((), ())
    unknown = np.diff(reader(list(words)).ends) == 0
    return float(unknown @ np.array(counts, dtype=np.float64) / max(sum(counts), 1))


def _check_model(store: Vectors, encode: Encode) -> list[str]:
    """Raise if the model's vectors have another dimension; warn if their directions differ."""
    texts, vectors = next(read_texts(store))
    # Short texts only: models and libraries truncate long texts differently.
    shortest = np.argsort([len(text) for text in texts], kind="stable")[:_CHECKED]
    made = encode([texts[i] for i in shortest])
    if made.shape[1] != store.dimension:
        raise InvalidInputError(
            f"the model's vectors have {made.shape[1]} dimensions, those in {store.name} have "
            f"{store.dimension}; name the model that made them, or leave it out"
        )
    there = vectors[shortest].astype(np.float64)
    lengths = np.linalg.norm(made, axis=1) * np.linalg.norm(there, axis=1)
    cosine = float(np.median(np.einsum("ij,ij->i", made, there) / np.maximum(lengths, 1e-30)))
    if cosine < _SAME_MODEL:
        return [
            f"the model's vectors differ from the stored ones (median cosine {cosine:.2f}); did "
            "this model make them, without a prefix?"
        ]
    return []
