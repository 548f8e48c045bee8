"""doctor, the manual page, completion in the shell, and the documented forms of JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from conceptor import __version__, write_vectors
from conceptor.cli import COMMANDS
from conceptor.cli.system import describe_commands, man_page
from conceptor.data import installation
from tests import processes
from tests.platforms import posix_only

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture
def call(tmp_path):
    def call(*arguments: object):
        bare = processes.bare_machine(tmp_path / "cache")
        return processes.call(*arguments, cwd=tmp_path, env=bare)

    return call


def test_doctor_tells_what_is_installed(call) -> None:
    shown = call("doctor")
    assert shown.returncode == 0, shown.stderr
    assert __version__ in shown.stdout
    assert np.__version__ in shown.stdout
    assert shown.stdout.endswith("No problems found.\n")
    found = json.loads(call("doctor", "--json").stdout)
    assert found["packages"]["numpy"] == np.__version__
    assert found["data"]["sts"] == [0, 6]
    assert found["problems"] == []


def test_doctor_tells_what_is_wrong(call, monkeypatch) -> None:
    real = installation._version
    old = {"numpy": "1.26.4", "pooch": None, "pyarrow": None}
    monkeypatch.setattr(installation, "_version", lambda name: old.get(name, real(name)))
    shown = call("doctor")
    assert shown.returncode == 1
    assert "numpy 1.26.4 is older than 2.0; run: pip install -U numpy" in shown.stderr
    assert "pooch is missing" in shown.stderr
    assert "extra arrow" in shown.stdout
    assert "without pyarrow: pip install 'conceptor[arrow]'" in shown.stdout


def test_the_manual_has_every_command_and_every_option(call) -> None:
    commands = describe_commands()
    assert list(dict.fromkeys(command.name.split()[1] for command in commands)) == list(COMMANDS)
    page = call("man").stdout
    assert page == man_page(commands)
    for command in commands:
        assert command.paragraphs, command.name
        assert command.examples, command.name
        assert all(option.help for option in command.options), command.name
        for option in command.options:
            for name in option.names:
                assert name.replace("-", "\\-") in page


@posix_only("runs groff")
def test_groff_has_nothing_to_say_about_the_manual(call) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    said = subprocess.run(
        ["groff", "-man", "-K", "utf8", "-z", "-ww"],
        input=call("man").stdout,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stderr == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("comp", {"compare"}),
        ("compare --sentences-p", {"--sentences-pairs"}),
        ("postprocess --method zi", {"zipf-whitening"}),
        ("compare --methods original,ab", {"original,abtt"}),
        ("compare --tasks sts,ana", {"sts,analogy"}),
        ("postprocess --for s", {"sentences"}),
        ("convert --format word2", {"word2vec-binary", "word2vec-text"}),
    ],
)
def test_the_shell_completes(line, expected) -> None:
    words = ["conceptor", *line.split()]
    environment = os.environ | {
        "_CONCEPTOR_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    shown = processes.conceptor(env=environment)
    assert set(shown.stdout.split()) == expected


@posix_only("runs bash")
def test_bash_takes_the_script(tmp_path) -> None:
    """The function that the script defines, called as bash calls it."""
    environment = os.environ | {"_CONCEPTOR_COMPLETE": "source_bash"}
    (tmp_path / "script").write_text(processes.conceptor(env=environment).stdout)
    command = tmp_path / "conceptor"
    command.write_text("#!/bin/sh\nexec " + " ".join(map(str, processes.command())) + ' "$@"\n')
    command.chmod(0o755)
    asked = "COMP_WORDS=(conceptor doc); COMP_CWORD=1; _conceptor_completion conceptor"
    shown = subprocess.run(
        ["bash", "-c", f'. ./script; {asked}; echo "${{COMPREPLY[*]}}"'],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert shown.stdout == "doctor\n"


def test_json_has_the_documented_form(call, tmp_path) -> None:
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
        "doctor": [("doctor", "--json")],
    }
    assert calls.keys() | {"reproduce"} == {path.stem for path in SCHEMAS.glob("*.json")}
    for name, of_schema in calls.items():
        schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        for arguments in of_schema:
            shown = call(*arguments)
            assert shown.returncode == 0, shown.stderr
            jsonschema.validate(json.loads(shown.stdout), schema)
            with pytest.raises(jsonschema.ValidationError):  # the control
                jsonschema.validate("nothing", schema)
