"""Too little memory ends in one line, with nothing written and the old target as it was."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from conceptor.vectors import write_vectors
from tests.platforms import linux_only
from tests.processes import execute

# Limits the address space once everything is imported, so that work runs out of it.
SCRIPT = """
import resource, sys
from conceptor.cli.app import main
import conceptor.cli.files, conceptor.postprocessing
import numpy as np
import pyarrow.parquet
np.linalg.eigh(np.eye(300))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
main()
"""


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")
@linux_only("limits the address space")
@pytest.mark.parametrize("name", ["out.bin", "out.npy", "out.parquet"])
@pytest.mark.parametrize("megabytes", [1, 20, 80, 400])
def test_what_runs_out_of_memory_says_so(name, megabytes, tmp_path):
    rows = np.random.default_rng(0).standard_normal((60_000, 100), dtype=np.float32) + 0.3
    write_vectors(tmp_path / "in.bin", [([f"w{i}" for i in range(60_000)], rows)])
    write_vectors(tmp_path / name, [(["old"], np.ones((1, 3)))])
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    command = [sys.executable, "-c", SCRIPT, megabytes << 20, "postprocess", "in.bin", name]
    done = execute([*command, "--force", "--weights", "zipf"], cwd=tmp_path)
    if done.returncode == 0:
        return
    assert "Traceback" not in done.stderr
    # OpenBLAS and Arrow may end the process themselves when an allocation fails.
    is_ended_by_library = done.returncode < 0 or "OpenBLAS" in done.stderr
    if not is_ended_by_library:
        assert done.returncode == 1, done.stderr
        assert "memory" in done.stderr.lower(), done.stderr
    left = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    if is_ended_by_library:
        left = {each: content for each, content in left.items() if not each.endswith(".partial")}
    assert left == before
