"""Closed streams, full devices, interrupts, memory and hostile names: one line, an exit code."""

from __future__ import annotations

import json
import os
import signal
import time

import numpy as np
import pytest

from conceptor.vectors import open_vectors, write_vectors
from tests.platforms import posix_only
from tests.processes import assert_one_line, call, command, execute, start
from tests.vectors.whole import read_all

ESCAPE = "\x1b]0;owned\x07\x9b31m\u202e"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("a 1 2\nb 3 4\nc 4 1\n")
    return path


def shell(arguments, redirections):
    """Run the command under a shell that closes or redirects its streams."""
    quoted = " ".join(f"'{part}'" for part in command(*arguments))
    return execute(["sh", "-c", f"{quoted} {redirections}"])


@posix_only("closes streams in a shell")
def test_closed_streams_do_no_harm_to_files(source, tmp_path):
    done = shell(["convert", source, tmp_path / "o.bin"], "<&- >&- 2>&-")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    _, rows = read_all(open_vectors(tmp_path / "o.bin"))
    assert rows.tolist() == [[1, 2], [3, 4], [4, 1]]
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "o.bin"]


@posix_only("closes streams in a shell")
def test_what_needs_a_closed_stream_fails_in_one_line(source, tmp_path):
    done = shell(["convert", "-", tmp_path / "o.txt"], "<&-")
    assert_one_line(done, "standard input is closed; name a file")
    for arguments, redirection in ((["convert", source, "-"], ">&-"), (["--help"], "> /dev/full")):
        done = shell(arguments, redirection)
        assert_one_line(done, "", code=1)


@pytest.mark.parametrize("place", ["file", "column", "tensor", "words"])
def test_names_from_files_do_not_command_the_terminal(place, tmp_path):
    path = tmp_path / "x"
    if place == "file":
        path = tmp_path / f"{ESCAPE}.txt"
        path.write_text("nothing of the kind")
    elif place == "column":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({ESCAPE: ["a"], "word": ["b"]}), path)
    elif place == "tensor":
        entry = {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 8]}
        header = json.dumps({ESCAPE: entry}).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    else:
        path.write_text(f"{ESCAPE} 1 nan\nb 1 2\n")
    done = call("convert", path, tmp_path / "o.txt")
    assert done.returncode == 2
    assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e")
    if place in ("file", "column"):
        assert r"\x1b" in done.stderr


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_words_from_files_do_not_command_the_terminal(option, tmp_path):
    words = ["a", r"\x1b\u202e", *(f"w{i}{ESCAPE}" for i in range(9))]
    vectors = np.random.default_rng(0).standard_normal((11, 3))
    write_vectors(tmp_path / "x.bin", [(words, vectors)])
    done = call("neighbors", tmp_path / "x.bin", "a", "--number", 10, *option)
    assert done.returncode == 0
    assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e")
    if option:
        found = json.loads(done.stdout)
        near = {one["word"] for by_word in found.values() for one in by_word["a"]}
        assert near == set(words[1:]), "JSON gives the words as they are"


@posix_only("sends signals")
@pytest.mark.slow
def test_an_interrupt_at_any_time_is_silent(tmp_path):
    rows = 60_000
    vectors = np.random.default_rng(0).standard_normal((rows, 50), dtype=np.float32) + 1
    write_vectors(tmp_path / "in.txt", [([f"w{i}" for i in range(rows)], vectors)])
    # Before this package's code runs, an interrupt is Python's to report.
    program = "from conceptor.__main__ import main; print('ready', flush=True); main()"
    arguments = ["postprocess", tmp_path / "in.txt", tmp_path / "o.txt", "--force"]
    for delay in np.linspace(0.01, 1.3, 10):
        with start(
            [*command()[:1], "-c", program, *arguments], stdout=-1, stderr=-1, text=True
        ) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
        assert process.returncode in (0, 130), errors
        assert process.returncode == 0 or not errors
        assert {name for name in os.listdir(tmp_path) if name.startswith(".")} == set()
