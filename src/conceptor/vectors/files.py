"""Open and write vectors files: the entry points of this package."""

from __future__ import annotations

import atexit
import errno
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.files import remove_at_end
from conceptor.vectors.formats.registry import open_source
from conceptor.vectors.rows import check_rows, parse_rows
from conceptor.vectors.source import Chunk, OnError, VectorSource
from conceptor.vectors.target import plan_target, write_chunks
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike

# The name of the demonstration vectors, wherever vectors are read.
DEMO = "demo"


def open_vectors(
    path: str | os.PathLike[str],
    *,
    on_error: OnError = "raise",
    replace_spaces: str | None = None,
    wordless: bool = False,
    column: str | Sequence[Hashable] | None = None,
    rows: str | None = None,
) -> VectorSource:
    """Open a file of word vectors, or the folder of a static model, whatever its format.

    Parameters
    ----------
    path
        The file; `-` reads standard input to its end into a temporary file first. `demo` stands
        for GloVe 6B 50d, of the demo extra, unless there is a file of that name.
    on_error
        What to do with rows that are ragged, not numeric, NaN or not UTF-8: `raise` or `skip`.
    replace_spaces
        One ASCII character that replaces each space inside a word.
    wordless
        Accept arrays and tables without words; their rows are numbered.
    column
        The column of a table that holds the vectors, if there are several; or the columns of the
        dimensions, as names or as patterns (`d*`), if their names do not say that they are.
    rows
        What rows stand for: `words` or `texts`. By default the labels of arrays and tables decide:
        those of a vocabulary are mostly single words, each once.

    Examples
    --------
    >>> source = open_vectors("glove.6B.300d.txt")  # doctest: +SKIP
    >>> for words, vectors in source.chunks():  # doctest: +SKIP
    ...     print(words[0], vectors.shape)
    """
    if on_error not in ("raise", "skip"):
        raise InvalidInputError(f"on_error must be 'raise' or 'skip', not {on_error!r}")
    if replace_spaces is not None and not (
        len(replace_spaces) == 1 and "!" <= replace_spaces <= "~"
    ):
        raise InvalidInputError(
            "expected one visible ASCII character (",
            Setting("replace_spaces", "_"),
            f"), not {replace_spaces!r}",
        )
    path = _save_standard_input() if str(path) == "-" else Path(path)
    if is_demo(path):
        from conceptor.vectors.demo import DemoSource

        return DemoSource()
    source = open_source(path, wordless=wordless, column=column)
    source.rows_are = parse_rows(rows)
    check_rows(source, source.rows_are)
    source.on_error = on_error
    source.replace_spaces = replace_spaces
    return source


def is_demo(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the name of the demonstration vectors."""
    return str(path) == DEMO and not Path(path).exists()


def _save_standard_input() -> Path:
    """Copy standard input to a temporary file, because it is read twice."""
    with tempfile.NamedTemporaryFile(prefix="conceptor-stdin-", delete=False) as file:
        path = Path(file.name)
        atexit.register(path.unlink, missing_ok=True)
        remove_at_end(path)
        try:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            raise InvalidInputError("standard input is closed; name a file") from None
    return path


def write_vectors(
    path: str | os.PathLike[str],
    chunks: Iterable[tuple[Sequence[str], ArrayLike]],
    *,
    format: str | None = None,
    dtype: str | None = None,
    count: int | None = None,
    force: bool = False,
) -> int:
    """Write words and vectors to a file; return how many were written.

    Parameters
    ----------
    path
        The target; its name determines format and compression. It appears only when complete.
    chunks
        Pairs of words and rows; `[(words, matrix)]` writes a whole matrix.
    format
        One of `FORMATS`, if the name does not say.
    dtype
        `float32`; or `float16`, `int8` or `binary` if the format supports it
        (docs/reference/formats.md).
    count
        How many vectors there will be; only compressed word2vec files need to know in advance.
    force
        Replace an existing file.
    """
    target = plan_target(path, format=format, dtype=dtype, force=force)
    arrived = (_as_chunk(words, vectors) for words, vectors in chunks)
    return write_chunks(_check_dimensions(arrived), target, count)


def _check_dimensions(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    dimension = None
    for chunk in chunks:
        dimension = dimension or chunk.vectors.shape[1]
        if chunk.vectors.shape[1] != dimension:
            raise InvalidInputError(
                f"expected vectors of {dimension} numbers, found {chunk.vectors.shape[1]}"
            )
        yield chunk


def _as_chunk(words: Sequence[str], vectors: ArrayLike) -> Chunk:
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != len(words) or not array.shape[1]:
        raise InvalidInputError(f"{len(words)} words do not match an array of shape {array.shape}")
    return Chunk(PackedWords.from_words(words), array)
