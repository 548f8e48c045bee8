"""`train-ppmi` and `counterfit` on the command line: what they write, show and refuse."""

from __future__ import annotations

import gzip
import json
import os
from functools import partial

import numpy as np
import pytest

from conceptor.lexicon import CounterFitting
from conceptor.paper.ppmi import PPMIVectors
from conceptor.vectors import open_vectors, write_vectors
from tests import processes

DATA = os.environ.get("CONCEPTOR_DATA")
SENTENCES = [
    "the cat sat on the mat and the dog sat on the rug",
    "a cat and a dog ran to the house of the king",
    "the king and the queen sat in the house of the cat",
]


@pytest.fixture
def run(tmp_path):
    """Run conceptor as a process."""
    return partial(processes.conceptor, cwd=tmp_path)


@pytest.fixture
def call(tmp_path):
    """Call conceptor within this process."""
    return partial(processes.call, cwd=tmp_path)


def assert_refused(result, message: str) -> None:
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
    assert result.stderr.startswith("conceptor: ")
    assert result.stderr.count("\n") == 1


def test_vectors_are_trained_from_several_files_and_their_counts_are_weights(tmp_path, run, call):
    (tmp_path / "a.txt").write_text("\n".join(SENTENCES[:2]))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(SENTENCES[2].encode()))
    done = run(
        *("train-ppmi", "a.txt", "b.txt.gz", "vectors.bin", "--dimension", 4, "--min-count", 1),
        *("--window", 3, "--power", 1, "--counts", "counts.txt", "--json"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    words, X = open_vectors(tmp_path / "vectors.bin").read()
    trained = PPMIVectors(4, min_count=1, window=3, power=1).fit(SENTENCES)
    assert words == trained.words
    np.testing.assert_array_equal(X, trained.vectors())
    assert report["words"] == len(words)
    assert report["tokens"] == sum(len(sentence.split()) for sentence in SENTENCES)
    weighted = call("postprocess", "vectors.bin", "cn.txt", "--weights", "counts.txt")
    assert weighted.returncode == 0, weighted.stderr


def test_training_refuses_bad_input_and_leaves_nothing_behind(tmp_path, call):
    (tmp_path / "latin1.txt").write_bytes(b"un caf\xe9 noir\n" * 50)
    (tmp_path / "few.txt").write_text("one two three\n" * 20)
    for arguments, message in [
        (("latin1.txt", "v.bin"), "latin1.txt, byte 6: 0xe9 is not UTF-8"),
        (("few.txt", "v.bin"), "a vocabulary of more than 300 words; there are 3"),
        (("few.txt", "few.txt", "--force"), "few.txt: is the input"),
        (("few.txt", "v.bin", "--counts", "v.bin"), "would be written twice"),
    ]:
        assert_refused(call("train-ppmi", *arguments), message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.txt", "latin1.txt"]


@pytest.fixture
def vectors(tmp_path, rng):
    words = [f"w{i}" for i in range(50)]
    X = rng.standard_normal((50, 6)).astype(np.float32)
    write_vectors(tmp_path / "in.bin", [(words, X)])
    (tmp_path / "syn.txt").write_text("w1 w2\nen_w3 en_w4\n")
    (tmp_path / "ant.txt").write_text("w5 w6\n")
    return words, X


def test_counter_fitting_a_file(tmp_path, run, vectors):
    words, X = vectors
    done = run(
        *("counterfit", "in.bin", "out.bin", "--synonyms", "syn.txt"),
        *("--antonyms", "ant.txt", "--json"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    method = CounterFitting([("w1", "w2"), ("w3", "w4")], [("w5", "w6")]).fit((words, X))
    out_words, out = open_vectors(tmp_path / "out.bin").read()
    assert out_words == words
    np.testing.assert_array_equal(out, method.transform(words, X))
    changed = (out != X).any(axis=1)
    assert report["changed"] == np.count_nonzero(changed)
    assert 2 <= report["changed"] <= 6
    assert out[~changed].tobytes() == X[~changed].tobytes()


def test_retrofitting_a_file_to_standard_output(call, vectors):
    words, _ = vectors
    done = call("counterfit", "in.bin", "-", "--synonyms", "syn.txt", "--retrofit")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == words
    assert "50 words, 4 of them changed" in done.stderr


def test_counter_fitting_refuses_what_is_wrong(tmp_path, call, vectors):
    (tmp_path / "bad.txt").write_text("w1 w2\nw3\n")
    for arguments, message in [
        ((), "no lexicon was given"),
        (("--synonyms", "bad.txt"), "bad.txt, line 2: expected two words, found 'w3'"),
        (("--synonyms", "syn.txt", "--antonyms", "ant.txt", "--retrofit"), "does not apply"),
    ]:
        assert_refused(call("counterfit", "in.bin", "out.bin", *arguments), message)
    assert_refused(
        call("counterfit", "in.bin", "in.bin", "--synonyms", "syn.txt", "--force"), "is the input"
    )
    assert not (tmp_path / "out.bin").exists()


@pytest.mark.skipif(not DATA, reason="set CONCEPTOR_DATA to a directory with the benchmark files")
def test_table_two_is_filled_by_compare(tmp_path, call):
    (tmp_path / "other.txt").write_text("chat chien\n")
    vectors = f"{DATA}/vectors/googlenews-13k.bin"
    asked = ["compare", vectors, "--tasks", "similarity", "--resamples", 0, "--json"]
    done = call(*asked, "--methods", "original,counterfit,cn+counterfit")
    assert done.returncode == 0, done.stderr
    simlex = {
        method["name"]: next(r["score"] for r in method["results"] if r["dataset"] == "SimLex")
        for method in json.loads(done.stdout)["methods"]
    }
    assert list(simlex) == ["original", "counterfit", "cn+counterfit"]
    assert simlex["counterfit"] > simlex["original"] + 10
    assert simlex["cn+counterfit"] > simlex["original"] + 10
    wrong = call(*asked, "--methods", "counterfit-syn", "--synonyms", "other.txt")
    assert_refused(wrong, "no pair of the lexicon has non-zero vectors for both words")
