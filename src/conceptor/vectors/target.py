"""Decide where and how to write vectors, or raise, before any work is done; then write them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.files import check_writable, name_in_errors
from conceptor.base.folders import check_folder
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors.formats.encoding import DTYPES
from conceptor.vectors.formats.format import FLOAT32
from conceptor.vectors.formats.registry import (
    choose_format,
    find_format,
    get_file_format,
    has_known_suffix,
    list_suffixes,
)
from conceptor.vectors.formats.static_model import parts_of
from conceptor.vectors.formats.text import GLOVE
from conceptor.vectors.source import Chunk
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from conceptor.vectors.chunks import Transform
    from conceptor.vectors.formats.format import Format
    from conceptor.vectors.source import VectorSource

STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Target:
    """Where and how vectors are written; `path` None is standard output.

    With `has_unknown_suffix`, the name gives no format, so the source's is used. Without
    `has_words` only rows are written. A folder or a table is a copy of `source` with new vectors;
    without `casts`, a table keeps the type of its numbers.
    """

    path: Path | None
    kind: Format
    compression: str | None = None
    dtype: str = FLOAT32
    has_unknown_suffix: bool = False
    has_words: bool = True
    source: VectorSource | None = None
    casts: bool = False

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.kind.name

    @property
    def files(self) -> list[Path]:
        """The files that are written: the target, then the file of its words, if there is one."""
        if self.path is None:
            return []
        words_path = self.kind.words_path if self.has_words else None
        return [self.path] if words_path is None else [self.path, words_path(self.path)]

    @property
    def needs_count_first(self) -> bool:
        """Whether the number of vectors must be known before the first is written."""
        return self.kind.is_counted and (self.path is None or self.compression is not None)


def plan_target(
    target: str | os.PathLike[str],
    *,
    source: VectorSource | None = None,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
) -> Target:
    """Choose format and compression by the target's name, and check that it may be written.

    Links are followed. `source` is never overwritten, and its format is used if the target's name
    gives none.
    """
    like = find_format(source.format) if source else None
    is_stream = str(target) == STANDARD_OUTPUT
    if source and like and like.is_folder and format is None:
        if not is_stream and not has_known_suffix(Path(target)):
            return _plan_folder(Path(target), source, like, dtype, force=force)
        like = None
    dtype, casts = dtype or FLOAT32, dtype is not None
    if dtype not in DTYPES:
        raise InvalidInputError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype}")
    wanted = None if format is None else get_file_format(format)
    has_words = source is None or source.has_words
    if is_stream:
        chosen = wanted or (like if like and like.is_text else GLOVE)
        if not chosen.is_text:
            raise InvalidInputError(f"standard output takes only text formats, not {chosen.name}")
        planned = Target(None, chosen, None, dtype, has_words=has_words)
        _check_content(target, planned)
        return planned
    check_writable(target)  # before links are followed: a pipe's link has no target
    path = Path(target).resolve()
    chosen, compression = choose_format(path, like, wanted)
    has_unknown_suffix = format is None and path.suffix != "" and not has_known_suffix(path)
    planned = Target(path, chosen, compression, dtype, has_unknown_suffix, has_words, source, casts)
    if chosen.check_source is not None:
        chosen.check_source(source)
    _check_content(path, planned)
    for file in planned.files:
        check_new_file(file, source.files() if source else (), force=force)
    if chosen.check_target is not None:
        chosen.check_target(planned)
    return planned


def _check_content(target: str | os.PathLike[str], planned: Target) -> None:
    """Raise if the format cannot store the vectors in the requested way."""
    chosen, dtype, compression = planned.kind, planned.dtype, planned.compression
    if not planned.has_words and not chosen.wordless:
        suffixes = list_suffixes(lambda each: each.wordless)
        raise InvalidInputError(
            f"{target}: {chosen.name} needs words, but the vectors have none; write {suffixes}"
        )
    if dtype not in chosen.dtypes:
        suffixes = list_suffixes(lambda each: dtype in each.dtypes)
        raise InvalidInputError(
            f"{chosen.name} stores only {', '.join(chosen.dtypes)}; for {dtype} write {suffixes}"
        )
    if compression and not chosen.streamed:
        raise InvalidInputError(f"{target}: {chosen.name} cannot be compressed with {compression}")


def _plan_folder(
    target: Path, source: VectorSource, kind: Format, dtype: str | None, *, force: bool
) -> Target:
    """Plan a folder like the source's, with the numbers of the source by default."""
    check_new_folder(target, force=force, inputs=[source.path, *source.files()])
    if kind.check_source is not None:
        kind.check_source(source)
    stored = dtype or np.dtype(source.dtype).name
    if stored not in kind.dtypes:
        raise InvalidInputError(f"dtype must be one of {', '.join(kind.dtypes)}, not {stored}")
    return Target(target.resolve(), kind, None, stored, source=source)


def check_new_folder(
    folder: str | os.PathLike[str],
    *,
    force: bool,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Raise if a static model cannot be written there, or if other files would be lost."""
    check_folder(folder, "static model", parts_of, inputs=inputs, force=force)


def check_new_file(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = (), *, force: bool
) -> None:
    """Raise if a file cannot be written, or exists and `force` is not set."""
    check_writable(path, inputs)
    if not force and Path(path).exists():
        raise InvalidInputError(f"{path}: exists; use ", Setting("force", True), " to replace it")


def write_chunks(
    chunks: Iterable[tuple[Sequence[str], Any]],
    target: Target,
    count: int | None = None,
    transform: Transform | None = None,
    *,
    dimension: int | None = None,
    threads: int | None = None,
) -> int:
    """Write chunks in order, transforming and encoding several at a time; return the row count.

    Parameters
    ----------
    chunks
        Words and rows.
    target
        From `plan_target`.
    count
        How many rows there will be, if known.
    transform
        A function of words and rows that returns rows of `dimension` numbers.
    """
    stream = iter(chunks)
    first = next(stream, None)
    if first is None:
        raise InvalidInputError(f"{target.path or 'standard output'}: no vectors to write")
    if target.kind.open_writer is None:
        raise InvalidInputError(
            f"{target.path}: {target.format} can only be written from files of the same format"
        )
    opened = target.kind.open_writer(target, dimension or int(first[1].shape[1]), count)
    # System errors, such as a full disk, name no file or the temporary one. Read errors are left
    # alone.
    naming = partial(name_in_errors, target.path or "standard output")
    written = 0
    with one_blas_thread(), ExitStack() as stack:

        def leave(*raised: Any) -> bool | None:  # noqa: ANN401
            with naming():
                return opened.__exit__(*raised)

        with naming():
            writer = opened.__enter__()
        stack.push(leave)

        def encode(chunk: tuple[Sequence[str], Any]) -> tuple[int, Any]:
            words, rows = chunk
            if transform is not None:
                rows = transform(words, rows)
            return len(words), writer.encode(Chunk(PackedWords.from_words(words), rows))

        # One more ahead than usual, because writing sometimes waits for the disk.
        parts = ordered_map(encode, chain([first], stream), threads or processors(), ahead=2)
        for rows, encoded in parts:
            with naming():
                writer.write(encoded)
            written += rows
        with naming():
            writer.finish(written)
    return written
