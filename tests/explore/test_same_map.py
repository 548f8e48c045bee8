"""What the page shows is what its command writes, whatever kind of file it was opened from."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conceptor.algebra.affine_map import AffineMap
from conceptor.explore.session import Session, Settings
from conceptor.vectors.files import open_vectors
from conceptor.vectors.target import write_vectors
from tests.explore.conftest import toy_table
from tests.model_folders import TOKENS
from tests.processes import conceptor as run
from tests.vectors.test_fasttext import model_bytes

if TYPE_CHECKING:
    from pathlib import Path


def write_fasttext(folder: Path) -> Path:
    """A model whose counts differ from its order."""
    words, rows = toy_table(300)
    counts = np.random.default_rng(1).permutation(len(words)) ** 2 + 1
    content = model_bytes(words, rows, rows[:1], counts=counts.tolist())
    (folder / "model.bin").write_bytes(content)
    return folder / "model.bin"


def write_binary(folder: Path) -> Path:
    """A file with the name that the command would write to."""
    write_vectors(folder / "better.bin", [toy_table(300)])
    return folder / "better.bin"


def write_static(folder: Path) -> Path:
    """A folder, whose default is another method than that of a file."""
    pytest.importorskip("tokenizers")
    pytest.importorskip("wordfreq")
    from conceptor.static_models import StaticModel

    words = list(dict.fromkeys(TOKENS))
    rows = np.random.default_rng(0).standard_normal((len(words), 8)).astype(np.float32) + 1
    StaticModel.from_words(words, rows).save(folder / "model")
    return folder / "model"


@pytest.mark.parametrize(
    ("write", "changed"),
    [
        (write_static, False),
        (write_static, True),
        (write_fasttext, False),
        (write_fasttext, True),  # at another aperture
        (write_binary, True),
    ],
)
def test_the_command_on_the_page_writes_what_the_page_shows(
    tmp_path, monkeypatch, write, changed
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path).relative_to(tmp_path)
    session = Session(open_vectors(path))
    settings = Settings(session.default.method, value=1.25 if changed else None)
    shown = session.fitted(settings).map
    program, *arguments = shlex.split(session.solve(settings)["command"])
    assert program == "conceptor"
    run(*arguments, "--save-map", "map.safetensors")
    written = AffineMap.load("map.safetensors")
    np.testing.assert_array_equal(written.matrix, shown.matrix)
    np.testing.assert_array_equal(written.offset, shown.offset)
    assert written.unit == shown.unit
    if not changed:  # the page opens with the default method of the command
        run("fit", str(path), "default.safetensors")
        default = AffineMap.load("default.safetensors")
        np.testing.assert_array_equal(default.matrix, shown.matrix)


def test_counts_of_a_model_matter(tmp_path) -> None:
    """The negative control: by rank, the map of the model with counts is another."""
    by_counts = Session(open_vectors(write_fasttext(tmp_path)), methods=["cn"])
    by_rank = Session((by_counts.table.words, by_counts.table.rows), methods=["cn"])
    one, other = (each.fitted(each.default).map.matrix for each in (by_counts, by_rank))
    assert np.abs(one - other).max() > 1e-3
