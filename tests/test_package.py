from __future__ import annotations

import subprocess
import sys

import pytest

import conceptor

HEAVY = ["torch", "dask", "matplotlib", "gensim", "flask", "sklearn", "numba", "pyarrow", "pandas"]


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def loaded(statement: str) -> list[str]:
    return python(f"import sys; {statement}; print(*sys.modules)").split()


def test_importing_it_is_light() -> None:
    assert not set(HEAVY) & set(loaded("import conceptor"))
    assert not set(HEAVY) & set(loaded("from conceptor import LinearMap, Moments, Conceptor"))
    assert not set(HEAVY) & set(loaded("import conceptor.cli"))
    assert "sklearn" in loaded("from conceptor import ConceptorNegation")  # the control


def test_the_front_door() -> None:
    for name in conceptor.__all__:
        assert getattr(conceptor, name).__name__ == name
    assert set(conceptor.__all__) <= set(dir(conceptor))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = conceptor.Nothing
    assert sorted(conceptor._HOMES) == sorted(conceptor.__all__)


def test_docstring_examples() -> None:
    import doctest

    import conceptor.estimators

    result = doctest.testmod(conceptor.estimators)
    assert result.attempted > 0
    assert result.failed == 0
