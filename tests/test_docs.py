"""README and docs are run, not read."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import conceptor
from conceptor.base.errors import MissingExtraError
from conceptor.cli.manual import describe_commands
from conceptor.vectors import write_vectors

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```([^\n]*)\n(.*?)```", re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [code for header, code in found if header == language]


@pytest.fixture
def world(tmp_path, monkeypatch) -> dict[str, object]:
    """What the pages take for granted: some files in the working directory, and some names."""
    monkeypatch.chdir(tmp_path)
    # Nothing listens on the discard port: what is not there is missing at once, not fetched.
    monkeypatch.setenv("CONCEPTOR_DATA_URL", "http://127.0.0.1:9")
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((400, 12)) * np.geomspace(2, 0.2, 12) + 0.3).astype(np.float32)
    words = ["hot", "cold", "warm", *(f"w{i}" for i in range(397))]
    for name in ("glove.txt", "glove.6B.300d.txt", "glove.840B.300d.txt"):
        write_vectors(name, [(words, X)])
    Path("ppdb_synonyms.txt").write_text("en_hot en_warm\nen_w1 en_w2\n")
    sentences = [" ".join(rng.choice(words, 7)) for _ in range(600)]
    Path("corpus.txt").write_text("\n".join(sentences * 20))
    Path("shards").mkdir()
    for i, part in enumerate(np.array_split(np.arange(400), 3)):
        named = [words[row] for row in part]
        write_vectors(f"shards/{i}.parquet", [(named, X[part])])
    weights = np.ones(200)
    return {
        "X": X,
        "Y": X[::-1] + 1,
        "stream": [(X[:200], weights), (X[200:], weights)],
        "words": words,
        "vectors": X,
        "vocabulary": words,
        "sentences": sentences,
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_run(page, world) -> None:
    """In order, in one namespace; a block that needs a cluster or the web says `python no-run`."""
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), world)


def test_most_blocks_are_run() -> None:
    run = sum(len(blocks(page, "python")) for page in PAGES)
    left_out = sum(len(blocks(page, "python no-run")) for page in PAGES)
    assert run > 3 * left_out > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_their_options_exist(page) -> None:
    known = {tuple(each.name.split()[1:]): each for each in describe_commands()}
    names = {name for name, *_ in known}
    for code in blocks(page, "") + blocks(page, "sh"):
        for line in code.replace("\\\n", " ").splitlines():
            words = shlex.split(line.partition(" | ")[0], comments=True)
            if words[:1] != ["conceptor"] or words[1].startswith("-"):
                continue
            assert words[1] in names, line
            command = known.get(tuple(words[1:3])) or known[(words[1],)]
            options = {name for option in command.options for name in option.names}
            used = {word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            assert used <= options | {"-h", "--help"}, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith(("http", "mailto"))]
    # Pages that are made while the site is built; the strict build checks links to them.
    made = ("reference/", "notebooks/", "project/")
    kept = [link for link in local if page == README or not link.startswith(made)]
    assert [link for link in kept if not (page.parent / link).exists()] == []


def test_the_two_commands_are_there() -> None:
    """.ci/run runs the second one word for word."""
    code = "\n".join(blocks(README, ""))
    lines = [line for line in code.splitlines() if "python3 -m venv" in line]
    assert [re.search(r"'\.\[(\w+)\]'", line)[1] for line in lines] == ["demo", "test"]
    assert all("-c constraints.txt" in line for line in lines)


def test_docstring_examples() -> None:
    """Of every module whose extras are installed."""
    attempted = 0
    for module in pkgutil.walk_packages(conceptor.__path__, "conceptor.", onerror=str):
        spec = importlib.util.find_spec(module.name)
        if spec is None or ">>>" not in Path(str(spec.origin)).read_text(encoding="utf-8"):
            continue  # importing all of them would import every library they are for
        try:
            result = doctest.testmod(importlib.import_module(module.name))
        except MissingExtraError:
            continue
        except ModuleNotFoundError as error:
            if str(error.name).startswith("conceptor"):
                raise
            continue
        assert result.failed == 0, module.name
        attempted += result.attempted
    assert attempted > 5


def test_recipes_are_short() -> None:
    """At most six lines for each library, imports included."""
    for code in blocks(ROOT / "docs" / "integrations.md", "python"):
        assert sum(bool(line.strip()) for line in code.splitlines()) <= 6, code
