"""Open and write vectors files: the front door of this package."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.detect import source_for
from conceptor.vectors.source import Chunk, OnError, VectorSource
from conceptor.vectors.streams import check_readable_file
from conceptor.vectors.target import plan_target
from conceptor.vectors.words import PackedWords
from conceptor.vectors.writing import write_chunks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike


def open_vectors(
    path: str | os.PathLike[str],
    *,
    on_error: OnError = "raise",
    replace_spaces: str | None = None,
) -> VectorSource:
    """Open a file of word vectors, whatever its format.

    Parameters
    ----------
    path
        The file; `-` reads standard input to its end into a temporary file first.
    on_error
        What to do with rows that are ragged, not numeric, NaN or not UTF-8: `raise` or `skip`.
    replace_spaces
        One ASCII character to put for each space inside a word.

    Examples
    --------
    >>> source = open_vectors("glove.6B.300d.txt")  # doctest: +SKIP
    >>> for words, vectors in source.chunks():  # doctest: +SKIP
    ...     print(words[0], vectors.shape)
    """
    if on_error not in ("raise", "skip"):
        raise InvalidInputError(f"on_error is 'raise' or 'skip', not {on_error!r}")
    if replace_spaces is not None and not (
        len(replace_spaces) == 1 and "!" <= replace_spaces <= "~"
    ):
        raise InvalidInputError(
            f"spaces are replaced by one visible ASCII character, not {replace_spaces!r}"
        )
    path = _standard_input() if str(path) == "-" else Path(path)
    check_readable_file(path)
    source = source_for(path)
    source.on_error = on_error
    source.replace_spaces = replace_spaces
    return source


def _standard_input() -> Path:
    """Keep standard input in a temporary file, since two passes are made over it."""
    with tempfile.NamedTemporaryFile(prefix="conceptor-stdin-", delete=False) as file:
        path = Path(file.name)
        atexit.register(path.unlink, missing_ok=True)
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    return path


def write_vectors(
    path: str | os.PathLike[str],
    chunks: Iterable[tuple[Sequence[str], ArrayLike]],
    *,
    format: str | None = None,
    dtype: str = "float32",
    count: int | None = None,
    force: bool = False,
) -> int:
    """Write words and vectors to a file; return how many.

    Parameters
    ----------
    path
        The target; its name gives format and compression. It appears only when complete.
    chunks
        Pairs of words and rows; `[(words, matrix)]` writes a whole matrix.
    format
        One of `FORMATS`, where the name does not say.
    dtype
        `float32`, or `float16` where the format can hold it.
    count
        How many vectors will come; only compressed word2vec files need to know beforehand.
    force
        Replace an existing file.
    """
    target = plan_target(path, format=format, dtype=dtype, force=force)
    arrived = (_as_chunk(words, vectors) for words, vectors in chunks)
    return write_chunks(_same_dimension(arrived), target, count)


def _same_dimension(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    dimension = None
    for chunk in chunks:
        dimension = dimension or chunk.vectors.shape[1]
        if chunk.vectors.shape[1] != dimension:
            raise InvalidInputError(
                f"vectors of {chunk.vectors.shape[1]} numbers after vectors of {dimension}"
            )
        yield chunk


def _as_chunk(words: Sequence[str], vectors: ArrayLike) -> Chunk:
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != len(words) or not array.shape[1]:
        raise InvalidInputError(f"{len(words)} words cannot go with an array of {array.shape}")
    return Chunk(PackedWords.from_words(words), array)
