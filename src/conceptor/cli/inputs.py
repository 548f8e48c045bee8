"""Parse option values and open vectors."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeVar

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.cli import options as opt
from conceptor.cli.output import say_rows

if TYPE_CHECKING:
    from pathlib import Path

    from conceptor.concepts.lists import Apertures
    from conceptor.vectors import VectorSource
    from conceptor.vectors.vectors import Vectors

_Choice = TypeVar("_Choice", bound=StrEnum)

# The vectors that commands use by default.
DEMO = "GloVe 6B 50d"


def split_list(names: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in names.split(",") if name.strip()]


def read_methods(names: str) -> list[str]:
    """Split a list of methods; `all` means all that need only vectors."""
    from conceptor.methods import ORIGINAL, spectral_methods

    return [ORIGINAL, *spectral_methods()] if names == "all" else split_list(names)


def parse_choice(kind: type[_Choice], value: str, option: str) -> _Choice:
    """Return the member with this value, or raise an error that lists all members."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInputError(f"{option} is {value!r}; it must be one of {known}") from None


def read_aperture(text: str) -> float | Literal["auto"]:
    """Read a number, or `auto`."""
    with suppress(ValueError):
        if text == "auto" or float(text) >= 0:
            return "auto" if text == "auto" else float(text)
    raise InvalidInputError(f"--aperture is {text}; it must be auto or a number from 0 to inf")


def read_apertures(text: str) -> Apertures:
    """Read one aperture for all concepts, or gender=5,names=auto."""
    if "=" not in text:
        return read_aperture(text)
    parts = [[side.strip() for side in part.split("=")] for part in split_list(text)]
    names = {part[0] for part in parts}
    if len(names) < len(parts) or any(len(part) != 2 or not all(part) for part in parts):
        raise InvalidInputError(
            f"--aperture is {text}; for several concepts it is NAME=NUMBER,NAME=NUMBER, each name "
            "once"
        )
    return {name: read_aperture(value) for name, value in parts}


def read_size(size: str | None) -> int | None:
    """Read 100MB, 2GB, 1.5g or plain bytes."""
    if size is None:
        return None
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    text = size.strip().lower().removesuffix("b")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "")
    with suppress(ValueError, OverflowError):
        if (value := int(float(number) * units[unit])) >= 0:
            return value
    raise InvalidInputError(f"--memory is {size}; it must be a size such as 100MB or 8GB")


def open_source(
    path: str | Path,
    on_error: opt.OnErrorChoice = opt.OnErrorChoice.error,
    replace_spaces: str | None = None,
    *,
    wordless: bool = False,
    column: str | None = None,
    rows: opt.RowsChoice | None = None,
    says_kind: bool = True,
) -> VectorSource:
    """Open a vectors file, or the demo vectors; with `wordless`, it need not have words."""
    from conceptor.vectors import open_vectors

    opened = open_vectors(
        path,
        on_error=on_error.action,
        replace_spaces=replace_spaces,
        wordless=wordless,
        column=column,
        rows=rows and rows.value,
    )
    if says_kind:
        say_rows(opened)
    return opened


def open_or_demo(
    path: str | Path | None,
    on_error: opt.OnErrorChoice = opt.OnErrorChoice.error,
    *,
    wordless: bool = False,
    column: str | None = None,
    rows: opt.RowsChoice | None = None,
) -> tuple[Vectors, str]:
    """Open a vectors file, or the demo vectors if none is named; return its name too."""
    from conceptor.vectors.files import is_demo

    if path is not None and not is_demo(path):
        opened = open_source(path, on_error, wordless=wordless, column=column, rows=rows)
        return opened, str(path)
    from conceptor.data.registry import demo_vectors
    from conceptor.vectors import WordVectors

    try:
        return WordVectors(*demo_vectors()), DEMO  # indexed once, for all passes
    except MissingExtraError:
        unnamed = "no vectors file was named, and the default, " if path is None else ""
        raise MissingExtraError(f"{unnamed}{DEMO},", "demo") from None
