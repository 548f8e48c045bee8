"""How often a file is decoded: reading is what large files cost."""

from __future__ import annotations

import weakref
from itertools import pairwise

import numpy as np
import pytest

import conceptor
from conceptor import compare, evaluate, most_similar, open_vectors, write_vectors
from conceptor.evaluation import Battery
from conceptor.evaluation.neighbours import SynonymRecall
from conceptor.vectors import chunks
from conceptor.vectors.source import VectorSource
from conceptor.vectors.table import WordVectors
from tests.test_doors import zipf_words

METHODS = ["original", "cn-paper", "abtt", "cn"]


@pytest.fixture
def file(tmp_path):
    words = zipf_words(2400)
    rows = np.random.default_rng(0).standard_normal((2400, 6)) + 1
    write_vectors(tmp_path / "in.txt", [(words, rows)])
    return words, tmp_path / "in.txt"


@pytest.fixture
def decodes(monkeypatch):
    """Passes over the file that were begun."""
    begun = []
    decode = VectorSource.chunks

    def counted(self):
        begun.append(self.path)
        return decode(self)

    monkeypatch.setattr(VectorSource, "chunks", counted)
    return begun


@pytest.fixture
def battery(file):
    words, _ = file
    pairs = {a: frozenset([b]) for a, b in pairwise(words[:41])}
    return Battery([SynonymRecall("toy", pairs)])


@pytest.mark.parametrize(("budget", "most"), [(1 << 30, 1), (0, 2)])
def test_compare(file, battery, decodes, monkeypatch, budget, most):
    monkeypatch.setattr(chunks, "memory_bytes", lambda: 4 * budget)
    found = compare(file[1], METHODS, battery, examples=3, resamples=0)
    assert list(found.examples) == ["original", "cn"]
    assert len(decodes) == most


@pytest.mark.parametrize(("budget", "most"), [(1 << 30, 1), (0, 2)])
def test_evaluate_and_most_similar(file, battery, decodes, monkeypatch, budget, most):
    monkeypatch.setattr(chunks, "memory_bytes", lambda: 4 * budget)
    evaluate(file[1], battery)
    assert len(decodes) == most
    most_similar(file[1], file[0][:3], METHODS)
    assert len(decodes) == 2 * most


@pytest.mark.parametrize(("budget", "most"), [(1 << 30, 1), (0, 2)])
def test_postprocess(file, decodes, tmp_path, budget, most):
    conceptor.postprocess(file[1], tmp_path / "out.bin", memory=budget)
    assert len(decodes) == most
    assert len(open_vectors(tmp_path / "out.bin").words) == 2400


class Parts(chunks.WrappedVectors):
    """Rows in ten chunks of which only weak references remain here."""

    worth_keeping = True

    def __init__(self, table):
        super().__init__(table)
        self.given = []

    def chunks(self):
        for self.done in range(1, 11):
            rows = np.ones((100, 6), dtype=np.float32)
            self.given.append(weakref.ref(rows))
            yield [f"{self.done}-{i}" for i in range(100)], rows

    def fraction_read(self):
        return self.done / 10


@pytest.mark.parametrize(("chunks_that_fit", "held"), [(4, 0), (8, 7), (10, 9)])
def test_chunks_are_kept_only_if_all_may_fit(chunks_that_fit, held):
    """Otherwise half of them would be held, and then dropped because the others do not fit."""
    parts = Parts(WordVectors(["a"], np.ones((1, 6), dtype=np.float32)))
    kept = chunks.KeptVectors(parts, chunks_that_fit * 100 * 6 * 4)
    most = 0
    for _, rows in kept.chunks():
        del rows
        most = max(most, sum(each() is not None for each in parts.given[:-1]))
    assert most == held
    assert len(list(kept.chunks())) == 10
    assert len(parts.given) == (10 if chunks_that_fit == 10 else 20)
