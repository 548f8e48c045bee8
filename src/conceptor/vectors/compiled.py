"""The one place that knows how loops are compiled (Numba, imported on first use)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile on the first call, without the GIL, keeping the machine code on disk.

    Numba keeps it beside the module, or in the user's cache where the installation is read-only;
    where neither can be written it compiles again in each process, which costs seconds, not
    failure.
    """
    try:
        kernel: Function = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        kernel = numba.njit(nogil=True)(function)
    return kernel
