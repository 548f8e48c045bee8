"""Decorators that compile loops with Numba; imported on first use, because Numba loads slowly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def jit(function: Function) -> Function:
    """Compile on the first call, without the GIL.

    Numba's own cache is not used, because it unpickles any file in the user's cache directory.
    `build.Kernel` caches the machine code instead.
    """
    return cast("Function", numba.njit(nogil=True)(function))


def jit_inline(function: Function) -> Function:
    """Compile into the caller: for small functions that are called for every number."""
    return cast("Function", numba.njit(forceinline=True, nogil=True)(function))
