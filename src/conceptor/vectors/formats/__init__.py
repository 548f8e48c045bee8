"""The file formats, one module each."""

from __future__ import annotations

from conceptor.vectors.formats import (
    fasttext,
    npy,
    safetensors,
    static_model,
    tables,
    text,
    word2vec_binary,
)
from conceptor.vectors.formats.format import Format

__all__ = ["FORMATS", "Format", "all_formats", "find_format"]

# In the order in which files are recognized: rows of text last, because they fit most files.
FORMATS = (
    word2vec_binary.FORMAT,
    fasttext.FORMAT,
    npy.FORMAT,
    safetensors.FORMAT,
    tables.PARQUET,
    tables.FEATHER,
    static_model.FORMAT,
    text.WORD2VEC,
    text.GLOVE,
)


def all_formats() -> tuple[Format, ...]:
    """Return all formats, in the order in which files are recognized."""
    return FORMATS


def find_format(name: str) -> Format | None:
    """Return the format with a name, if there is one."""
    return next((each for each in FORMATS if each.name == name), None)
