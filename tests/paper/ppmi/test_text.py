"""Reading text: nothing cut, nothing invented, and a clear word about what is no text."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.paper.ppmi import text

plain = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=200)


def read(corpus: object) -> str:
    return "".join(block.text for block in text.read_blocks(corpus))


@given(plain)
def test_a_file_comes_back_whole_however_it_is_cut(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_bytes(content.encode())
    blocks = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", 7)
        blocks = [block.text for block in text.read_blocks(path)]
    assert "".join(blocks) == content.removeprefix("\ufeff") + "\0"
    for block in blocks[:-1]:
        assert not block or block[-1] in " \n\t\r"


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_compressed_files_are_read_as_they_are(tmp_path, suffix, compress):
    path = tmp_path / f"corpus.txt{suffix}"
    path.write_bytes(compress("naïve café\n".encode()))
    assert read(path) == "naïve café\n\0"
    assert read(str(path)) == read([path])


def test_texts_and_files_mix_and_each_is_a_document(tmp_path):
    path = tmp_path / "b.txt"
    path.write_text("b")
    assert read(["a", path, "", "c"]) == "a\0b\0\0c\0"
    assert read(iter(["a", path])) == "a\0b\0"


def test_progress_ends_at_one_over_several_files(tmp_path):
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        path.write_text("some words " * 10)
    fractions = [block.fraction for block in text.read_blocks(paths)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


@pytest.mark.parametrize("before", [0, 3, 5_000, 2_500_000])
def test_a_byte_that_is_not_utf8_is_named_with_its_offset(tmp_path, before):
    path = tmp_path / "latin1.txt"
    path.write_bytes(b"a " * (before // 2) + b"x" * (before % 2) + b"\xe9t\xe9 ")
    with pytest.raises(InvalidInputError, match=rf"latin1\.txt, byte {before}: 0xe9 is not UTF-8"):
        read(path)


def test_utf16_without_a_mark_is_found_out_by_its_nul(tmp_path):
    path = tmp_path / "utf16.txt"
    path.write_bytes("words".encode("utf-16-le"))
    with pytest.raises(InvalidInputError, match="byte 1: a NUL"):
        read(path)
    with pytest.raises(InvalidInputError, match="text 1, character 2: a NUL"):
        read(["fine", "no\0t"])


def test_a_file_without_spaces_is_refused_before_it_fills_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_WORD_BYTES", 1000)
    monkeypatch.setattr(text, "BLOCK_BYTES", 100)
    path = tmp_path / "binary"
    path.write_bytes(b"a few words " + b"x" * 5000)
    with pytest.raises(InvalidInputError, match=r"byte 12: .* without a space"):
        read(path)


def test_what_is_no_corpus_is_refused(tmp_path):
    for corpus, message in [
        (tmp_path / "none.txt", "no such file"),
        ([tmp_path / "none.txt"], "no such file"),
        (tmp_path, "is a directory"),
        (7, "a corpus must be a file"),
        ([["a", "b"]], "document 0 of the corpus is neither"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            read(corpus)
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(gzip.compress(b"some text " * 1000)[:50])
    with pytest.raises(InvalidInputError, match="damaged"):
        read(damaged)
