"""Compile every loop for the wheel.

    python -m conceptor.kernels.shipping FOLDER

The wheel build runs it if Numba is installed; see hatch_build.py. Without these files the first use
of each loop takes about a second.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conceptor import kernels
from conceptor.kernels.build import Kernel
from conceptor.kernels.image import IS_FLAT
from conceptor.kernels.stored import pack


def write_images(folder: Path) -> int:
    """Write the code of all loops; return how many, 0 on systems that cannot compile them."""
    loops = [each for each in vars(kernels).values() if isinstance(each, Kernel) and IS_FLAT]
    folder.mkdir(parents=True, exist_ok=True)
    for each in loops:
        name = each.shipped_name
        (folder / name).write_bytes(pack(name, each.make_shipped()))
    return len(loops)


if __name__ == "__main__":
    print(write_images(Path(sys.argv[1])))
