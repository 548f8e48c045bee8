"""The commands as real processes: what they do, what they refuse, and what a crash leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from conceptor import AffineMap
from conceptor.vectors import open_vectors, write_vectors
from tests.platforms import linux_only, posix_only
from tests.processes import call, command, conceptor, execute, start
from tests.terminal import on_a_terminal
from tests.vectors.whole import read_all

WORDS = [f"w{i}" for i in range(200)]
VECTORS = np.random.default_rng(0).standard_normal((200, 8)).astype(np.float32) + 0.5


def rows_of(path):
    return read_all(open_vectors(path))[1]


def words_of(path):
    return read_all(open_vectors(path))[0]


@pytest.fixture
def folder(tmp_path):
    write_vectors(tmp_path / "in.txt", [(WORDS, VECTORS)])
    return tmp_path


def test_postprocess_fit_apply_and_convert_agree(folder):
    run = conceptor("postprocess", "in.txt", "out.bin", "--save-map", "map.safetensors", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert "200 words × 8 in " in run.stderr
    assert "of the variance removed, quota 0." in run.stderr
    assert call("fit", "in.txt", "again.safetensors", cwd=folder).returncode == 0
    one, two = (AffineMap.load(folder / name) for name in ("map.safetensors", "again.safetensors"))
    np.testing.assert_allclose(one.matrix, two.matrix, atol=1e-12)
    run = call("apply", "map.safetensors", "in.txt", "applied.parquet", cwd=folder)
    assert run.returncode == 0, run.stderr
    run = call("convert", "applied.parquet", "converted.vec.gz", "--json", cwd=folder)
    assert json.loads(run.stdout)["words"] == 200
    expected = rows_of(folder / "out.bin")
    for name in ("applied.parquet", "converted.vec.gz"):
        assert (rows_of(folder / name) == expected).all()
    np.testing.assert_allclose(expected, one.map_words(WORDS, VECTORS), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "abtt:n_directions=2"],
        ["--method", "ew:power=0.25"],
        ["--method", "zipf-whitening", "--weights", "zipf"],
        ["--method", "pvn"],
        ["--method", "hsr", "--function-words", "words.txt"],
        ["--aperture", "0.5", "--vocabulary", "top:50", "--memory", "1MB"],
        ["--weights", "counts.txt", "--dtype", "float16", "--format", "npy"],
    ],
)
def test_every_method_and_option(options, folder):
    (folder / "words.txt").write_text("w1\nw2\nw3\n")
    (folder / "counts.txt").write_text("w1 5\nw2 3\nw9 1\n")
    run = call("postprocess", "in.txt", "out.npy", "--json", *options, cwd=folder)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert (report["words"], report["dimension"]) == (200, 8)
    assert np.isfinite(rows_of(folder / "out.npy")).all()


def test_pipes(folder):
    text = (folder / "in.txt").read_text()
    run = conceptor("convert", "-", "-", said=text)
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
def test_progress_on_a_terminal(folder):
    """Both passes with rate and time left, and the closing line alone at the end."""
    code, text = on_a_terminal(command("postprocess", folder / "in.txt", folder / "o.txt"))
    assert code == 0
    assert "reading" in text
    assert "writing" in text
    assert "words/s" in text
    assert "200 words × 8 in" in text


def test_warnings_name_duplicates_and_skipped_rows(folder):
    (folder / "bad.txt").write_text("a 1 2\nb 3\na 5 6\nc 7 8\n")
    run = call("convert", "bad.txt", "out.bin", "--on-error", "skip", cwd=folder)
    assert run.returncode == 0
    errors = run.stderr
    assert "warning: 1 duplicate words dropped" in errors
    assert "warning: 1 bad rows skipped, the first: bad.txt, line 2" in errors
    assert words_of(folder / "out.bin") == ["a", "c"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["convert", "missing.txt", "o.bin"], 2, "missing.txt: no such file"),
        (["convert", ".", "o.bin"], 2, "is a directory"),
        (["convert", "in.txt", "in.txt", "--force"], 2, "is the input"),
        (["convert", "in.txt", "old.txt"], 2, "exists; use --force"),
        (["convert", "in.txt", "nowhere/o.txt"], 2, "does not exist"),
        pytest.param(
            *(["convert", "in.txt", "/dev/null"], 2, "not a regular file"),
            marks=posix_only("has devices"),
        ),
        (["convert", "in.txt", "o.xyz", "--format", "word"], 2, "unknown format 'word'"),
        (["convert", "in.txt", "o.npy", "--format", "parquet", "--dtype", "float64"], 2, "float64"),
        (["convert", "in.txt", "o.bin", "--dtype", "float16"], 2, "stores only float32"),
        (["convert", "in.txt", "-", "--format", "npy"], 2, "only text formats"),
        (["convert", "in.txt", "-", "--json"], 2, "standard output"),
        (["convert", "spaces.txt", "o.bin"], 2, "'new york' contains a space"),
        (["convert", "nan.txt", "o.bin"], 2, "nan.txt, line 2"),
        (["convert", "garbage", "o.bin"], 2, "not a known vector format"),
        (
            ["postprocess", "in.txt", "o.bin", "--method", "pvn", "--aperture", "2"],
            2,
            "no parameter",
        ),
        (["postprocess", "in.txt", "o.bin", "--method", "hsr"], 2, "stop words"),
        (["postprocess", "in.txt", "o.bin", "--aperture", "-1"], 2, "aperture"),
        (["postprocess", "in.txt", "o.bin", "--memory", "lots"], 2, "--memory"),
        (["postprocess", "in.txt", "o.bin", "--weights", "nofile"], 2, "nofile"),
        (["postprocess", "in.txt", "o.bin", "--method", "magic"], 2, "magic"),
        (["postprocess", "in.txt", "o.bin", "--vocabulary", "nofile"], 2, "and not top:N"),
        (["postprocess", "in.txt", "o.bin", "--save-map", "o.bin"], 2, "written twice"),
        (["postprocess", "in.txt", "o.npy", "--save-map", "o.words.txt"], 2, "hold both"),
        (["postprocess", "in.txt", "old.txt", "--weights", "old.txt", "--force"], 2, "the input"),
        (
            ["postprocess", "in.txt", "o.bin", "--method", "ew:power=1000"],
            2,
            "overflows float64",
        ),
        (
            ["postprocess", "in.txt", "o.bin", "--workers", "1"],
            2,
            "shards are written to a directory",
        ),
        (["apply", "missing", "in.txt", "o.bin"], 2, "missing: no such file"),
        (["apply", "map.safetensors", "in.txt", "map.safetensors", "--force"], 2, "is the input"),
        (["apply", "in.txt", "in.txt", "o.bin"], 2, "in.txt"),
        (["apply", "map.safetensors", "in.txt", "o.bin"], 2, "3-dimensional"),
    ],
)
def test_wrong_calls_end_in_one_line(arguments, code, message, folder):
    (folder / "old.txt").write_text("precious")
    (folder / "spaces.txt").write_text("new york 1 2\nb 3 4\n")
    (folder / "nan.txt").write_text("a 1 2\nb nan 4\n")
    (folder / "garbage").write_bytes(bytes(range(256)) * 10)
    AffineMap(np.eye(3)).save(folder / "map.safetensors")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run = call(*arguments, cwd=folder)
    errors = run.stderr
    assert run.returncode == code, errors
    assert message in errors
    assert "Traceback" not in errors
    if errors.startswith("conceptor: "):
        assert errors.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_unknown_extension_keeps_the_format(folder):
    for name in ("o.csv", "o.txt", "plain"):
        run = call("convert", "in.txt", name, cwd=folder)
        assert run.returncode == 0, run.stderr
        assert words_of(folder / name) == WORDS


def test_an_infinite_aperture_removes_everything_and_its_json_is_standard(folder):
    run = call("postprocess", "in.txt", "o.bin", "--aperture", "inf", "--json", cwd=folder)
    assert "removed all the variance" in run.stderr
    assert json.loads(run.stdout)["aperture"] is None
    assert "Infinity" not in run.stdout


@posix_only("has a umask")
def test_new_files_follow_the_umask(folder):
    run = conceptor("convert", "in.txt", "o.bin", cwd=folder, umask=0o027)
    assert run.returncode == 0
    assert (folder / "o.bin").stat().st_mode & 0o777 == 0o640


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Large enough to be killed while it is written."""
    path = tmp_path_factory.mktemp("large") / "in.bin"
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(60_000)]
    write_vectors(path, [(words, rng.standard_normal((60_000, 200), dtype=np.float32))])
    return path


@posix_only("sends signals")
@pytest.mark.parametrize(
    ("name", "signal_name"),
    [
        ("out.txt.gz", "SIGKILL"),
        ("out.npy", "SIGTERM"),
        ("out.bin", "SIGINT"),
    ],
)
def test_killed_at_random_moments(name, signal_name, large, tmp_path):
    """The target's name shows the old file or the whole new one, the input stays as it is."""
    how = signal.Signals[signal_name]
    before = large.read_bytes()
    random_moments = random.Random(name + signal_name)
    for attempt in range(2):
        target = tmp_path / name
        target.write_bytes(b"old")
        process = start(
            command("postprocess", large, target, "--force"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if attempt % 2:  # in the midst of writing
            while process.poll() is None and not list(tmp_path.glob(".*.partial")):
                time.sleep(0.002)
            time.sleep(random_moments.random() * 0.2)
        else:
            time.sleep(random_moments.random() * 1.5)
        process.send_signal(how)
        errors = process.communicate()[1]
        if target.read_bytes() != b"old":
            assert len(words_of(target)) == 60_000
        if how != signal.SIGKILL and attempt % 2:
            assert "Traceback" not in errors, errors
            assert list(tmp_path.glob(".*.partial")) == []
        for partial in tmp_path.iterdir():
            partial.unlink()
    assert large.read_bytes() == before


@posix_only("limits the size of files")
@pytest.mark.parametrize("name", ["out.bin", "out.txt.gz", "out.parquet"])
def test_a_full_disk_leaves_nothing(name, large, tmp_path):
    limited = (
        "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000));"
        "runpy.run_module('conceptor', run_name='__main__', alter_sys=True)"
    )
    run = execute([sys.executable, "-c", limited, "postprocess", large, tmp_path / name, "--paper"])
    assert run.returncode == 1, run.stderr
    assert run.stderr.count("\n") == 1
    assert "Traceback" not in run.stderr
    assert list(tmp_path.iterdir()) == []


@linux_only("mounts a small file system")
def test_a_really_full_disk_leaves_nothing(large, tmp_path):
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        run = conceptor("postprocess", large, disk / "out.feather", "--paper")
        assert run.returncode == 1, run.stderr
        assert "No space left on device" in run.stderr
        assert run.stderr.count("\n") == 1
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


@linux_only("writes to /dev/full")
def test_standard_output_that_is_full_or_closed(folder):
    with open("/dev/full", "wb") as full:
        run = conceptor("convert", folder / "in.txt", "-", stdout=full)
    assert run.returncode == 1
    assert "No space left" in run.stderr
    assert "Traceback" not in run.stderr
