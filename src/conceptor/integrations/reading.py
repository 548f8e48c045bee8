"""Open vectors of any kind, to read or to improve them.

Each kind of object has an adapter: a function that opens it as `Opened`, vectors to fit a method
to and a function that rebuilds the object. It is found by the object's class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.fit import Fitted
from conceptor.methods import Lengths
from conceptor.vectors.files import in_memory, open_vectors
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.formats.static_model import count_tokens
from conceptor.vectors.table import WordVectors
from conceptor.vectors.texts import as_texts
from conceptor.vectors.vectors import RowKind, Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["Opened", "open_object", "open_rows"]

# The module and function for each `package.Class`: the first part of the class's module, and its
# name. An object's own class comes first, then its base classes.
ADAPTERS = {
    "conceptor.WordVectors": "reading:open_plain",
    "builtins.tuple": "reading:open_plain",
    "builtins.dict": "reading:open_plain",
    "numpy.ndarray": "reading:open_plain",
    "gensim.KeyedVectors": "gensim:open_keyed_vectors",
    "gensim.FastTextKeyedVectors": "gensim:open_fasttext_vectors",
    "gensim.Word2Vec": "gensim:open_model",
    "pandas.DataFrame": "tables:open_pandas",
    "polars.DataFrame": "tables:open_polars",
    "pyarrow.Table": "tables:open_arrow",
    "spacy.Vocab": "spacy:open_vocab",
    "spacy.Language": "spacy:open_pipeline",
    "model2vec.StaticModel": "model2vec:open_static_model",
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


def open_rows(
    vectors: object, texts: object = None, *, column: Columns = None, rows: str | None = None
) -> Vectors:
    """Return the vectors of words or texts that `compare`, `most_similar` and `inspect` read.

    `vectors` is a path, `Vectors`, or an object that `improve` takes; `texts` has the text of each
    row, as a file or strings; `column` and `rows` are as for `improve`.
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
    """Open vectors of any kind to improve them; arguments are as for `improve`."""
    kinds = [f"{c.__module__.partition('.')[0]}.{c.__qualname__}" for c in type(x).__mro__]
    if texts is not None and "sentence_transformers.SentenceTransformer" not in kinds:
        raise InvalidInputError(
            f"texts are for a SentenceTransformer, not for a {type(x).__name__}; leave them out"
        )
    if isinstance(x, (str, os.PathLike)):
        vectors = open_vectors(x, column=column, rows=rows)

        def load(fitted: Fitted) -> WordVectors:
            words = [word for words, _ in vectors.chunks() for word in words]
            return WordVectors(words, improve_rows(fitted, vectors))

        return Opened(vectors, load)
    home = next((ADAPTERS[kind] for kind in kinds if kind in ADAPTERS), None)
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
    words: Any
    matrix: Any
    match x:
        case WordVectors():
            words, matrix = x.words, x.vectors
        case dict():
            words, matrix = list(x), list(x.values())
        case np.ndarray():
            words, matrix = None, x
        case (words, matrix):
            pass
        case _:
            raise InvalidInputError(f"expected (words, array), not a tuple of {len(x)}")
    try:
        matrix = np.asarray(matrix)
    except ValueError:
        raise InvalidInputError("expected vectors of the same length") from None
    matrix = as_matrix(matrix, "the array of vectors")

    def rebuild(rows: NDArray[Any]) -> object:
        if matrix.dtype.kind == "f":
            rows = rows.astype(matrix.dtype, copy=False)
        match x:
            case WordVectors():
                return x.with_vectors(rows)
            case dict():
                return dict(zip(x, rows, strict=True))
            case tuple():
                return words, rows
        return rows

    return open_table(words, matrix, rebuild)


def open_table(
    words: Iterable[str] | None,
    matrix: NDArray[Any],
    rebuild: Callable[[NDArray[Any]], object],
    **facts: Any,  # noqa: ANN401
) -> Opened:
    """Open labels with one vector each; `rebuild` makes the object from the improved matrix.

    Without words all rows count equally. `facts` are more fields of `Vectors`; without `kind`, the
    labels decide whether they are words or texts.
    """
    # In C order, as from a file, because the last bit of a product depends on it.
    rows = np.ascontiguousarray(matrix)
    vectors = in_memory(None if words is None else list(words), rows, **facts)
    return Opened(vectors, lambda fitted: rebuild(improve_rows(fitted, vectors)))


def open_tokens(
    tokenizer: Tokenizer, matrix: NDArray[Any], rebuild: Callable[[NDArray[Any]], object]
) -> Opened:
    """Open the table of a static model; token frequency is derived from word frequency."""
    tokens = {row: token for token, row in tokenizer.get_vocab().items()}
    words = [tokens.get(row, "") for row in range(len(matrix))]
    counts = partial(count_tokens, tokenizer)
    return open_table(words, matrix, rebuild, kind=RowKind.TOKENS, token_counts=counts)


def improve_rows(fitted: Fitted, vectors: Vectors) -> NDArray[Any]:
    """Apply a fitted method to all rows, chunk by chunk, as when writing a file."""
    with one_blas_thread():
        chunks = ordered_map(lambda chunk: fitted(*chunk), vectors.chunks(), processors())
        return np.concatenate(list(chunks))


def map_rows(fitted: Fitted, rows: NDArray[Any]) -> NDArray[Any]:
    """Apply the map of a fitted method to rows that average to vectors; keep their type."""
    return fitted.map.linear()(rows).astype(rows.dtype, copy=False)


def check_vectors(rows: int, columns: int, kind: str, remedy: str) -> None:
    """Raise for an object without vectors."""
    if not rows or not columns:
        raise InvalidInputError(f"this {kind} has no vectors ({rows} × {columns}); {remedy}")
