"""`reproduce`, `reproduce ppmi` and `reproduce dialogue` on the command line."""

from __future__ import annotations

import gzip
import json
import os
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from conceptor.data import registry
from conceptor.paper import reproduction
from conceptor.paper.ppmi import cooccurrence, ppmi, truncated_svd, weight_eigenvalues
from conceptor.vectors.files import open_vectors
from conceptor.vectors.target import write_vectors
from tests import processes
from tests.processes import assert_one_line

SENTENCES = [
    "the cat sat on the mat and the dog sat on the rug",
    "a cat and a dog ran to the house of the king",
    "the king and the queen sat in the house of the cat",
]


@pytest.fixture
def call(tmp_path):
    """Call it within this process."""
    return partial(processes.call, "reproduce", cwd=tmp_path)


@pytest.fixture
def vectors(tmp_path, rng):
    """A file with a few words of the dialogues, and some more."""
    words = ["the", "cheap", "expensive", "moderate", "price", "range", "dont", "care"]
    words += [f"word{i}" for i in range(60)]
    path = tmp_path / "few.bin"
    write_vectors(path, [(words, rng.standard_normal((len(words), 6)).astype(np.float32))])
    return path


@pytest.mark.slow
def test_every_cell_is_printed_and_the_figure_drawn(call, data, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(
        reproduction, "SUPERVISED", {"counterfit": reproduction.SUPERVISED["counterfit"]}
    )
    vectors = Path(data, "vectors/googlenews-13k.bin")
    shown = call("--word2vec", vectors, "--data", data, "--figure", "g.svg")
    assert shown.returncode == 0, shown.stderr
    # Of the paper, word2vec with CN on MEN.
    assert re.search(r"cn-paper +78\.67 +\d+\.\d\d +[+−]\d+\.\d\d +804/3000 †", shown.stdout)
    cells = re.findall(
        r"^.* (?:original|abtt|cn-paper|counterfit[-a-z]*) +\d+\.\d\d +", shown.stdout, re.M
    )
    assert len(cells) == 3 * (7 + 5 + 20 + 3 + 4) + 4
    assert re.search(r"Food +original +48\.60 +— +— +0/0", shown.stdout)
    assert "word2vec: not the paper's file (13,013 words × 300 instead of" in shown.stdout
    assert (tmp_path / "g.svg").read_text().startswith("<?xml")


def test_offline_it_runs_on_what_is_found(call, vectors, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("gensim")  # has two of the benchmarks
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(registry, "cache_directory", lambda: tmp_path / "cache")
    arguments = ("--offline", "--data", "data", "--figure", "g.svg")
    shown = call("--glove", vectors, *arguments)
    assert shown.returncode == 0, shown.stderr
    assert "fitted on other words than the paper's: vocabulary/enwiki_vocab" in shown.stdout
    assert (tmp_path / "g.svg").exists()
    monkeypatch.setattr(reproduction, "available_vectors", lambda **_: ({}, {}))
    assert_one_line(call(*arguments), "no vectors were found", code=1)


def test_bad_calls_are_refused_before_the_work(call, vectors, tmp_path):
    whole = vectors.read_bytes()
    for arguments, message in [
        (["-o", "no/such/place.svg"], "no/such does not exist"),
        (["--figure", tmp_path], "is a directory"),
        (["-o", vectors], "is the input"),
        (["--figure", "x.gif3"], "svg, pdf or png"),
    ]:
        assert_one_line(call("--glove", vectors, *arguments), message)
    assert vectors.read_bytes() == whole


def test_vectors_are_trained_from_several_files_and_their_counts_are_weights(tmp_path, call):
    (tmp_path / "a.txt").write_text("\n".join(SENTENCES[:2]))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(SENTENCES[2].encode()))
    shown = call(
        *("ppmi", "a.txt", "b.txt.gz", "vectors.bin", "--dimension", 4, "--min-count", 1),
        *("--window", 3, "--power", 1, "--counts", "counts.txt", "--json"),
    )
    assert shown.returncode == 0, shown.stderr
    report = json.loads(shown.stdout)
    counted = cooccurrence(SENTENCES, min_count=1, window=3)
    ((words, X),) = open_vectors(tmp_path / "vectors.bin").chunks()
    assert list(words) == counted.words
    expected = weight_eigenvalues(*truncated_svd(ppmi(counted), 4), power=1)
    np.testing.assert_array_equal(X, expected)
    assert report["words"] == len(words)
    assert report["tokens"] == sum(len(sentence.split()) for sentence in SENTENCES)
    weights = ("--weights", "counts.txt")
    weighted = processes.call("postprocess", "vectors.bin", "cn.txt", *weights, cwd=tmp_path)
    assert weighted.returncode == 0, weighted.stderr


def test_training_refuses_bad_input_and_leaves_nothing_behind(tmp_path, call):
    (tmp_path / "latin1.txt").write_bytes(b"un caf\xe9 noir\n" * 50)
    (tmp_path / "few.txt").write_text("one two three\n" * 20)
    (tmp_path / "empty.txt").write_text("\n \n")
    for arguments, message in [
        (("latin1.txt", "v.bin"), "latin1.txt, byte 6: 0xe9 is not UTF-8 text"),
        (("few.txt", "v.bin"), "a vocabulary of more than 300 words; there are 3"),
        (("few.txt", "few.txt", "--force"), "few.txt: is the input"),
        (("few.txt", "v.bin", "--counts", "few.txt", "--force"), "few.txt: is the input"),
        (("empty.txt", "v.bin"), "the corpus is empty"),
    ]:
        assert_one_line(call("ppmi", *arguments), message)
    assert sorted(os.listdir(tmp_path)) == ["empty.txt", "few.txt", "latin1.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slots", "wine"], "unknown slot 'wine'; choose from food, price range, area"),
        (["--methods", "magic"], "unknown method 'magic'"),
        (["missing.bin"], "missing.bin"),
    ],
)
def test_a_wrong_study_is_refused_in_one_line(call, data, vectors, arguments, message) -> None:
    pytest.importorskip("torch")
    source = [] if arguments[0].endswith(".bin") else [vectors]
    assert_one_line(call("dialogue", *source, *arguments), message)
