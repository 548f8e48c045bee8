"""The file formats, one module each."""

from __future__ import annotations

from conceptor.vectors.formats import (
    fasttext,
    npy,
    static_model,
    tables,
    text,
    word2vec_binary,
)
from conceptor.vectors.formats.format import Format

__all__ = ["BY_NAME", "FORMATS", "Format"]

# In the order in which files are recognized: rows of text last, because they fit most files.
FORMATS = (
    word2vec_binary.FORMAT,
    fasttext.FORMAT,
    npy.FORMAT,
    tables.PARQUET,
    tables.FEATHER,
    static_model.FORMAT,
    text.WORD2VEC,
    text.GLOVE,
)
BY_NAME = {each.name: each for each in FORMATS}
