"""A short run of benchmarks/fuzz_vectors.py, which documents the long one."""

from __future__ import annotations

import pytest

pytest.importorskip("resource")
pytest.importorskip("pyarrow")
fuzz = pytest.importorskip("fuzz_vectors", reason="benchmarks/ is not here")


def test_damaged_files_are_read_or_refused():
    fuzz.NAMES = [name for name in fuzz.NAMES if not name.endswith("/")]  # quick to make
    outcomes, failures = fuzz.run(first=0, count=2000)
    assert failures == []
    for name in fuzz.NAMES:
        assert outcomes[f"{name} refused"] > 0, "the damage must reach every reader"
    assert sum(n for outcome, n in outcomes.items() if outcome.endswith("read")) > 100
