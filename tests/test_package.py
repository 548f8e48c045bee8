from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import conceptor
from conceptor.base.errors import PLAIN_TORCH, MissingExtraError
from tests.platforms import linux_only

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = ["torch", "dask", "matplotlib", "gensim", "sklearn", "polars", "pyarrow", "pandas"]
LEFT_OUT = {*HEAVY, "scipy", "pooch"} - {"polars"}  # which reads text
COMMANDS = """
import sys, conceptor.cli
from conceptor import AffineMap, Moments, Conceptor
print(*sys.modules)
from conceptor.__main__ import main
COMMANDS = "postprocess in.txt a.bin", "apply map.safetensors in.txt b.bin", "inspect in.txt"
for command in COMMANDS:
    sys.argv = ["conceptor", *command.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code
print(*sys.modules)
from conceptor import ConceptorNegation
print(*sys.modules)
"""


def test_imports_and_everyday_commands_are_light(tmp_path) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    conceptor.write_vectors(tmp_path / "in.txt", [(words, rng.standard_normal((300, 8)))])
    conceptor.AffineMap(np.eye(8)).save(tmp_path / "map.safetensors")
    ran = subprocess.run(
        [sys.executable, "-c", COMMANDS], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = ran.stdout.splitlines()
    first, after_commands, control = (set(lines[i].split()) for i in (0, -2, -1))
    assert "conceptor.cli" in first
    assert not first & set(HEAVY)
    assert "conceptor.vectors.files" in after_commands
    assert not after_commands & LEFT_OUT
    assert "conceptor.evaluation" not in after_commands
    assert "sklearn" in control


FORBID = """
import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, as systemd's MemoryDenyWriteExecute
    sys.exit(77)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@linux_only("forbids memory that is both writable and executable")
def test_no_executable_memory_is_needed(tmp_path) -> None:
    words = [f"w{i}" for i in range(50)]
    rows = np.random.default_rng(0).standard_normal((50, 8))
    conceptor.write_vectors(tmp_path / "in.txt", [(words, rows)])
    use = "import conceptor; conceptor.postprocess('in.txt', 'python.txt')"
    compiler = "import mmap; mmap.mmap(-1, 9, prot=7)"
    for arguments, fails in (
        (["-m", "conceptor", "postprocess", "in.txt", "out.txt"], False),
        (["-c", use], False),
        (["-c", compiler], True),  # the negative control
    ):
        command = [sys.executable, "-c", FORBID, *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        if ran.returncode == 77:
            pytest.skip("this kernel cannot forbid it")
        assert bool(ran.returncode) is fails, ran.stderr
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "python.txt").read_bytes()


def pinned(path: Path) -> dict[str, str]:
    """Versions by name."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if "//" in line or "@" in line]
    pins = [Requirement(line) for line in lines if "==" in line]
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}


def test_every_dependency_is_pinned_as_tested() -> None:
    """Run .ci/pin in the environment of the tests if this fails."""
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    pins = pinned(ROOT / "constraints.txt")
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        if name != "conceptor":
            assert requirement.specifier.contains(pins.get(name, "0")), name


def test_extras_that_bring_torch_are_installed_with_the_pinned_release() -> None:
    """An open range would install CUDA libraries."""
    assert PLAIN_TORCH in (ROOT / "constraints.txt").read_text().splitlines()
    extras = PROJECT["optional-dependencies"]
    with_torch = {"torch>=", "sentence-transformers>="}
    for name in extras.keys() - {"test", "docs"}:
        brings_torch = any(line.startswith(tuple(with_torch)) for line in extras[name])
        assert (PLAIN_TORCH in str(MissingExtraError("this", name))) == brings_torch, name


def test_no_dependency_has_an_upper_bound() -> None:
    specifiers = [each for line in PROJECT["dependencies"] for each in Requirement(line).specifier]
    assert {each.operator for each in specifiers} == {">="}


def test_the_version_is_the_same_everywhere() -> None:
    assert f"version: {conceptor.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {conceptor.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_front_door() -> None:
    for name in conceptor.__all__:
        assert getattr(conceptor, name).__name__ == name
    assert set(conceptor.__all__) <= set(dir(conceptor))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = conceptor.Nothing
    assert sorted(conceptor._HOMES) == conceptor.__all__
    assert len(conceptor.__all__) == 18
