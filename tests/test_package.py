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

HEAVY = ["torch", "dask", "matplotlib", "gensim", "sklearn", "polars", "pyarrow", "pandas"]


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_importing_it_is_light() -> None:
    light = "import conceptor.cli; from conceptor import AffineMap, Moments, Conceptor"
    control = "from conceptor import ConceptorNegation"
    code = f"import sys; {light}; print(*sys.modules); {control}; print('sklearn' in sys.modules)"
    modules, is_heavy = python(code).splitlines()
    assert not set(HEAVY) & set(modules.split())
    assert is_heavy == "True"


LEFT_OUT = {"scipy", "sklearn", "pandas", "pyarrow", "pooch", "torch", "dask"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["postprocess", "in.txt", "out.bin"],
        ["apply", "map.safetensors", "in.txt", "out.bin"],
        ["inspect", "in.txt"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_everyday_commands_import_nothing_heavy(arguments, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    conceptor.write_vectors("in.txt", [(words, rng.standard_normal((300, 8)))])
    conceptor.AffineMap(np.eye(8)).save("map.safetensors")
    code = f"""
import sys
from conceptor.__main__ import main
sys.argv = ["conceptor", *{arguments}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("", *sys.modules, sep=chr(10))
"""
    modules = python(code).split(chr(10))
    assert "conceptor.vectors.files" in modules  # the control
    assert not LEFT_OUT & {name.split(".")[0] for name in modules}
    assert "conceptor.evaluation" not in modules


def pinned(path: Path) -> dict[str, str]:
    """Versions by name."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if "//" in line or "@" in line]
    pins = [Requirement(line) for line in lines if "==" in line]
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}


def test_every_dependency_is_pinned_as_tested() -> None:
    """Run .ci/pin in the environment of the tests if this fails."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    pins = pinned(root / "constraints.txt")
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        if name != "conceptor":
            assert requirement.specifier.contains(pins.get(name, "0")), name


def test_no_dependency_has_an_upper_bound() -> None:
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    operators = {
        each.operator for line in project["dependencies"] for each in Requirement(line).specifier
    }
    assert operators == {">="}


def test_the_version_is_the_same_everywhere() -> None:
    root = Path(__file__).parents[1]
    assert f"version: {conceptor.__version__}\n" in (root / "CITATION.cff").read_text()
    assert f"## {conceptor.__version__}" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_front_door() -> None:
    for name in conceptor.__all__:
        assert getattr(conceptor, name).__name__ == name
    assert set(conceptor.__all__) <= set(dir(conceptor))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = conceptor.Nothing
    assert sorted(conceptor._HOMES) == conceptor.__all__
    assert len(conceptor.__all__) == 20
