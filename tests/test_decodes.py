"""How often a file is decoded: reading is what large files cost."""

from __future__ import annotations

import weakref
from itertools import pairwise

import numpy as np
import pytest

from conceptor import compare, most_similar, open_vectors, postprocess, write_vectors
from conceptor.evaluation.battery import Battery
from conceptor.evaluation.word_tasks import SynonymRecall
from conceptor.vectors import vectors as module
from conceptor.vectors.formats import text
from conceptor.vectors.vectors import Rows, Vectors, keep
from tests.vectors.whole import read_all

METHODS = ["original", "cn-paper", "abtt", "cn"]
BUDGETS = pytest.mark.parametrize(("budget", "most"), [(1 << 30, 1), (0, 2)])


@pytest.fixture
def file(tmp_path):
    words = [f"w{i}" for i in range(2400)]
    rows = np.random.default_rng(0).standard_normal((2400, 6)) + 1
    write_vectors(tmp_path / "in.txt", [(words, rows)])
    return words, tmp_path / "in.txt"


@pytest.fixture
def passes(monkeypatch):
    """Whole passes over the file; a look at the first words is none."""
    done = []
    read = text._read

    def counted(*arguments):
        yield from read(*arguments)
        done.append(1)

    monkeypatch.setattr(text, "_read", counted)
    return done


@pytest.fixture
def battery(file):
    words, _ = file
    pairs = {a: frozenset([b]) for a, b in pairwise(words[:41])}
    return Battery([SynonymRecall("toy", pairs)])


@BUDGETS
def test_compare(file, battery, passes, monkeypatch, budget, most):
    monkeypatch.setattr(module, "memory_bytes", lambda: 4 * budget)
    compare(file[1], METHODS, battery, examples=3, resamples=0)
    assert len(passes) == most


def test_neighbors(file, passes):
    most_similar(file[1], file[0][:3], ["original", "cn-paper", "cn"])
    assert len(passes) == 1


@BUDGETS
def test_postprocess(file, passes, tmp_path, budget, most):
    postprocess(file[1], tmp_path / "out.bin", memory=budget)
    assert len(passes) == most
    assert len(read_all(open_vectors(tmp_path / "out.bin"))[0]) == 2400


@pytest.mark.parametrize(("chunks_that_fit", "held"), [(0, 0), (4, 3), (10, 9)])
def test_chunks_are_kept_only_if_all_fit(chunks_that_fit, held):
    """Those before the one that does not fit are given back at once."""
    made = []

    def read():
        for i in range(10):
            rows = np.ones((100, 6), dtype=np.float32)
            made.append(weakref.ref(rows))
            yield Rows([f"{i}-{j}" for j in range(100)], rows)

    size = chunks_that_fit * 100 * (6 * 4 + 100)
    vectors = keep(Vectors("rows", 6, read, costly=True), size)
    most = 0
    for _, rows in vectors.chunks():
        del rows
        most = max(most, sum(each() is not None for each in made[:-1]))
    assert most == held
    assert len(list(vectors.chunks())) == 10
    assert len(made) == (10 if chunks_that_fit == 10 else 20)
