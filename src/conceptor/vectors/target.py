"""Decide where and how vectors are written, or refuse, before any work is done."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
from conceptor.vectors.text import GLOVE, WORD2VEC
from conceptor.vectors.word2vec_binary import FORMAT as WORD2VEC_BINARY
from conceptor.vectors.words_file import words_path
from conceptor.vectors.writing import output_files

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from conceptor.vectors.source import VectorSource

STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Target:
    """Where and how vectors are written; `path` None is standard output.

    With `has_unknown_suffix`, the name gives no format, so the source's is used.
    """

    path: Path | None
    format: str
    compression: str | None
    dtype: str = "float32"
    has_unknown_suffix: bool = False

    @property
    def model_path(self) -> Path | None:
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
    dtype: str = "float32",
    force: bool = False,
) -> Target:
    """Choose format and compression by the target's name, and check that it may be written.

    Links are followed. `source` is never overwritten, and its format is used if the target's name
    gives none.
    """
    if dtype not in DTYPES:
        raise InvalidInputError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype}")
    if format is not None and format not in WRITTEN_FORMATS:
        known = ", ".join(WRITTEN_FORMATS)
        raise InvalidInputError(f"unknown format {format!r}; use one of {known}")
    like = source.format if source else None
    if str(target) == STANDARD_OUTPUT:
        chosen = format or (like if like == WORD2VEC else GLOVE)
        if chosen not in TEXT_FORMATS:
            raise InvalidInputError(f"standard output takes only text formats, not {chosen}")
        return Target(None, chosen, None, dtype)
    check_writable(target)  # before links are followed: a pipe's link leads nowhere
    path = Path(target).resolve()
    chosen, compression = choose_format(path, like, format)
    if chosen == fasttext.FORMAT:
        fasttext.check_model(source)
        if compression is not None or dtype != "float32":
            what = compression or dtype
            raise InvalidInputError(f"{path}: a fastText model cannot be written as {what}")
    for file in output_files(path, chosen):
        check_new_file(file, source.files() if source else (), force=force)
    if chosen == npy.FORMAT:
        _check_words_not_shared(path)
    has_unknown_suffix = format is None and path.suffix != "" and not has_known_suffix(path)
    return Target(path, chosen, compression, dtype, has_unknown_suffix)


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
