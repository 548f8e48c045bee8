"""The file formats, one module each.

A package adds a format with

    [project.entry-points."conceptor.formats"]
    my-format = "package.module:FORMAT"

where `FORMAT` is a `conceptor.vectors.formats.Format`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conceptor.base.errors import ConceptorError
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


def all_formats() -> Iterator[Format]:
    """Yield all formats; those of other packages come last, and are loaded only if needed."""
    yield from FORMATS
    yield from _added_formats()


@cache
def _added_formats() -> tuple[Format, ...]:
    from importlib.metadata import entry_points  # its import alone takes 15 ms

    formats = []
    for entry in entry_points(group="conceptor.formats"):
        try:
            formats.append(entry.load())
        except Exception as error:
            raise ConceptorError(
                f"{entry.name} of {entry.value} could not be loaded ({error}); repair or "
                "uninstall the package that provides it"
            ) from error
    return tuple(formats)


def find_format(name: str) -> Format | None:
    """Return the format with a name, if there is one."""
    return next((each for each in all_formats() if each.name == name), None)
