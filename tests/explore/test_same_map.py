"""What the page shows is what its command writes, whatever kind of file it was opened from."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conceptor import AffineMap, open_vectors
from conceptor.data import registry
from conceptor.explore.answers import Settings
from conceptor.explore.session import Session
from conceptor.explore.table import PageTable
from conceptor.vectors import WordVectors
from conceptor.vectors.chunks import collect_rows
from conceptor.vectors.files import write_vectors
from tests.explore.conftest import toy_vectors
from tests.processes import conceptor as run
from tests.vectors.test_fasttext import model_bytes

if TYPE_CHECKING:
    from pathlib import Path


def write_fasttext(folder: Path) -> Path:
    """A model whose counts say something else than its order."""
    toys = toy_vectors(300)
    counts = np.random.default_rng(1).permutation(len(toys)) ** 2 + 1
    rows = toys.vectors
    content = model_bytes(list(toys.words), rows, rows[:1], counts=counts.tolist())
    (folder / "model.bin").write_bytes(content)
    return folder / "model.bin"


def write_static(folder: Path) -> Path:
    """A static model's folder, whose tokens are in the order of its tokenizer."""
    pytest.importorskip("tokenizers", reason="needs the static extra")
    pytest.importorskip("wordfreq", reason="needs the static extra")
    from conceptor.vectors.formats.static_model import write_folder
    from tests.static_models.test_folders import make_tokenizer, make_vectors

    tokenizer = make_tokenizer()
    vectors = make_vectors(tokenizer.get_vocab_size())
    write_folder(folder / "model", vectors, tokenizer.to_str(), {}, "# a card\n", "float32")
    return folder / "model"


def write_npy(folder: Path) -> Path:
    toys = toy_vectors(300)
    write_vectors(folder / "v.npy", [(toys.words, toys.vectors)], count=len(toys))
    return folder / "v.npy"


def write_text(folder: Path) -> Path:
    """A file with the name that the command would write to."""
    toys = toy_vectors(300)
    write_vectors(folder / "better.bin", [(toys.words, toys.vectors)], count=len(toys))
    return folder / "better.bin"


@pytest.mark.parametrize("write", [write_fasttext, write_static, write_npy, write_text])
@pytest.mark.parametrize("changed", [False, True], ids=["as opened", "at another aperture"])
def test_the_command_on_the_page_writes_what_the_page_shows(
    tmp_path, monkeypatch, write, changed
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path).relative_to(tmp_path)
    session = Session(PageTable.open(open_vectors(path), path.name, str(path)))
    settings = Settings(session.default.method, aperture=1.25 if changed else None)
    shown = session.solution(settings)
    program, *arguments = shlex.split(session.solve(settings).command)
    assert program == "conceptor"
    run(*arguments, "--save-map", "map.safetensors")
    written = AffineMap.load("map.safetensors")
    np.testing.assert_allclose(written.matrix, shown.map.matrix, rtol=0, atol=1e-12)
    np.testing.assert_allclose(written.offset, shown.map.offset, rtol=0, atol=1e-12)
    assert written.unit == shown.map.unit
    if not changed:  # the page opens with what the command does if no method is named
        run("fit", str(path), "default.safetensors")
        default = AffineMap.load("default.safetensors")
        np.testing.assert_allclose(default.matrix, shown.map.matrix, rtol=0, atol=1e-12)


def test_counts_of_a_model_matter(tmp_path) -> None:
    """The negative control: by rank, the map of the model with counts is another."""
    table = PageTable.open(open_vectors(write_fasttext(tmp_path)), "model.bin")
    bare = PageTable("model.bin", WordVectors(table.words, table.rows))
    by_counts, by_rank = (Session(each, methods=["cn"]) for each in (table, bare))
    one, other = (each.solution(each.default).map.matrix for each in (by_counts, by_rank))
    assert np.abs(one - other).max() > 1e-3


def test_the_command_skips_what_the_page_skips(tmp_path) -> None:
    (tmp_path / "v.txt").write_text("a 1 2\nb nan 1\nc 3 1\nd 1 1\n")
    source = open_vectors(tmp_path / "v.txt", on_error="skip")
    session = Session(PageTable.open(source, "v.txt"), methods=["cn"])
    assert session.solve(session.default).command.endswith(" --on-error skip")


@pytest.mark.slow
def test_the_command_for_the_demo_works_as_it_is_shown(tmp_path, monkeypatch) -> None:
    registry.demo_files()  # raises without the demo extra
    monkeypatch.chdir(tmp_path)
    table = PageTable.open(WordVectors(*registry.demo_vectors()), "GloVe 6B 50d", "demo")
    session = Session(table, methods=["cn"])
    _, *arguments = shlex.split(session.solve(session.default).command)
    run(*arguments, "--save-map", "map.safetensors")
    written = AffineMap.load("map.safetensors")
    shown = session.solution(session.default).map
    # The page keeps moments in float64 for every aperture; the command multiplies in float32.
    np.testing.assert_allclose(written.matrix, shown.matrix, rtol=0, atol=1e-7)
    after = collect_rows(open_vectors("better.bin"), {"bank"})
    before = table.rows[table.vectors.rows(["bank"])]
    expected = session.methods.map(session.default).map_words(["bank"], before)
    np.testing.assert_allclose(after.vectors, expected, atol=1e-6)
