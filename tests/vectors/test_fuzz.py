"""A short run of benchmarks/fuzz_vectors.py, which documents the long one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_vectors.py"


@pytest.fixture(scope="module")
def fuzz():
    if not SCRIPT.exists():
        pytest.skip("the fuzzer is not part of the source distribution")
    pytest.importorskip("resource")
    pytest.importorskip("pyarrow")
    spec = importlib.util.spec_from_file_location("fuzz_vectors", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damaged_files_are_read_or_refused(fuzz):
    outcomes, failures = fuzz.run(first=0, count=2000)
    assert failures == []
    for name in fuzz.NAMES:
        assert outcomes[f"{name} refused"] > 0, "the damage must reach every reader"
    assert sum(n for outcome, n in outcomes.items() if outcome.endswith("read")) > 100
