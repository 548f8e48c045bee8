"""The file format of saved fits: safetensors with a format name, and clear read errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from conceptor.base.arrays import Array
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically

# Of `AffineMap`; such a file may also hold a `Background`.
MAP_FORMAT = "conceptor.AffineMap/1"

Read = TypeVar("Read")
_WRONG = (AttributeError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError)


def save_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Array], metadata: dict[str, str]
) -> None:
    """Write named arrays and texts, atomically."""
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
    """Return the result of `parse` for the arrays and texts of a file; `what` is for errors."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():  # the reader's own error does not name it
        raise InvalidInputError(f"{path}: no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") not in formats:
                raise ValueError(f"its format is {metadata.get('format', 'not given')!r}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return parse(tensors, metadata)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} is damaged: {error}") from error
    # NumPy raises an AttributeError for an unknown type of numbers.
    except (SafetensorError, *_WRONG) as error:
        raise InvalidInputError(
            f"{path} is not a saved {what}, or is truncated ({error}); save it again"
        ) from error
