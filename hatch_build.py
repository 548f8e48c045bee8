"""Put machine code into wheels, where Numba is installed to compile it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ShipMachineCode(BuildHookInterface):
    """Adds kernels/images; a wheel without them compiles its loops on first use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the loops in a process of its own, from the sources that are being packed."""
        if version == "editable" or not (find_spec("numba") and find_spec("numpy")):
            return
        folder = Path(mkdtemp(), "images")
        environment = os.environ | {"PYTHONPATH": str(Path(self.root, "src"))}
        command = [sys.executable, "-m", "conceptor.kernels.shipping", str(folder)]
        if subprocess.run(command, env=environment, check=False).returncode == 0:
            build_data["force_include"][str(folder)] = "conceptor/kernels/images"
