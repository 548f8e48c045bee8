"""An array and its words belong together, whatever happens between writing the two."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors

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
    assert open_vectors(path).words == OLD
    killed_between_renames(path, [(NEW, TWOS)], force=True)
    with pytest.raises(InvalidInputError, match=r"x\.words\.txt: not the words that x\.npy was"):
        open_vectors(path).read()
    write_vectors(path, [(NEW, TWOS)], force=True)
    words, vectors = open_vectors(path).read()
    assert words == NEW
    assert (vectors == 2).all()


def test_words_files_of_others_and_other_line_ends_are_read(tmp_path):
    path = tmp_path / "x.npy"
    words = path.with_suffix(".words.txt")
    write_vectors(path, [(OLD, ONES)])
    assert np.load(path).tolist() == ONES.tolist()
    assert np.load(path, mmap_mode="r").shape == (3, 2)
    assert words.read_text() == "a\nb\nc\n", "plain lines, as anyone writes them"
    for same in (b"a\r\nb\r\nc\r\n", b"a\nb\nc", b"\xef\xbb\xbfa\nb\nc\n", b"a\rb\rc\r"):
        words.write_bytes(same)
        assert open_vectors(path).words == OLD
    words.write_text("x\ny\nz\n")
    with pytest.raises(InvalidInputError, match=r"write both again .*numpy\.save"):
        open_vectors(path).read()
    np.save(path, ONES)
    assert open_vectors(path).words == NEW


def test_words_that_begin_with_a_byte_order_mark_keep_their_checksum(tmp_path):
    words = ["\ufeffa", "b", ""]
    write_vectors(tmp_path / "x.npy", [(words, ONES)])
    write_vectors(tmp_path / "x.safetensors", [(words, ONES)])
    assert open_vectors(tmp_path / "x.npy").words == words
    assert open_vectors(tmp_path / "x.safetensors").words == words


def test_safetensors_hold_their_words(tmp_path):
    path = tmp_path / "x.safetensors"
    write_vectors(path, [(OLD, ONES)])
    assert list(tmp_path.iterdir()) == [path]
    assert open_vectors(path).files() == [path]
    stored = load_file(path)  # the reference library
    assert stored["embeddings"].tolist() == ONES.tolist()
    assert stored["words"].tobytes() == b"a\nb\nc\n"
    write_vectors(tmp_path / "x.npy", [(NEW, TWOS)])  # has x.words.txt for itself
    assert open_vectors(path).words == OLD
    assert open_vectors(tmp_path / "x.npy").words == NEW


def test_old_pairs_are_read_and_not_given_other_words(tmp_path):
    path = tmp_path / "x.safetensors"
    save_file({"embeddings": ONES}, path)
    path.with_suffix(".words.txt").write_text("a\nb\nc\n")
    assert open_vectors(path).words == OLD
    with pytest.raises(
        InvalidInputError, match=r"x\.words\.txt: also holds the words of x\.safeten"
    ):
        write_vectors(tmp_path / "x.npy", [(NEW, TWOS)], force=True)
    assert open_vectors(path).words == OLD


def test_safetensors_with_another_number_of_words_are_refused(tmp_path):
    save_file({"embeddings": ONES, "words": np.frombuffer(b"a\nb\n", np.uint8)}, tmp_path / "x")
    with pytest.raises(InvalidInputError, match="2 words for the 3 vectors"):
        open_vectors(tmp_path / "x").read()


def tensor(begin, end, shape=(2, 2)):
    return json.dumps({"dtype": "F32", "shape": shape, "data_offsets": [begin, end]})


@pytest.mark.parametrize(
    ("header", "size"),
    [
        (f'{{"a": {tensor(0, 16)}, "a": {tensor(0, 16)}}}', 16),
        (f'{{"embeddings": {tensor(4, 20)}}}', 20),
        (f'{{"embeddings": {tensor(0, 16)}, "b": {tensor(8, 24)}}}', 24),
        (f'{{"embeddings": {tensor(0, 16)}, "b": {tensor(20, 36)}}}', 36),
        (f'{{"embeddings": {tensor(0, 16)}}}', 20),
        (f'{{"embeddings": {tensor(0, 16)}, "words": {{"dtype": "U8", "shape": [4]}}}}', 20),
    ],
    ids=["twice", "hole first", "overlap", "hole between", "more follows", "no offsets"],
)
def test_safetensors_with_holes_overlaps_or_names_twice_are_refused(header, size, tmp_path):
    path = tmp_path / "x.safetensors"
    path.with_suffix(".words.txt").write_text("a\nb\n")
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(size))
    with pytest.raises(InvalidInputError, match=r"x\.safetensors: (damaged|not a safetensors)"):
        open_vectors(path)
