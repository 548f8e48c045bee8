"""Write vectors: where and how is decided before any work is done, or an error says why not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.files import check_new_folder, check_writable
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map
from conceptor.vectors.formats import BY_NAME, FORMATS
from conceptor.vectors.formats.format import Format, Target
from conceptor.vectors.formats.streams import split_compression
from conceptor.vectors.vectors import RowKind, Rows, Vectors

STANDARD_OUTPUT = "-"


def plan_target(
    target: str | os.PathLike[str],
    vectors: Vectors | None = None,
    *,
    dimension: int = 0,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
) -> Target:
    """Choose format and compression by the target's name, and check that it may be written.

    The files of `vectors` are never overwritten, and their format is used if the target's name
    gives none. `dimension` is that of the result, if it differs.
    """
    path = None if str(target) == STANDARD_OUTPUT else Path(target)
    where = path or "standard output"
    bare, compression = split_compression(path) if path else (None, None)
    source = BY_NAME.get(vectors.format) if vectors else None
    chosen = _choose_format(bare, source, format)
    has_words = vectors is None or vectors.has_words
    if path is None and not chosen.is_text:
        raise InvalidInputError(f"standard output takes only text formats, not {chosen.name}")
    if not has_words and not chosen.wordless:
        raise InvalidInputError(
            f"{where}: {chosen.name} needs words, but the vectors have none; write .npy or .parquet"
        )
    if dtype is not None and dtype not in chosen.dtypes:
        suffixes = ", ".join(x.suffixes[0] for x in FORMATS if x.suffixes and dtype in x.dtypes)
        raise InvalidInputError(
            f"{chosen.name} stores {', '.join(chosen.dtypes)}, not {dtype}"
            + (f"; for {dtype} write {suffixes}" if suffixes else "")
        )
    if compression and not chosen.streamed:
        raise InvalidInputError(f"{where}: {chosen.name} cannot be compressed with {compression}")
    dimension = dimension or (vectors.dimension if vectors else 0)
    count, kind = (vectors.count, vectors.kind) if vectors else (None, RowKind.WORDS)
    inputs = vectors.files if vectors else ()
    if path is not None:
        if chosen.is_folder:
            check_new_folder(path)
        else:
            # Before links are followed, because a pipe's link has no target.
            check_new_file(path, inputs, force=force)
        path = path.resolve()
    planned = Target(path, chosen, compression, dtype, dimension, count, has_words, kind)
    for file in planned.files[1:]:
        check_new_file(file, inputs, force=force)
    return planned


def _choose_format(path: Path | None, source: Format | None, name: str | None) -> Format:
    """Return the format for a target without its compression; `name` is the user's choice.

    `.txt` stays word2vec text if the source is, and is GloVe text otherwise.
    """
    if name is not None:
        chosen = BY_NAME.get(name)
        if chosen is None or not chosen.write:
            names = ", ".join(each.name for each in FORMATS if each.write)
            raise InvalidInputError(f"unknown format {name!r}; use one of {names}")
        return chosen
    suffix = path.suffix.lower() if path else ".txt"
    if source and source.is_text and suffix == ".txt":
        return source
    chosen = next((each for each in FORMATS if suffix in each.suffixes), source)
    if chosen is None or not (chosen.write or chosen.rewrite):
        suffixes = " ".join(suffix for each in FORMATS for suffix in each.suffixes)
        raise InvalidInputError(
            f"{path}: unrecognized file extension; use one of {suffixes}, or name the format, as "
            "in --format glove-text"
        )
    return chosen


def has_known_suffix(path: Path) -> bool:
    """Return whether a name ends like that of a vectors file."""
    suffix = split_compression(path)[0].suffix.lower()
    return any(suffix in each.suffixes for each in FORMATS)


def check_new_file(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = (), *, force: bool
) -> None:
    """Raise if a file cannot be written, or exists and `force` is not set."""
    check_writable(path, inputs)
    if not force and Path(path).exists():
        raise InvalidInputError(f"{path}: exists; use --force to replace it")


def write(
    vectors: Vectors, target: Target, map_: AffineMap | None = None, progress: Progress = silent
) -> int:
    """Write vectors to a planned target, perhaps through a map; return the number of rows."""

    def map_rows(chunk: Rows) -> Rows:
        assert map_ is not None
        with np.errstate(over="ignore", invalid="ignore"):  # formats refuse what overflows
            return chunk._replace(rows=map_.map_words(chunk.labels, chunk.rows))

    def read() -> Iterator[Rows]:
        chunks = _name_read_errors(vectors.read(), vectors.name)
        if map_ is None:
            return chunks
        # Writing sometimes waits for the disk.
        return ordered_map(map_rows, chunks, ahead=2)

    format_, mapped = target.format, replace(vectors, read=read)
    if map_ is not None:  # unchanged numbers have no more digits than before
        target = replace(target, digits=vectors.digits)
    source = BY_NAME.get(vectors.format)
    is_piped = target.path is None or target.compression is not None
    with one_blas_thread():
        if source and format_.rewrite and source.rewrite is format_.rewrite:
            return format_.rewrite(mapped, target, progress)
        if format_.is_counted and target.count is None and is_piped:
            count = sum(len(labels) for labels, _ in vectors.chunks(progress, "counting"))
            target = replace(target, count=count)
        assert format_.write is not None  # `plan_target` checked it
        return format_.write(target, mapped.chunks(progress, "writing"))


def _name_read_errors(chunks: Iterable[Any], name: str) -> Iterator[Any]:
    """Yield chunks; a system error while reading must not be reported as one of writing."""
    try:
        yield from chunks
    except OSError as error:
        raise ConceptorError(f"{error.filename or name}: {error.strerror or error}") from error


def write_vectors(
    path: str | os.PathLike[str],
    chunks: Iterable[tuple[Sequence[str], ArrayLike]],
    *,
    format: str | None = None,
    dtype: str | None = None,
    count: int | None = None,
    force: bool = False,
) -> int:
    """Write words and vectors to a file, atomically; return how many were written.

    Parameters
    ----------
    path
        The target; its name determines format and compression.
    chunks
        Pairs of words and rows; `[(words, matrix)]` writes a whole matrix.
    format
        The name of a format, if that of the file does not determine it.
    dtype
        `float32`; or `float16`, `int8` or `binary` if the format supports it
        (docs/reference/formats.md).
    count
        The number of vectors; only compressed word2vec files need it in advance.
    force
        Replace an existing file.
    """
    stream = _name_read_errors(_checked_chunks(chunks), "the vectors to write")
    first = next(stream, None)
    if first is None:
        raise InvalidInputError(f"{path}: no vectors to write")
    target = plan_target(path, dimension=first[1].shape[1], format=format, dtype=dtype, force=force)
    assert target.format.write is not None  # `plan_target` checked it
    written = target.format.write(replace(target, count=count), chain([first], stream))
    if count is not None and written != count:
        raise InvalidInputError(f"count is {count}, but there were {written} vectors")
    return written


def _checked_chunks(
    chunks: Iterable[tuple[Sequence[str], ArrayLike]],
) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    dimension = 0
    for words, vectors in chunks:
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(vectors, dtype=np.float32)
        dimension = dimension or rows.shape[-1]
        if rows.shape != (len(words), dimension or 1):
            raise InvalidInputError(
                f"{len(words)} words do not match an array of shape {rows.shape}; expected "
                f"vectors of {dimension} numbers"
            )
        try:
            "".join(words).encode()
        except UnicodeEncodeError as error:
            bad = error.object[error.start : error.end]
            raise InvalidInputError(f"a word has {bad!r}, which is not valid Unicode") from None
        yield list(words), rows
