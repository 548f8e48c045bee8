"""TensorBoard's projector: its two files, as its own parser splits them."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.processes import call

WORDS = ["the", "a b", "\u2028", "x\u00a0y", '"', "1", *(f"w{i}" for i in range(94))]


@pytest.fixture
def vectors(rng):
    X = rng.standard_normal((100, 7)).astype(np.float32)
    X[0] = [0, -0.0, 1e-40, 3e38, -1, 1 / 3, 1e5]
    return X


@pytest.mark.parametrize(
    ("name", "words"), [("tensors.tsv", "metadata.tsv"), ("better.tsv", "better.metadata.tsv")]
)
def test_numbers_and_words(name, words, vectors, tmp_path):
    write_vectors(tmp_path / name, [(WORDS[:60], vectors[:60]), (WORDS[60:], vectors[60:])])
    lines = (tmp_path / name).read_text().removesuffix("\n").split("\n")
    read = np.array([line.split("\t") for line in lines], dtype=np.float32)
    np.testing.assert_array_equal(read, vectors)
    assert (tmp_path / words).read_text(encoding="utf-8").removesuffix("\n").split("\n") == WORDS
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, words])


def test_from_the_command_line(vectors, tmp_path):
    write_vectors(tmp_path / "in.parquet", [(WORDS, vectors)])
    for arguments in (
        ("postprocess", "in.parquet", "tensors.tsv", "--dimensions", "3"),
        ("convert", "in.parquet", "other.tsv"),
        ("convert", "in.parquet", "numbers", "--format", "projector"),
    ):
        run = call(*arguments, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    assert (tmp_path / "tensors.tsv").read_text().count("\t") == 2 * 100
    assert (tmp_path / "numbers.metadata.tsv").exists()
    run = call("convert", "in.parquet", "other.tsv", cwd=tmp_path)
    assert run.returncode == 2
    assert "other.tsv: exists; use --force" in run.stderr
    (tmp_path / "other.tsv").unlink()  # the words alone are not replaced either
    run = call("convert", "in.parquet", "other.tsv", cwd=tmp_path)
    assert "other.metadata.tsv: exists" in run.stderr


def test_it_is_not_read_back(vectors, tmp_path):
    """Its first number would be taken for a word."""
    write_vectors(tmp_path / "tensors.tsv", [(WORDS, vectors)])
    with pytest.raises(InvalidInputError, match="without words; open the vectors"):
        open_vectors(tmp_path / "tensors.tsv")


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a\rb", "", " "])
def test_words_it_cannot_hold_are_named(word, tmp_path):
    with pytest.raises(InvalidInputError, match="which projector cannot store"):
        write_vectors(tmp_path / "tensors.tsv", [(["a", word], np.eye(2))])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "dtype"), [("x.tsv.gz", "float32"), ("x.tsv", "int8")])
def test_what_it_cannot_be_is_refused(name, dtype, tmp_path):
    with pytest.raises(InvalidInputError, match=r"cannot be compressed|stores only float32"):
        write_vectors(tmp_path / name, [(["a"], [[1.0]])], dtype=dtype)
    assert list(tmp_path.iterdir()) == []


def test_embedding_atlas_finds_its_columns(vectors, tmp_path):
    """It reads Parquet by pandas: `embedding-atlas FILE --text word --vector vector`."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    write_vectors(tmp_path / "x.parquet", [(WORDS, vectors)])
    frame = pd.read_parquet(tmp_path / "x.parquet")
    assert list(frame["word"]) == WORDS
    np.testing.assert_array_equal(np.stack(frame["vector"]), vectors)
