"""An array and its words belong together, whatever happens between writing the two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.vectors.whole import read_all

OLD, NEW = ["a", "b", "c"], ["x", "y", "z"]
ONES, TWOS = np.ones((3, 2), dtype=np.float32), np.full((3, 2), 2, dtype=np.float32)


@pytest.fixture
def killed_between_renames(monkeypatch):
    """End the writing after the first rename, as a kill does: without any cleaning up."""

    class Killed(BaseException):
        pass

    replace = Path.replace
    renamed = []

    def once(self, target):
        if renamed:
            raise Killed
        renamed.append(target)
        return replace(self, target)

    def write(*arguments, **options):
        renamed.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", once)
            with pytest.raises(Killed):
                write_vectors(*arguments, **options)

    return write


@pytest.mark.parametrize("by", ["us", "numpy"])
def test_new_words_never_stand_on_old_vectors(by, tmp_path, killed_between_renames):
    path = tmp_path / "x.npy"
    if by == "us":
        write_vectors(path, [(OLD, ONES)])
    else:
        np.save(path, ONES)
        path.with_suffix(".words.txt").write_text("a\nb\nc\n")
    assert read_all(open_vectors(path))[0] == OLD
    killed_between_renames(path, [(NEW, TWOS)], force=True)
    with pytest.raises(InvalidInputError, match=r"x\.words\.txt: not the words that x\.npy was"):
        read_all(open_vectors(path))
    write_vectors(path, [(NEW, TWOS)], force=True)
    words, vectors = read_all(open_vectors(path))
    assert words == NEW
    assert (vectors == 2).all()


def test_words_files_of_others_and_other_line_ends_are_read(tmp_path):
    path = tmp_path / "x.npy"
    words = path.with_suffix(".words.txt")
    write_vectors(path, [(OLD, ONES)])
    assert np.load(path).tolist() == ONES.tolist()
    assert np.load(path, mmap_mode="r").shape == (3, 2)
    assert words.read_text() == "a\nb\nc\n", "plain lines, as anyone writes them"
    for same in (b"a\r\nb\r\nc\r\n", b"a\nb\nc", b"\xef\xbb\xbfa\nb\nc\n"):
        words.write_bytes(same)
        assert read_all(open_vectors(path))[0] == OLD
    words.write_text("x\ny\nz\n")
    with pytest.raises(InvalidInputError, match=r"write both again .*numpy\.save"):
        read_all(open_vectors(path))
    np.save(path, ONES)
    assert read_all(open_vectors(path))[0] == NEW


def test_safetensors_hold_their_words(tmp_path):
    path = tmp_path / "x.safetensors"
    write_vectors(path, [(OLD, ONES)])
    assert list(tmp_path.iterdir()) == [path]
    assert open_vectors(path).files == (path,)
    stored = load_file(path)  # the reference library
    assert stored["embeddings"].tolist() == ONES.tolist()
    assert stored["words"].tobytes() == b"a\nb\nc\n"
    write_vectors(tmp_path / "x.npy", [(NEW, TWOS)])  # has x.words.txt for itself
    assert read_all(open_vectors(path))[0] == OLD
    assert read_all(open_vectors(tmp_path / "x.npy"))[0] == NEW
