"""What is written is read back: every format, every compression, hostile words."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.formats import FORMATS
from tests.vectors.whole import cut, read_all

NAMES = {
    "word2vec-binary": "x.bin",
    "word2vec-text": "x.vec",
    "glove-text": "x.txt",
    "npy": "x.npy",
    "parquet": "x.parquet",
    "feather": "x.feather",
}
HOSTILE = [
    "the", "a\u00a0b", "\u2028", "\u0085", "x\u3000y", "café", "cafe\u0301", "😀",
    "\U0001f469\u200d\U0001f469", '"', "'", ",", "1", "300", "0.5", "nan", "-inf", "1e5", "\x00",
    "\x1c", "\x1f", "#", "\ufeff", "\ufeffthe", "\\n", "<s>", "ﬀ", "ß", "ẞ", "İ", "\u200b",
    "\U0010ffff", "e" * 1000,
]  # fmt: skip
COMPRESSIONS = ["", ".gz", ".bz2", ".xz", ".zst"]


def saved(path, words, vectors, **options):
    write_vectors(path, [(words, vectors)], count=len(words), **options)
    return open_vectors(path)


def assert_holds(source, words, vectors):
    got_words, got = read_all(source)
    assert got_words == list(words)
    assert (got.view(np.int32) == np.asarray(vectors, dtype=np.float32).view(np.int32)).all()
    assert source.dimension == np.shape(vectors)[1]
    assert source.findings.lines() == []


def test_every_format_has_a_name():
    # A fastText model is written only from another: its words are sums of n-grams.
    files = {each.name for each in FORMATS if not each.is_folder}
    assert {*NAMES, "fasttext"} == files


@pytest.mark.parametrize(("first", "second"), list(itertools.product(NAMES, NAMES)))
def test_every_pair_of_formats(first, second, tmp_path):
    vectors = np.random.default_rng(0).standard_normal((len(HOSTILE), 7)).astype(np.float32)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = saved(tmp_path / "a" / NAMES[first], HOSTILE, vectors)
    assert one.format == first
    write_vectors(tmp_path / "b" / NAMES[second], cut(one, 5))
    two = open_vectors(tmp_path / "b" / NAMES[second])
    assert two.format == second
    assert_holds(two, HOSTILE, vectors)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("file_format", ["word2vec-binary", "word2vec-text", "glove-text"])
def test_every_compression(file_format, compression, tmp_path):
    vectors = np.random.default_rng(1).standard_normal((len(HOSTILE), 3)).astype(np.float32)
    source = saved(tmp_path / (NAMES[file_format] + compression), HOSTILE, vectors)
    assert source.format == file_format
    assert_holds(source, HOSTILE, vectors)


words_and_vectors = st.tuples(
    st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=12, unique=True),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)


@pytest.mark.parametrize("file_format", list(NAMES))
@given(data=words_and_vectors)
@example(data=(["a 1"], 1, random.Random(0)))
@settings(max_examples=30, deadline=None)
def test_any_words_survive_or_are_refused(file_format, data, tmp_path_factory):
    """Either the same comes back, or an error names a word and nothing was written."""
    words, dimension, rng = data
    dimension += file_format == "glove-text"  # which one number per word would be counts in
    bits = [rng.getrandbits(32) for _ in range(len(words) * dimension)]
    vectors = np.array(bits, dtype=np.uint32).view(np.float32).reshape(len(words), dimension)
    vectors = np.where(np.isfinite(vectors), vectors, np.float32(0.5))
    folder = tmp_path_factory.mktemp("words")
    try:
        source = saved(folder / NAMES[file_format], words, vectors)
    except InvalidInputError as error:
        refusal = str(error)
        assert list(folder.iterdir()) == []
        assert file_format not in ("parquet", "feather")
        assert any(repr(word) in refusal and set(word) & set(" \t\r\n") for word in words)
    else:
        assert_holds(source, words, vectors)


def test_spaces_can_be_replaced_and_then_duplicates_show(tmp_path):
    write_vectors(tmp_path / "x.txt", [(["new york", "new_york", "a"], np.eye(3))])
    source = open_vectors(tmp_path / "x.txt", replace_spaces="_")
    assert read_all(source)[0] == ["new_york", "a"]
    assert source.findings.duplicates == 1


@pytest.mark.parametrize("file_format", ["npy", "parquet", "feather"])
def test_half_precision(file_format, tmp_path):
    vectors = np.random.default_rng(2).standard_normal((9, 4)).astype(np.float16)
    source = saved(tmp_path / NAMES[file_format], list("abcdefghi"), vectors, dtype="float16")
    assert source.dtype == "float16"
    assert_holds(source, list("abcdefghi"), vectors.astype(np.float32))
    with pytest.raises(InvalidInputError, match=r"'a'.*float16"):
        saved(tmp_path / NAMES[file_format], ["a"], [[1e6]], dtype="float16", force=True)


def test_count_is_filled_in_afterwards(tmp_path):
    chunks = [(["a", "b"], np.ones((2, 3))), (["c"], np.ones((1, 3)))]
    for name in ("x.bin", "x.vec", "x.npy"):
        assert write_vectors(tmp_path / name, iter(chunks), force=True) == 3
        assert read_all(open_vectors(tmp_path / name))[0] == ["a", "b", "c"]
    with pytest.raises(InvalidInputError, match="count"):
        write_vectors(tmp_path / "x.vec.gz", iter(chunks))
    with pytest.raises(InvalidInputError, match="count is 5, but there were 3 vectors"):
        write_vectors(tmp_path / "x.vec.gz", iter(chunks), count=5)
    assert not (tmp_path / "x.vec.gz").exists()


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        ([], "no vectors to write"),
        ([(["a"], [[1.0, 2.0]]), (["b"], [[1.0]])], "expected vectors of 2 numbers"),
        ([(["a", "b"], [[1.0]])], "2 words"),
        ([(["a"], [1.0])], "1 words do not match an array of shape"),
        ([(["a"], [[float("nan"), 1.0]])], "NaN"),
        ([(["a"], [[1e39, 1.0]])], "too large"),
        ([(["\ud800"], [[1.0]])], "not valid Unicode"),
    ],
)
@pytest.mark.parametrize("name", ["x.txt", "x.parquet"])
def test_what_cannot_be_written_leaves_nothing(chunks, said, name, tmp_path):
    with pytest.raises(InvalidInputError, match=said):
        write_vectors(tmp_path / name, chunks)
    assert list(tmp_path.iterdir()) == []


def test_a_word_without_an_end_is_refused_in_linear_time(tmp_path):
    """A search that starts again at every byte would take hours."""
    row = b"w " + bytes(1200)
    (tmp_path / "x.bin").write_bytes(b"10 300\n" + row + b"\x01" * (8 << 20))
    with pytest.raises(InvalidInputError, match="byte 1209: found a word longer than 65536 bytes"):
        read_all(open_vectors(tmp_path / "x.bin"))
