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
from conceptor.base.files import check_writable
from conceptor.base.folders import check_folder
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors, read_ahead
from conceptor.vectors.formats import all_formats, find_format
from conceptor.vectors.formats.encoding import DTYPES
from conceptor.vectors.formats.format import Format, Target
from conceptor.vectors.formats.static_model import parts_of
from conceptor.vectors.formats.streams import split_compression
from conceptor.vectors.vectors import RowKind, Vectors

__all__ = ["check_new_file", "plan_target", "write", "write_vectors"]

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

    Links are followed. The files of `vectors` are never overwritten, and their format is used if
    the target's name gives none. `dimension` is that of the result, if it differs.
    """
    path = None if str(target) == STANDARD_OUTPUT else Path(target)
    where = path or "standard output"
    bare, compression = split_compression(path) if path else (None, None)
    source = find_format(vectors.format) if vectors and vectors.format else None
    chosen = _choose_format(bare, source, format)
    has_words = vectors is None or vectors.has_words
    if path is None and not chosen.is_text:
        raise InvalidInputError(f"standard output takes only text formats, not {chosen.name}")
    if chosen.write is None and not _is_copy(source, chosen):
        raise InvalidInputError(
            f"{where}: {chosen.name} can only be written from a source of the same format; choose "
            "another, such as --format word2vec-binary"
        )
    if not has_words and not chosen.wordless:
        suffixes = [each.suffixes[0] for each in all_formats() if each.wordless]
        raise InvalidInputError(
            f"{where}: {chosen.name} needs words, but the vectors have none; write "
            f"{', '.join(suffixes)}"
        )
    known_dtypes = chosen.dtypes if chosen.is_folder else DTYPES
    if dtype is not None and dtype not in known_dtypes:
        raise InvalidInputError(f"--dtype must be one of {', '.join(known_dtypes)}, not {dtype}")
    if dtype is not None and dtype not in chosen.dtypes:
        files = [each for each in all_formats() if each.suffixes and dtype in each.dtypes]
        raise InvalidInputError(
            f"{chosen.name} stores only {', '.join(chosen.dtypes)}; for {dtype} write "
            f"{', '.join(each.suffixes[0] for each in files)}"
        )
    if compression and not chosen.streamed:
        raise InvalidInputError(f"{where}: {chosen.name} cannot be compressed with {compression}")
    dimension = dimension or (vectors.dimension if vectors else 0)
    count, kind = (vectors.count, vectors.kind) if vectors else (None, RowKind.WORDS)
    planned = Target(path, chosen, compression, dtype, dimension, count, has_words, kind)
    if path is None:
        return planned
    inputs = vectors.files if vectors else ()
    if chosen.is_folder:
        check_folder(path, "static model", parts_of, inputs=inputs, force=force)
        return replace(planned, path=path.resolve())
    check_writable(path)  # before links are followed: a pipe's link has no target
    planned = replace(planned, path=path.resolve())
    for file in planned.files:
        check_new_file(file, inputs, force=force)
    return planned


def _choose_format(path: Path | None, source: Format | None, name: str | None) -> Format:
    """Return the format for a target without its compression; `name` is the user's choice.

    `.txt` stays word2vec text if the source is, and is GloVe text otherwise; `.bin` stays a
    fastText model. With an unknown extension, the source's format is used.
    """
    suffix = path.suffix.lower() if path else ""
    if name is not None:
        chosen = find_format(name)
        if chosen is None or chosen.is_folder:
            names = ", ".join(each.name for each in all_formats() if not each.is_folder)
            raise InvalidInputError(f"unknown format {name!r}; use one of {names}")
        return chosen
    if source and (source.is_text if path is None else suffix in source.kept_suffixes):
        return source
    suffix = suffix if path else ".txt"
    chosen = next((each for each in all_formats() if suffix in each.suffixes), source)
    if chosen is None:
        suffixes = " ".join(suffix for each in all_formats() for suffix in each.suffixes)
        raise InvalidInputError(
            f"{path}: unrecognized file extension; use one of {suffixes}, or name the format, as "
            "in --format glove-text"
        )
    return chosen


def has_known_suffix(path: Path) -> bool:
    """Return whether a name ends like that of a vectors file."""
    suffix = split_compression(path)[0].suffix.lower()
    return any(suffix in each.suffixes for each in all_formats())


def _is_copy(source: Format | None, chosen: Format) -> bool:
    """Return whether a target is a copy of the source with new vectors, all else unchanged."""
    return bool(source and source.rewrite and source.rewrite is chosen.rewrite)


def check_new_file(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = (), *, force: bool
) -> None:
    """Raise if a file cannot be written, or exists and `force` is not set."""
    check_writable(path, inputs)
    if not force and Path(path).exists():
        raise InvalidInputError(f"{path}: exists; use --force to replace it")


def write(
    vectors: Vectors,
    target: Target,
    map_: AffineMap | None = None,
    progress: Progress = silent,
) -> int:
    """Write vectors to a planned target, perhaps through a map, several chunks at a time.

    Returns the number of rows.
    """
    with one_blas_thread():
        if target.format.rewrite and _is_copy(find_format(vectors.format), target.format):
            return target.format.rewrite(vectors, target, map_, progress)
        if (
            target.format.is_counted
            and target.count is None
            and (target.path is None or target.compression)
        ):
            count = sum(len(labels) for labels, _ in vectors.chunks(progress, "counting"))
            target = replace(target, count=count)
        chunks = _name_read_errors(vectors.chunks(progress, "writing"), vectors.name)
        if map_ is not None:

            def mapped(chunk: tuple[Sequence[str], Any]) -> tuple[Sequence[str], Any]:
                return chunk[0], map_.map_words(*chunk)

            # Reading, mapping and writing overlap, and writing sometimes waits for the disk.
            chunks = ordered_map(mapped, read_ahead(chunks), processors(), ahead=2)
        assert target.format.write is not None  # `plan_target` checked it
        return target.format.write(target, chunks)


def _name_read_errors(
    chunks: Iterator[tuple[Sequence[str], Any]], name: str
) -> Iterator[tuple[Sequence[str], Any]]:
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
    """Write words and vectors to a file; return how many were written.

    Parameters
    ----------
    path
        The target; its name determines format and compression. It appears only when complete.
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
        if rows.ndim != 2 or len(rows) != len(words) or not rows.shape[1]:
            raise InvalidInputError(
                f"{len(words)} words do not match an array of shape {rows.shape}"
            )
        dimension = dimension or rows.shape[1]
        if rows.shape[1] != dimension:
            raise InvalidInputError(
                f"expected vectors of {dimension} numbers, found {rows.shape[1]}"
            )
        try:
            "".join(words).encode()
        except UnicodeEncodeError as error:
            bad = error.object[error.start : error.end]
            raise InvalidInputError(f"a word has {bad!r}, which is not valid Unicode") from None
        yield list(words), rows
