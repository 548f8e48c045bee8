"""What fits are saved as: safetensors with a format's name, read back with clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from conceptor.base.arrays import Array

    Read = TypeVar("Read")


def save_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Array], metadata: dict[str, str]
) -> None:
    """Write named arrays and texts; the file appears whole or not at all."""
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(part) for name, part in tensors.items()}
    with replace_atomically(path) as beside:
        beside.write_bytes(save(contiguous, metadata=metadata))


def load_tensors(
    path: str | os.PathLike[str],
    what: str,
    formats: Sequence[str],
    parse: Callable[[dict[str, Array], dict[str, str]], Read],
) -> Read:
    """Return what `parse` makes of a file's arrays and texts.

    Raises
    ------
    InvalidInputError
        Where the file has another format, is cut short, or `parse` finds it damaged; `what` says
        what it should have been.
    """
    from safetensors import SafetensorError, safe_open

    # A directory or a missing file would be reported by the reader without its name.
    if Path(path).is_dir():
        raise InvalidInputError(f"{path} is a directory, not a saved {what}")
    if not Path(path).exists():
        raise InvalidInputError(f"{path}: no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            known = metadata.get("format") in formats
            tensors = {n: file.get_tensor(n) for n in file.keys()} if known else {}  # noqa: SIM118
        if known:
            return parse(tensors, metadata)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} is damaged: {error}") from error
    except (
        SafetensorError,
        AttributeError,  # from NumPy, for a type of numbers that it does not have
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise InvalidInputError(
            f"{path} is not a saved {what}, or is cut short ({error}); save it again"
        ) from error
    raise InvalidInputError(
        f"{path} is a safetensors file but not a {what} saved by this library "
        f"(its format is {metadata.get('format', 'not given')!r})"
    )
