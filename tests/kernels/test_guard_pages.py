"""The compiled loops touch nothing beyond the arrays they are given."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.platforms import linux_only
from tests.processes import execute

ROOT = Path(__file__).parents[2]
LOOPS = {
    "add_rows", "count_pairs", "fill_table", "find_tokens", "first_beyond", "format_rows",
    "gather_words", "hash_ngrams", "hash_words", "insert_hashes", "join_binary", "move_pairs",
    "number_tokens", "parse_rows", "scan_binary",
}  # fmt: skip


@linux_only("protects pages of memory")
def test_no_loop_leaves_its_arrays():
    done = execute([sys.executable, "-m", "tests.kernels.guarded", 1, 80], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == LOOPS, "every loop was called"


@linux_only("protects pages of memory")
def test_a_loop_that_leaves_its_arrays_is_seen():
    """The negative control: a word that ends one byte too late."""
    program = (
        "import numpy as np\n"
        "from tests.kernels import guarded\n"
        "from conceptor.kernels import gather_words\n"
        "guarded.install()\n"
        "starts, ends = np.array([0]), np.array([6])\n"
        "text, blob = np.zeros(5, np.uint8), np.zeros(6, np.uint8)\n"
        "gather_words(text, starts, ends, blob, np.array([0, 0]))\n"
    )
    done = execute([sys.executable, "-c", program], cwd=ROOT)
    assert done.returncode == -signal.SIGSEGV
