"""Every script of benchmarks/ can be imported: none uses a name that is gone."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_can_be_imported(path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(path.parent)  # scripts import each other
    name = f"benchmark_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # data classes look up their module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package == "conceptor" or (path.parent / f"{package}.py").exists():
            raise
        pytest.skip(f"{path.name} needs {package}")
    assert module.__doc__
