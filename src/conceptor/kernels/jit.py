"""Decorators that compile loops with Numba; imported on first use, because Numba loads slowly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def jit(function: Function) -> Function:
    """Compile on the first call, without the GIL, caching the machine code on disk.

    Numba caches it beside the module, or in the user's cache if the installation is read-only.
    If neither is writable, each process compiles again, which takes seconds.
    """
    try:
        return cast("Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("Function", numba.njit(nogil=True)(function))


def jit_inline(function: Function) -> Function:
    """Compile into the caller: for small functions that are called for every number."""
    return cast("Function", numba.njit(inline="always", nogil=True)(function))
