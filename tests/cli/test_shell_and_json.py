"""Completion in the shell, and the documented forms of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from conceptor import write_vectors
from tests import processes

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture
def call(tmp_path):
    def call(*arguments: object):
        bare = processes.bare_machine(tmp_path / "cache")
        return processes.call(*arguments, cwd=tmp_path, env=bare)

    return call


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
    shown = processes.call(env=environment)
    assert set(shown.stdout.split()) == expected


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
