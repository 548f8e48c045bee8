"""`conceptor dialogue` on the command line: its output and its exit code."""

from __future__ import annotations

import json
import os
from functools import partial

import numpy as np
import pytest

from conceptor.paper.dialogue.embedding import Embedding
from conceptor.paper.dialogue.options import TrackerOptions
from conceptor.paper.dialogue.saved import BeliefTracker
from conceptor.paper.dialogue.trials import Job, run_trial
from conceptor.vectors import write_vectors
from tests import processes
from tests.dialogues import MADE_CORPUS

DATA = os.environ.get("CONCEPTOR_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="set CONCEPTOR_DATA to a directory with the benchmark files"
)
SHORT = ("--epochs", 1, "--batch", 16, "--slots", "price range", "--workers", 1)


@pytest.fixture
def run(tmp_path):
    """Run it as a process."""
    return partial(processes.conceptor, "dialogue", cwd=tmp_path)


@pytest.fixture
def call(tmp_path):
    """Call it within this process."""
    return partial(processes.call, "dialogue", cwd=tmp_path)


@pytest.fixture
def vectors(tmp_path, rng):
    """A file with a quarter of the words of the made dialogues, and some more."""
    words = ["the", "cheap", "expensive", "moderate", "price", "range", "dont", "care"]
    words += [f"word{i}" for i in range(60)]
    path = tmp_path / "few.bin"
    write_vectors(path, [(words, rng.standard_normal((len(words), 6)).astype(np.float32))])
    return path


@needs_data
@pytest.mark.slow
def test_a_table_with_every_run_and_what_is_missing(call, vectors) -> None:
    shown = call(vectors, "--methods", "original,random", "--seeds", 2, *SHORT)
    assert shown.returncode == 0, shown.stderr
    for label in ("original (2)", "random (2)", "string match", "original, seed 1", "random, seed"):
        assert label in shown.stdout
    assert "49.4" in shown.stdout
    assert shown.stderr.startswith("conceptor: warning: the vectors cover 8 of 953 words, ")
    assert shown.stderr.count("\n") == 1


@needs_data
@pytest.mark.slow
def test_json_saved_trackers_and_curves(run, call, vectors, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    methods = ("--methods", "original,cn", "--seeds", 1)
    files = ("--save", "saved", "--plot", "curves.svg", "-o", "found.json")
    shown = run(vectors, *methods, *SHORT, *files, "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["string match"]["price range"]["total"] == 1115
    assert [method["name"] for method in found["methods"]] == ["original", "cn"]
    (only,) = found["methods"][1]["runs"]
    assert only["seed"] == 0
    assert len(only["curves"]["price range"]) == 1
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")
    again = call(vectors, *methods, *SHORT, "--json")
    for one, other in zip(found["methods"], json.loads(again.stdout)["methods"], strict=True):
        assert one["mean"] == other["mean"]
        assert one["runs"][0]["curves"] == other["runs"][0]["curves"]
    said = call("--interactive", "--load", "saved/cn/0", said="cheap\n")
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("  price range ")


def test_a_conversation(run, tmp_path) -> None:
    embedding = Embedding.random(10, 1)
    options = TrackerOptions(epochs=12, batch=64, batches=20, rate=0.01)
    weights = {
        slot: run_trial(MADE_CORPUS, Job("x", 0, slot, embedding), options)[1]
        for slot in ("price range", "area")
    }
    tracker = BeliefTracker.from_parts(embedding, MADE_CORPUS.values, weights, options, {})
    tracker.save(tmp_path / "tracker")
    lines = [
        "something cheap please",
        "",
        "system: wine",
        "system: area, food=thai",
        "in the north",
    ]
    shown = run(
        "--interactive", "--load", "tracker", said="\n".join([*lines, "new", "hello there"])
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == "conceptor: not a system act; name a slot: food, price range, area\n"
    states = [line.split("(")[0].split() for line in shown.stdout.splitlines()]
    assert states == [
        ["price", "range", "cheap"],
        ["area", "—"],
        ["price", "range", "cheap"],
        ["area", "north"],
        ["price", "range", "—"],
        ["area", "—"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slots", "wine"], "unknown slot 'wine'; choose from food, price range, area"),
        (["--methods", "magic"], "unknown method 'magic'"),
        (["--update", "none"], "--update is 'none'; it must be one of constrained, full, alpha"),
        (["--confirm", "no"], "--confirm is 'no'; it must be one of working, inert"),
        (["--start", "zero"], "--start is 'zero'; it must be one of scaled, original"),
        (["--rate", "2"], "rate is 2.0; it must be"),
        (["--json", "--markdown"], "one output format"),
        (["--load", "."], "--load is only for --interactive"),
        (["--interactive", "--load", "."], "no saved tracker"),
        (["--interactive", "--methods", "cn,abtt"], "one method"),
        (["--plot", "curves.gif3"], "svg, pdf or png"),
        (["missing.bin"], "missing.bin"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call, arguments, message) -> None:
    shown = call(*arguments)
    assert shown.returncode != 0
    assert message in shown.stderr
    assert shown.stderr.startswith("conceptor: ")
    assert shown.stderr.count("\n") == 1


def test_vectors_without_a_word_of_the_dialogues(call, tmp_path) -> None:
    if not DATA:
        pytest.skip("needs the dialogues")
    write_vectors(tmp_path / "v.bin", [(["zzz", "yyy"], np.eye(2, dtype=np.float32))])
    shown = call("v.bin", "--methods", "original", *SHORT)
    assert shown.returncode == 2
    assert shown.stderr == (
        "conceptor: the vectors contain none of the dialogues' words; check that they are English\n"
    )


def test_help_shows_how(call) -> None:
    shown = call("--help")
    assert shown.returncode == 0
    assert "conceptor dialogue --interactive --load" in " ".join(shown.stdout.split())
