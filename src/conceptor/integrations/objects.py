"""Open and improve vectors of any kind: objects of other libraries, arrays, tables and files."""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map
from conceptor.fit import FitOptions, Fitted, fit_methods
from conceptor.methods import Lengths, MethodLike
from conceptor.postprocessing import Report, choose_method, sum_up
from conceptor.vectors.files import as_vectors, in_memory, open_vectors
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.table import WordVectors
from conceptor.vectors.texts import as_texts
from conceptor.vectors.tokenizer import token_counts
from conceptor.vectors.vectors import RowKind, Vectors
from conceptor.weights import Weights, WeightsLike

if TYPE_CHECKING:
    from model2vec import StaticModel
    from tokenizers import Tokenizer

__all__ = ["Opened", "improve", "open_object", "open_rows"]

# The module and function for each `package.Class`. An object's own class comes first, then its base
# classes.
ADAPTERS = {
    "conceptor.WordVectors": "objects:open_plain",
    "builtins.tuple": "objects:open_plain",
    "builtins.dict": "objects:open_plain",
    "numpy.ndarray": "objects:open_plain",
    "gensim.KeyedVectors": "objects:open_keyed_vectors",
    "gensim.FastTextKeyedVectors": "objects:open_fasttext_vectors",
    "pandas.DataFrame": "tables:open_pandas",
    "polars.DataFrame": "tables:open_polars",
    "pyarrow.Table": "tables:open_arrow",
    "spacy.Vocab": "spacy:open_vocab",
    "spacy.Language": "spacy:open_pipeline",
    "model2vec.StaticModel": "objects:open_model2vec",
    "sentence_transformers.SentenceTransformer": "sentence_transformers:open_sentence_transformer",
}


@dataclass(frozen=True, eq=False)
class Opened:
    """An object that an adapter has opened."""

    vectors: Vectors
    rebuild: Callable[[Fitted], object]  # returns an improved object of the same kind
    remarks: tuple[str, ...] = ()
    # How lengths are set instead of by usage, if rows do not belong to single words.
    lengths: Lengths | None = None

    @classmethod
    def with_rows(cls, vectors: Vectors, rebuild: Callable[[NDArray[Any]], object]) -> Opened:
        """Open vectors whose object is made from the matrix of improved rows."""
        return cls(vectors, lambda fitted: rebuild(improve_rows(fitted, vectors)))


def improve(
    x: Any,  # noqa: ANN401
    method: MethodLike | None = None,
    *,
    weights: Weights | WeightsLike | None = None,
    column: Columns = None,
    rows: str | None = None,
    texts: Sequence[str] | None = None,
    return_report: bool = False,
    **parameters: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Improve vectors of any kind; returns the same kind of object.

    The result is equal, bit for bit, to the output of `postprocess` for the same vectors in an
    `.npy` or Parquet file.

    Parameters
    ----------
    x
        gensim `KeyedVectors`; `(words, array)`; a mapping of words to vectors; a pandas or Polars
        `DataFrame` or an Arrow `Table`, whose other columns are kept; `WordVectors`; a spaCy
        `Vocab` or pipeline, which is changed in place; a model2vec `StaticModel`; a
        `SentenceTransformer`; an array; or a file, which gives `WordVectors`.
    method
        A name (`cn`, `abtt:n_directions=3`) or a `Method`. By default `cn`; `cn:lengths=kept` for
        static models, `gentle` for embeddings of texts and arrays.
    weights
        Usage weights, as for `FitOptions`. By default the counts in `x`, else ranks if the words
        are sorted by frequency.
    column
        As for `open_vectors`.
    rows
        As for `open_vectors`.
    texts
        Sentences to fit a `SentenceTransformer` to, unless it averages static vectors.
    return_report
        Also return a report. Otherwise remarks about the vectors become warnings.
    **parameters
        Parameters of the method, such as `aperture=2` or `n_components=128`.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).standard_normal((100, 5)) + 2
    >>> words, better = improve(([f"w{i}" for i in range(100)], vectors), "abtt")
    >>> bool(np.allclose(better.mean(axis=0), 0))
    True
    """
    opened = open_object(x, texts=texts, column=column, rows=rows)
    better, report = improve_opened(opened, method, FitOptions(weights), **parameters)
    if return_report:
        return better, report
    for remark in report.remarks:
        warnings.warn(remark, stacklevel=2)
    return better


def improve_opened(
    opened: Opened,
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    progress: Progress = silent,
    **parameters: object,
) -> tuple[object, Report]:
    """Improve an object that an adapter has opened."""
    started = time.perf_counter()
    vectors = opened.vectors
    chosen = choose_method(method, vectors, options, **parameters)
    fits = fit_methods(vectors, [chosen], options, progress=progress)
    fitted = fits.methods[str(chosen)]
    better = opened.rebuild(fitted)
    report = sum_up(vectors, started, fits.count, fitted.map.n_out, fitted)
    report.remarks += [*opened.remarks, *fits.cautions]
    if fitted.doubt:
        doubt = f"{vectors.name}: {fitted.name} {fitted.doubt}; measure it with compare"
        report.remarks.append(doubt)
    if report.lengths == Lengths.USAGE and opened.lengths is not None:
        report.lengths = str(opened.lengths)
    return better, report


def open_rows(
    vectors: object, texts: object = None, *, column: Columns = None, rows: str | None = None
) -> Vectors:
    """Return the vectors of words or texts that `compare`, `most_similar` and `inspect` read.

    `texts` has the text of each row, as a file or strings.
    """
    if texts is not None:
        if rows == RowKind.WORDS:
            raise InvalidInputError("--texts is for rows of texts, not words")
        rows = str(RowKind.TEXTS)
    if not isinstance(vectors, Vectors):
        opened = open_object(vectors, column=column, rows=rows).vectors
    elif column is not None:
        raise InvalidInputError(f"{vectors.name}: is already open; pass the column to open_vectors")
    else:
        opened = vectors.with_kind(rows)
    return opened if texts is None else as_texts(opened, texts)


def open_object(
    x: Any,  # noqa: ANN401
    *,
    texts: Sequence[str] | None = None,
    column: Columns = None,
    rows: str | None = None,
) -> Opened:
    """Open vectors of any kind to improve them."""
    kinds = [f"{c.__module__.partition('.')[0]}.{c.__qualname__}" for c in type(x).__mro__]
    if texts is not None and "sentence_transformers.SentenceTransformer" not in kinds:
        raise InvalidInputError(
            f"texts are for a SentenceTransformer, not for a {type(x).__name__}; leave them out"
        )
    if isinstance(x, (str, os.PathLike)):
        vectors = open_vectors(x, column=column, rows=rows)

        def load(matrix: NDArray[Any]) -> WordVectors:
            return WordVectors([word for words, _ in vectors.chunks() for word in words], matrix)

        return Opened.with_rows(vectors, load)
    home = next((ADAPTERS[kind] for kind in kinds if kind in ADAPTERS), None)
    if home is None and hasattr(x, "wv"):
        raise InvalidInputError(f"improve takes the vectors of a {type(x).__name__}; pass model.wv")
    if home is None:
        raise InvalidInputError(
            f"improve does not support {kinds[0]}; save its vectors to a file for "
            f"conceptor.postprocess, or pass one of {', '.join(ADAPTERS)}"
        )
    module, _, function = home.partition(":")
    if column is not None and module != "tables":
        raise InvalidInputError(f"a {type(x).__name__} has no columns; leave out `column`")
    adapter = getattr(import_module(f"conceptor.integrations.{module}"), function)
    opened: Opened = adapter(x, *(each for each in (texts, column) if each is not None))
    return replace(opened, vectors=opened.vectors.with_kind(rows))


def open_plain(x: Any) -> Opened:  # noqa: ANN401
    """Open `(words, array)`, a mapping of words to vectors, `WordVectors` or an array."""

    def rebuild(rows: NDArray[Any]) -> object:
        match x:
            case WordVectors():
                return x.with_vectors(rows)
            case dict():
                return dict(zip(x, rows, strict=True))
            case tuple():
                return x[0], rows
        return rows

    return Opened.with_rows(as_vectors(x), rebuild)


def open_keyed_vectors(kv: Any) -> Opened:  # noqa: ANN401
    """Open gensim's vectors by key."""
    return Opened.with_rows(as_vectors(kv), lambda rows: _with_vectors(kv, rows))


def open_fasttext_vectors(kv: Any) -> Opened:  # noqa: ANN401
    """Open vectors that are averages of n-grams; a map applies to the n-grams as well."""

    def rebuild(fitted: Fitted) -> Any:  # noqa: ANN401
        new = _with_vectors(kv, kv.vectors)
        map_ = fitted.map.linear()
        for name in ("vectors_vocab", "vectors_ngrams"):
            rows = getattr(kv, name)
            setattr(new, name, map_(rows).astype(rows.dtype, copy=False))
        new.vector_size = new.vectors_vocab.shape[1]
        new.adjust_vectors()
        return new

    return replace(open_keyed_vectors(kv), rebuild=rebuild, lengths=Lengths.KEPT)


def _with_vectors(kv: Any, vectors: NDArray[Any]) -> Any:  # noqa: ANN401
    """Return a copy that shares no mutable part with the original."""
    new = copy.copy(kv)
    new.index_to_key, new.key_to_index = list(kv.index_to_key), dict(kv.key_to_index)
    new.expandos = {name: np.copy(values) for name, values in kv.expandos.items()}
    new.vectors, new.vector_size, new.norms = vectors, vectors.shape[1], None
    return new


def open_model2vec(model: StaticModel) -> Opened:
    """Open the table of tokens of a model2vec model.

    In a vocabulary-quantized model tokens share rows and have weights; afterwards each has a row.
    """
    table: NDArray[Any] = model.embedding
    if model.token_mapping is not None:
        table = table[model.token_mapping]
    if table.dtype.kind != "f":  # int8; its scale does not matter
        table = table.astype(np.float32)
    if model.weights is not None:
        table = table * np.asarray(model.weights, dtype=table.dtype)[:, np.newaxis]

    def rebuild(rows: NDArray[Any]) -> StaticModel:
        new = copy.copy(model)
        new.embedding, new.weights, new.token_mapping = rows, None, None
        new.config = copy.copy(model.config)
        return new

    return open_tokens(model.tokenizer, table, rebuild)


def open_tokens(
    tokenizer: Tokenizer, matrix: NDArray[Any], rebuild: Callable[[NDArray[Any]], object]
) -> Opened:
    """Open the table of a static model; token frequency is derived from word frequency."""
    tokens = {row: token for token, row in tokenizer.get_vocab().items()}
    labels = [tokens.get(row, "") for row in range(len(matrix))]
    counts = partial(token_counts, tokenizer)
    vectors = in_memory(labels, matrix, kind=RowKind.TOKENS, token_counts=counts)
    return Opened.with_rows(vectors, rebuild)


def improve_rows(fitted: Fitted, vectors: Vectors) -> NDArray[Any]:
    """Apply a fitted method to all rows, chunk by chunk, as when writing; keep their type."""
    with one_blas_thread():
        chunks = ordered_map(
            lambda chunk: fitted(*chunk).astype(chunk[1].dtype, copy=False),
            vectors.chunks(),
        )
        return np.concatenate(list(chunks))
