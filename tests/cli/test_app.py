"""The command line as a user meets it: a process, its streams, its exit code and its JSON."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from conceptor import __version__, write_vectors
from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.cli import COMMANDS
from conceptor.cli import app as application
from tests.platforms import posix_only
from tests.processes import assert_one_line, call, command, conceptor, start

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def test_version_and_help() -> None:
    assert call("--version").stdout == f"conceptor {__version__}\n"
    shown = call("--help", env=os.environ | {"COLUMNS": "80"})
    assert shown.returncode == 0
    assert "..." not in shown.stdout.partition("Commands:")[2]  # no description is cut
    places = [shown.stdout.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)


def test_help_is_short_and_the_rest_is_one_option_away() -> None:
    """Both fit 80 columns; metavars and paragraphs are whole."""
    narrow = os.environ | {"COLUMNS": "80"}
    short, whole = (call("compare", each, env=narrow).stdout for each in ("--help", "--help-all"))
    assert len(short.splitlines()) <= 60
    assert "--column" not in short
    assert "more options: conceptor compare --help-all" in short
    assert {"--column", "--methods"} <= set(whole.split())
    for shown in (short, whole):
        assert max(map(len, shown.splitlines())) <= 80
        assert "--weights uniform|zipf|wordfreq:LANG|FILE\n" in shown
        assert "compared on\n  your own" in shown


def test_a_call_within_this_process_shows_what_a_process_shows(tmp_path) -> None:
    """Other tests rely on it."""
    text, arguments = "é 1 2\nb 3 4\n", ("convert", "-", "-", "--format", "word2vec-text")
    process = conceptor(*arguments, said=text, cwd=tmp_path, encoding="utf-8")
    within = call(*arguments, said=text, cwd=tmp_path)
    assert within.returncode == process.returncode == 0
    assert re.sub(r" in .* s.*", "", within.stderr) == re.sub(r" in .* s.*", "", process.stderr)
    assert within.stdout == process.stdout


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InvalidInputError("row 3 of\n x is NaN"), 2, r"row 3 of\n x is NaN"),
        (ConceptorError("the work failed"), 1, "the work failed"),
        (MissingExtraError("drawing", "plots"), 1, "pip install 'conceptor[plots]'"),
        (OSError(errno.ENOSPC, "No space left on device", "out.bin"), 1, "out.bin: No space left"),
    ],
)
def test_failures_are_one_line_and_a_code(error, code, line, monkeypatch) -> None:
    def fail(prog_name: str) -> None:
        raise error

    call("--help")  # every module registers its commands with the application
    monkeypatch.setattr(application, "app", fail)
    assert_one_line(call(), line, code)
    with pytest.raises(type(error)):
        call("--debug")


@posix_only("sends signals")
def test_an_interrupt_while_modules_are_imported_ends_it_quietly(tmp_path) -> None:
    """A module in place of Typer, which is imported first, lets the interrupt come in time."""
    (tmp_path / "typer.py").write_text("print('here', flush=True)\nimport time\ntime.sleep(300)\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    process = start(
        command("--version"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == ""
    assert process.returncode == 130


def test_characters_that_the_output_cannot_hold_are_escaped(tmp_path) -> None:
    (tmp_path / "x.txt").write_text("é 1 2\nb 3 4\nc -1 0\n", encoding="utf-8")
    shown = conceptor(
        *("inspect", "x.txt"),
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        text=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert b"1 \\u2013 5" in shown.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("comp", {"compare"}),
        ("compare --on-e", {"--on-error"}),
        ("postprocess --dtype b", {"binary"}),
    ],
)
def test_the_shell_completes(line, expected) -> None:
    words = ["conceptor", *line.split()]
    environment = os.environ | {
        "_CONCEPTOR_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    shown = call(env=environment)
    assert set(shown.stdout.split()) == expected


def test_json_has_the_documented_form(bare_call, tmp_path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in rng.permutation(100)]
    for name in ("a.txt", "b.txt"):
        write_vectors(tmp_path / name, [(words, rng.normal(size=(100, 6)) + 1)])
    pairs = "".join(f"{words[i]}\t{words[i + 1]}\t{i % 7}\n" for i in range(99))
    (tmp_path / "own.tsv").write_text(pairs)
    np.save(tmp_path / "rows.npy", rng.normal(size=(120, 6)) + 1)
    numbers = "".join(f"{i}\t{i + 1}\t{i % 7}\n" for i in range(1, 120))
    (tmp_path / "numbers.tsv").write_text(numbers)
    labels = ("--pairs", "numbers.tsv", "--queries", "rows.npy", "--relevant", "numbers.tsv")
    own = ("--pairs", "own.tsv", "--resamples", 20, "--json")
    calls = {
        "evaluate": [("evaluate", "a.txt", *own), ("evaluate", "a.txt", "b.txt", *own)],
        "compare": [("compare", "a.txt", *own)],
        "inspect": [("inspect", "a.txt", "--json")],
        "compare-texts": [
            ("compare", "rows.npy", "--resamples", 20, "--json"),
            ("compare", "rows.npy", *labels, "--resamples", 20, "--json"),
        ],
        "neighbors": [
            ("neighbors", "a.txt", "w1", "w2", "--json"),
            ("neighbors", "rows.npy", "7", "--json"),
        ],
        "postprocess": [
            ("postprocess", "a.txt", "c.bin", "--json"),
            ("fit", "a.txt", "map.safetensors", "--json"),
            ("apply", "map.safetensors", "a.txt", "d.bin", "--json"),
            ("convert", "a.txt", "e.bin", "--json"),
        ],
        "data-list": [("data", "list", "--json")],
    }
    assert calls.keys() | {"reproduce"} == {path.stem for path in SCHEMAS.glob("*.json")}
    for name, of_schema in calls.items():
        schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        for arguments in of_schema:
            shown = bare_call(*arguments)
            assert shown.returncode == 0, shown.stderr
            jsonschema.validate(json.loads(shown.stdout), schema)
            with pytest.raises(jsonschema.ValidationError):  # the control
                jsonschema.validate("nothing", schema)
