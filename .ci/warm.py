"""Compile every loop of the package, so that later processes only link them."""

from __future__ import annotations

from conceptor import kernels
from conceptor.kernels.build import Kernel

for each in list(vars(kernels).values()):
    if isinstance(each, Kernel):
        each._function  # noqa: B018 - compiled and kept when it is first asked for
