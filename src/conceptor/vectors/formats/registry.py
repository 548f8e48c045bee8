"""All formats: those of this library, registered ones, and those of other packages.

A package adds a format with

    [project.entry-points."conceptor.formats"]
    my-format = "package.module:FORMAT"

where `FORMAT` is a `conceptor.vectors.formats.Format`; a program adds one with `register(FORMAT)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.registry import Registry
from conceptor.vectors.formats import (
    arrow,
    fasttext,
    npy,
    projector,
    safetensors,
    static_model,
    text,
    word2vec_binary,
)
from conceptor.vectors.formats.head import Head
from conceptor.vectors.streams import check_readable_file, detect_compression, split_compression

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conceptor.vectors.columns import Asked
    from conceptor.vectors.formats.format import Format
    from conceptor.vectors.source import VectorSource

_OWN = (
    word2vec_binary.FORMAT,
    fasttext.FORMAT,
    text.WORD2VEC,
    text.GLOVE,
    npy.FORMAT,
    safetensors.FORMAT,
    arrow.PARQUET,
    arrow.FEATHER,
    projector.FORMAT,
    static_model.FORMAT,
)
_FORMATS: Registry[Format] = Registry("conceptor.formats", _OWN)
# The names of the files that this library reads.
FORMATS = tuple(each.name for each in _OWN if each.is_read)
_FOREIGN = {
    b"\x89HDF": "an HDF5 file",
    b"PK": "a zip archive",
}
_PICKLE = b"\x80"


def register(format_: Format) -> Format:
    """Add a format; raise if its name, or the name of its targets, belongs to another."""
    taken = {name for each in all_formats() for name in (each.name, *each.suffixes)}
    for name in (format_.name, *format_.suffixes):
        if name in taken:
            raise InvalidInputError(f"{name}: another format of vectors has this name")
    _FORMATS.register(format_)
    return format_


def all_formats() -> list[Format]:
    """Return all formats, also those of other packages."""
    return list(_FORMATS.values())


def find(wanted: Callable[[Format], bool]) -> Format | None:
    """Return the first format that fits; files are asked before rows of text, which fit most."""
    return _FORMATS.find(wanted, lambda each: each.streamed)


def find_format(name: str) -> Format | None:
    """Return the format with a name, if there is one."""
    return find(lambda each: each.name == name)


def get_file_format(name: str) -> Format:
    """Return the format that files are to be written in; raise for an unknown name."""
    found = find_format(name)
    if found is None or not found.is_written:
        known = ", ".join(each.name for each in all_formats() if each.is_written)
        raise InvalidInputError(f"unknown format {name!r}; use one of {known}")
    return found


def list_suffixes(wanted: Callable[[Format], bool]) -> str:
    """Return how to name targets of some formats, as in `.npy, .parquet or .feather`."""
    *others, last = [each.suffixes[0] for each in all_formats() if each.suffixes and wanted(each)]
    return f"{', '.join(others)} or {last}" if others else last


def recognise_folder(path: Path) -> Format | None:
    """Return the format of a folder of vectors; None if it is another folder, or a file."""
    if not path.is_dir():
        return None
    return find(
        lambda each: each.is_folder and each.recognise is not None and each.recognise(Head(path))
    )


def open_source(path: Path, *, wordless: bool = False, column: Asked = None) -> VectorSource:
    """Recognise a file or folder by its content and open it with the reader of its format.

    With `wordless`, words may be missing. `column` is that of the vectors, for tables.
    """
    folder = recognise_folder(path)
    if folder is not None and folder.open is not None:
        _refuse_column(path, folder, column)
        return folder.open(Head(path), wordless)
    check_readable_file(path)
    head = Head.read(path)
    is_foreign = head.data.startswith((_PICKLE, *_FOREIGN)) or not head.data

    def fits(format_: Format) -> bool:
        if format_.recognise is None or format_.is_folder or (format_.streamed and is_foreign):
            return False
        return format_.recognise(head)

    found = find(fits)
    if found is None:
        raise InvalidInputError(f"{path}: {_explain(head)}")
    if found.open is None:
        raise InvalidInputError(f"{path}: {found.description}")
    compression = None if found.streamed else detect_compression(path)
    if compression:
        raise InvalidInputError(f"{path}: {found.name} inside {compression}; unpack it first")
    if column is not None and found.open_column is not None:
        return found.open_column(head, wordless, column)
    _refuse_column(path, found, column)
    return found.open(head, wordless)


def _refuse_column(path: Path, format_: Format, column: Asked) -> None:
    if column is not None:
        raise InvalidInputError(
            f"{path}: {format_.name} has no columns; remove ", Setting("column", column)
        )


def _explain(head: Head) -> str:
    """Say what a file is, if it is none of vectors."""
    if not head.data:
        return "the file is empty"
    if head.data.startswith(_PICKLE):
        return _explain_pickle(head.path)
    for magic, what in _FOREIGN.items():
        if head.data.startswith(magic):
            return what
    known = ", ".join(each.name for each in all_formats() if each.is_read)
    begins = head.lines.first[:40]
    if any(head.lines.numbers):
        return f"not a file of vectors: {head.lines.doubt}; line 1 begins {begins!r}"
    return f"not a known vector format; line 1 begins {begins!r}. Known formats: {known}"


def _explain_pickle(path: Path) -> str:
    """Say how vectors get out of a pickle: with the library that wrote it."""
    kind, part = ("Word2Vec", ".wv") if path.suffix == ".model" else ("KeyedVectors", "")
    return (
        "a Python pickle, which is never opened, since it can run any code; if you trust "
        f"it, convert it with gensim: from gensim.models import {kind}; "
        f'{kind}.load("{path}"){part}.save_word2vec_format("{path.with_suffix(".bin")}", '
        "binary=True)"
    )


def has_known_suffix(path: Path) -> bool:
    """Return whether a name ends like that of a vectors file."""
    return _find_suffix(split_compression(path)[0].suffix.lower()) is not None


def _find_suffix(suffix: str) -> Format | None:
    return None if not suffix else find(lambda each: suffix in each.suffixes)


def choose_format(
    path: Path, like: Format | None = None, wanted: Format | None = None
) -> tuple[Format, str | None]:
    """Return the format and compression that a target's name asks for; `wanted` overrides it.

    `.txt` stays word2vec text if the source (`like`) is, and is GloVe text otherwise; `.bin` stays
    a fastText model. A name that says nothing keeps the source's format.
    """
    bare, compression = split_compression(path)
    suffix = bare.suffix.lower()
    keeps = like is not None and suffix in like.kept_suffixes
    chosen = wanted or (like if keeps else _find_suffix(suffix) or like)
    if chosen is None:
        known = " ".join(suffix for each in all_formats() for suffix in each.suffixes)
        raise InvalidInputError(
            f"{path}: unrecognised file extension; use one of {known}, or name the format, as in ",
            Setting("format", "glove-text"),
        )
    return chosen, compression
