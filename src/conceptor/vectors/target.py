"""Where vectors go: decided, and refused if need be, before any work is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import check_writable
from conceptor.vectors.detect import FORMATS, TEXT_FORMATS, names_format, target_format
from conceptor.vectors.text import GLOVE, WORD2VEC
from conceptor.vectors.word2vec_binary import FORMAT as WORD2VEC_BINARY
from conceptor.vectors.writing import files_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from conceptor.vectors.source import VectorSource

STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Target:
    """Where and how vectors are written; `path` None is standard output.

    `unnamed` tells that the name's ending is that of no format, so that the source's was taken.
    """

    path: Path | None
    format: str
    compression: str | None
    dtype: str = "float32"
    unnamed: bool = False

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
    """Choose format and compression by the target's name, and refuse what must not be written.

    Links are followed. `source` is not overwritten whatever its name, and its format is continued
    where the target's name leaves it open.
    """
    if dtype not in ("float32", "float16"):
        raise InvalidInputError(f"vectors are stored as float32 or float16, not {dtype}")
    if format is not None and format not in FORMATS:
        raise InvalidInputError(f"no format {format!r}; known: {', '.join(FORMATS)}")
    like = source.format if source else None
    if str(target) == STANDARD_OUTPUT:
        chosen = format or (like if like == WORD2VEC else GLOVE)
        if chosen not in TEXT_FORMATS:
            raise InvalidInputError(f"only text formats go to standard output, not {chosen}")
        return Target(None, chosen, None, dtype)
    check_writable(target)  # before links are followed: those of a pipe lead nowhere
    path = Path(target).resolve()
    chosen, compression = target_format(path, like, format)
    for file in files_of(path, chosen):
        check_new_file(file, source.files() if source else (), force=force)
    unnamed = format is None and path.suffix != "" and not names_format(path)
    return Target(path, chosen, compression, dtype, unnamed)


def check_new_file(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = (), *, force: bool
) -> None:
    """Raise where a file cannot or should not be written."""
    check_writable(path, inputs)
    if not force and Path(path).exists():
        raise InvalidInputError(f"{path}: exists; use force=True to replace it")
