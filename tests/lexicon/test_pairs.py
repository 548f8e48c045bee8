"""Files of word pairs."""

from __future__ import annotations

import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.lexicon import read_pairs
from conceptor.lexicon.files import symmetric_pairs


def test_pairs_with_prefixes_tabs_and_empty_lines(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_bytes(b"\xef\xbb\xbfen_good en_bad \r\n\n hot\tcold\nen_ end\nna\xc3\xafve wise")
    assert read_pairs(path) == [("good", "bad"), ("hot", "cold"), ("en_", "end"), ("naïve", "wise")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good bad\nalone\n", r"pairs\.txt, line 2: expected two words, found 'alone'"),
        (b"one two three\n", "line 1: expected two words"),
        (b"good bad\nca\xe9 th\xe9\n", r"pairs\.txt, byte 11: not UTF-8"),
        (b"\n \n", "contains no pairs"),
    ],
)
def test_bad_files_are_named_with_the_place(tmp_path, content, message):
    path = tmp_path / "pairs.txt"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_pairs(path)


def test_no_file(tmp_path):
    with pytest.raises(InvalidInputError, match="no such file of word pairs"):
        read_pairs(tmp_path / "none.txt")
    with pytest.raises(InvalidInputError, match="is a directory"):
        read_pairs(tmp_path)


def test_files_and_pairs_mix_in_both_directions(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("a b\nb a\nc c\n")
    assert symmetric_pairs(path) == {("a", "b"), ("b", "a")}
    assert symmetric_pairs([path, ("d", "e")]) == {("a", "b"), ("b", "a"), ("d", "e"), ("e", "d")}
    assert symmetric_pairs(None) == set()
    with pytest.raises(InvalidInputError, match="expected a file or a pair"):
        symmetric_pairs([("a", "b", "c")])
