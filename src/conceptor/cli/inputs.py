"""Parse option values."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeVar

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from conceptor.concepts.lists import Apertures

_Choice = TypeVar("_Choice", bound=StrEnum)


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
