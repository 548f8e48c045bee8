"""The one place that knows how loops are compiled (Numba, imported on first use)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile on the first call, without the GIL, keeping the machine code on disk.

    Numba keeps it beside the module, or in the user's cache where the installation is read-only;
    where neither can be written it compiles again in each process, which costs seconds, not
    failure.
    """
    try:
        return cast("Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("Function", numba.njit(nogil=True)(function))


def inlined(function: Function) -> Function:
    """Compile into the caller: for small functions called once for each number."""
    return cast("Function", numba.njit(inline="always", nogil=True)(function))
