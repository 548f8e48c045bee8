"""Decide where and how vectors are written, or refuse, before any work is done."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import check_writable
from conceptor.vectors import fasttext, npy, safetensors
from conceptor.vectors.detect import (
    TEXT_FORMATS,
    WRITTEN_FORMATS,
    choose_format,
    has_known_suffix,
)
from conceptor.vectors.encoding import DTYPES
from conceptor.vectors.static_model import FORMAT as STATIC_MODEL
from conceptor.vectors.static_model import StaticModelSource
from conceptor.vectors.text import GLOVE, WORD2VEC
from conceptor.vectors.word2vec_binary import FORMAT as WORD2VEC_BINARY
from conceptor.vectors.words_file import words_path
from conceptor.vectors.writing import WORDLESS, output_files

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from conceptor.vectors.source import VectorSource

STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Target:
    """Where and how vectors are written; `path` None is standard output.

    With `has_unknown_suffix`, the name gives no format, so the source's is used. Without
    `has_words` rows are written alone. `model` is the static model whose folder is written anew.
    """

    path: Path | None
    format: str
    compression: str | None
    dtype: str = "float32"
    has_unknown_suffix: bool = False
    has_words: bool = True
    model: StaticModelSource | None = None

    @property
    def fasttext_path(self) -> Path | None:
        """Where a whole fastText model is written, with the rows that its words are made of."""
        return self.path if self.format == fasttext.FORMAT else None

    @property
    def needs_count_first(self) -> bool:
        """Whether the number of vectors must be known before the first is written."""
        has_header = self.format in (WORD2VEC, WORD2VEC_BINARY)
        return has_header and (self.path is None or self.compression is not None)


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
    if isinstance(source, StaticModelSource) and format is None:
        path = Path(target)
        if str(target) != STANDARD_OUTPUT and not has_known_suffix(path):
            return _plan_folder(path, source, dtype, force=force)
    dtype = dtype or "float32"
    if dtype not in DTYPES:
        raise InvalidInputError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype}")
    if format is not None and format not in WRITTEN_FORMATS:
        known = ", ".join(WRITTEN_FORMATS)
        raise InvalidInputError(f"unknown format {format!r}; use one of {known}")
    like = source.format if source and source.format in WRITTEN_FORMATS else None
    has_words = source is None or source.has_words
    if str(target) == STANDARD_OUTPUT:
        chosen = format or (like if like == WORD2VEC else GLOVE)
        if chosen not in TEXT_FORMATS:
            raise InvalidInputError(f"standard output takes only text formats, not {chosen}")
        _check_words(target, chosen, has_words)
        return Target(None, chosen, None, dtype)
    check_writable(target)  # before links are followed: a pipe's link leads nowhere
    path = Path(target).resolve()
    chosen, compression = choose_format(path, like, format)
    if chosen == fasttext.FORMAT:
        fasttext.check_model(source)
        if compression is not None or dtype != "float32":
            what = compression or dtype
            raise InvalidInputError(f"{path}: a fastText model cannot be written as {what}")
    _check_words(path, chosen, has_words)
    for file in output_files(path, chosen, has_words=has_words):
        check_new_file(file, source.files() if source else (), force=force)
    if chosen == npy.FORMAT and has_words:
        _check_words_not_shared(path)
    has_unknown_suffix = format is None and path.suffix != "" and not has_known_suffix(path)
    return Target(path, chosen, compression, dtype, has_unknown_suffix, has_words)


def _check_words(target: str | os.PathLike[str], file_format: str, has_words: bool) -> None:
    if not has_words and file_format not in WORDLESS:
        raise InvalidInputError(
            f"{target}: {file_format} needs words, and the vectors have none; "
            "write .npy or .parquet"
        )


def _plan_folder(
    target: Path, source: StaticModelSource, dtype: str | None, *, force: bool
) -> Target:
    """Plan the folder of a static model, with the numbers of the source by default."""
    path = target.resolve()
    check_new_folder(path, force=force)
    folder = source.folder.resolve()
    if path == folder or folder in path.parents or path in folder.parents:
        raise InvalidInputError(f"{target}: is the input; write to another folder")
    stored = dtype or np.dtype(source.dtype).name
    return Target(path, STATIC_MODEL, None, stored, model=source)


def check_new_folder(folder: str | os.PathLike[str], *, force: bool) -> None:
    """Raise if a folder cannot be written, or exists and `force` is not set."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{folder}: is a file; name a folder")
    if path.is_dir() and any(path.iterdir()) and not force:
        raise InvalidInputError(f"{folder}: exists; use force=True to replace it")
    if not path.resolve().parent.is_dir():
        raise InvalidInputError(f"{folder}: the directory {path.resolve().parent} does not exist")


def _check_words_not_shared(path: Path) -> None:
    """Raise if writing an array's words would replace those of a safetensors file beside it."""
    other, words, files = path.with_suffix(".safetensors"), words_path(path), []
    with suppress(InvalidInputError, OSError):
        files = safetensors.open_safetensors(other).files()
    if words in files:
        raise InvalidInputError(
            f"{words}: holds the words of {other.name} too, which would get those of {path.name}; "
            "write to another name"
        )


def check_new_file(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = (), *, force: bool
) -> None:
    """Raise if a file cannot be written, or exists and `force` is not set."""
    check_writable(path, inputs)
    if not force and Path(path).exists():
        raise InvalidInputError(f"{path}: exists; use force=True to replace it")
