"""Files as they are found in the wild, and as they break."""

from __future__ import annotations

import bz2
import json
import lzma
import os
import struct
import sys
import warnings
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.platforms import posix_only
from tests.processes import execute
from tests.vectors.whole import read_all


def read(path, content: bytes, **options):
    path.write_bytes(content)
    source = open_vectors(path, **options)
    words, vectors = read_all(source)
    return source, words, vectors.tolist()


def binary(
    rows: list[tuple[bytes, list[float]]], header: bytes, *, newline: bytes = b"\n"
) -> bytes:
    body = b"".join(w + b" " + np.array(v, dtype="<f4").tobytes() + newline for w, v in rows)
    return header + b"\n" + body


@pytest.mark.parametrize(
    ("content", "file_format", "words", "vectors"),
    [
        (b"a 1 2\nb 3 4\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"2 2\na 1 2 \nb 3 4 \n", "word2vec-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"2 2\r\na 1 2\r\nb 3 4\r\n", "word2vec-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"\n\na 1 2\n\n  \nb 3 4\n\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n", "word2vec-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"a\t1\t2\nb\t3\t4\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"a  1  2\nb 3   4\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b". . . 1 2\nb 3 4\n", "glove-text", [". . .", "b"], [[1, 2], [3, 4]]),
        (b"b 3 4\n1 2 1 2\nc 5 6\n", "glove-text", ["b", "1 2", "c"], [[3, 4], [1, 2], [5, 6]]),
        (b"1 300 5\n2 4 6\n", "glove-text", ["1", "2"], [[300, 5], [4, 6]]),
        ("x\u00a0y 1 2\n\u0085 3 4".encode(), "glove-text", ["x\u00a0y", "\u0085"], [[1, 2], [3, 4]]),  # noqa: E501
        ("\u2028 1 2\n\x1c 3 4\n".encode(), "glove-text", ["\u2028", "\x1c"], [[1, 2], [3, 4]]),
        (b"a 1e0 +2.\nb .3e1 4E0\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b" 1 2\nb 3 4\n", "glove-text", ["", "b"], [[1, 2], [3, 4]]),
        (b"a 1 2", "glove-text", ["a"], [[1, 2]]),
        (b"000000000002 2\na 1 2\nb 3 4\n", "word2vec-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"2 1\na 1\nb 3\n", "word2vec-text", ["a", "b"], [[1], [3]]),  # a header is evidence
        (b"1 2 3.5\n7 4 5.5\n9 6 0.5\n", "glove-text", ["1", "7", "9"], [[2, 3.5], [4, 5.5], [6, 0.5]]),  # noqa: E501
    ],
)  # fmt: skip
def test_text_in_the_wild(content, file_format, words, vectors, tmp_path):
    source, got_words, got = read(tmp_path / "x", content)
    assert (source.format, got_words, got) == (file_format, words, vectors)


@pytest.mark.parametrize("newline", [b"", b"\n"])
# The first two look like text.
@pytest.mark.parametrize(
    "floats",
    [b"\n\n  \n  \n", b"9\n\r\xbe\x01\x02\x03\x3e", b"\0\0\x80\x3f\0\0\0\x40"],
)
def test_word2vec_binary_with_and_without_newlines(floats, newline, tmp_path):
    row = struct.unpack("<2f", floats)
    rows = [(word.encode(), row) for word in ("a", "é\u00a0", "\t")]
    source, words, vectors = read(tmp_path / "x", binary(rows, b"3 2", newline=newline))
    assert source.format == "word2vec-binary"
    assert words == ["a", "é\u00a0", "\t"]
    assert vectors == [list(row)] * 3


def test_rows_cut_by_the_end_of_a_block(tmp_path, monkeypatch):
    words = [f"w{'x' * (i % 50)}{i}" for i in range(500)]
    vectors = np.random.default_rng(0).standard_normal((500, 5)).astype(np.float32)
    for name in ("x.txt", "x.vec", "x.txt.gz", "x.npy", "x.parquet", "x.feather"):
        write_vectors(tmp_path / name, [(words, vectors)], count=500)
    for module in ("text", "npy"):
        monkeypatch.setattr(f"conceptor.vectors.formats.{module}.BLOCK_BYTES", 64)
    for name in ("x.txt", "x.vec", "x.txt.gz", "x.npy", "x.parquet", "x.feather"):
        source = open_vectors(tmp_path / name)
        assert read_all(source)[0] == words
        assert (read_all(source)[1] == vectors).all()


@pytest.mark.parametrize("is_binary", [False, True])
def test_the_count_of_a_header_is_compared_with_the_rows(is_binary, tmp_path):
    rows = [(b"a", [1.0, 2.0]), (b"b", [3.0, 4.0])]

    def content(header):
        return binary(rows, header) if is_binary else header + b"\na 1 2\nb 3 4\n"

    with pytest.raises(InvalidInputError, match="says 5 rows, but the file has 2"):
        read(tmp_path / "x", content(b"5 2"))
    for header, on_error in ((b"5 2", "skip"), (b"1 2", "raise")):
        source, words, _ = read(tmp_path / "x", content(header), on_error=on_error)
        assert words == ["a", "b"]
        assert "rows, but the file has 2" in source.findings.lines()[0]


UNKNOWN = "not a known vector format"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n\n", UNKNOWN),
        (b"hello world\nthis is no vectors file\n", UNKNOWN),
        (b"It rains.\nIt is late.\n", UNKNOWN),
        (b"a 1 2 3\nb 1 2\nc 1\n", UNKNOWN),
        (b"a 1 2\nb 1 2 3\n" * 20, UNKNOWN),
        (b"tiger cat 7.35\nbook paper 7.46\n", UNKNOWN),  # scored pairs
        (b"the 1061396\nof 593677\nand 416629\n", UNKNOWN),  # counts
        (b"0.5 1 2\n1e-3 2 3\n-0.25 3 4\n", UNKNOWN),  # a matrix
        (b"old\tnew\tA\t1.5 2\ncat\tdog\tN\t2.5 3\na\tb\tV\t1.0 2\n", UNKNOWN),  # pairs
        # Counts that begin like a header.
        (b"1 2\n3 4\n5 6\n", "expected a word and"),
        (b"1 300\n2 4\n", "expected a word and"),
        (b"10 1\n12 3\n14 5\n", "says 10 rows, but .* has 2"),
        (b"a 1 2\nb 3\nc 5 6\n", "line 2: expected a word and 2 numbers, found 2 fields"),
        (b"a 1 2\nb 3 x\nc 5 6\n", "line 2: expected a word and 2 numbers, found 'x'; repair"),
        (b"3 2\na 1 2\nb 3\nc 5 6\n", "line 3: expected a word and 2 numbers"),
        (b"a 1 2\nb 3 nan\nc 5 6\n", "line 2: the vector of 'b' has NaN; repair"),
        (b"a 1 2\nb -inf 4\nc 5 6\n", "line 2: the vector of 'b' has Inf or a number too large"),
        ("a 1 2\né 1e39 4\n".encode(), "the vector of 'é' has Inf or a number too large for"),
        (b"a 1 2\n\xff\xfe 3 4\nc 5 6\n", "line 2: the word b'.xff.xfe' is not UTF-8"),
        (b"2 2\na 1 2 3\nb 4 5 6", "the header says 2 numbers per row, but rows have 3; correct"),
        (b"5 2\n", "says 5 rows, but the file has 0"),
        (b"5 2", UNKNOWN),
        (b"0 2\n", "contains no vectors"),
        (binary([(b"a", [1.0, 2.0])], b"2 2") + b"b \x00\x00", "the file ends within a row"),
        (binary([(b"a", [1.0, np.nan])], b"1 2"), "row 1: the vector of 'a' has NaN"),
        (binary([(b"\xff", [1.0, 2.0])], b"1 2"), "row 1: the word b'.xff' is not UTF-8"),
        (b"\x80\x04\x95abc", "pickle, which is never opened"),
        (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", "a fastText model of 8 bytes that is truncated"),
        (b"\x89HDF\r\n\x1a\n", UNKNOWN),
        (b"\x93NUMPY\x01\x00", "not a two-dimensional array"),
        (b"PAR1aaaaPAR1", "not a readable Arrow or Parquet table"),
        (b"ARROW1\x00\x00", "not a readable Arrow or Parquet table"),
        (b"\x1f\x8b\x08garbage", "damaged compressed data"),
        (b"PK\x03\x04garbage", "damaged compressed data"),
    ],
)  # fmt: skip
def test_bad_files_are_named_and_located(content, said, tmp_path):
    path = tmp_path / "x"
    with pytest.raises(InvalidInputError, match=said) as caught:
        read(path, content)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_rows_can_be_skipped_and_are_counted(tmp_path):
    content = b"a 1 2\nb 3\nc x y\nd nan 1\n\xff 1 2\ne 5 6\nf 1 2 3\n"
    source, words, vectors = read(tmp_path / "x", content, on_error="skip")
    assert words == ["a", "e", "f 1"]
    assert vectors == [[1, 2], [5, 6], [2, 3]]
    assert source.findings.skipped == 4
    assert "line 2" in source.findings.lines()[0]


@pytest.mark.parametrize("front", [b"60 4", b"60 4\n", b"\xef\xbb\xbf60 1"])
def test_a_header_that_says_too_few_numbers_does_not_lengthen_the_words(front, tmp_path):
    numbers = np.random.default_rng(0).standard_normal((60, 5))
    words = ["new york" if i == 3 else f"w{i}" for i in range(60)]
    rows = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, numbers, strict=True)]
    content = b"\n".join([front, *map(str.encode, rows)])
    with pytest.raises(InvalidInputError, match=r"says [14] numbers per row, but rows have 5; "):
        read(tmp_path / "x", content, on_error="skip")


def test_a_header_is_not_doubted_for_words_with_spaces_and_digits(tmp_path):
    words = ["windows 95", "1 2 3", ". . .", "new york", "at name@domain.com", "2 4", "a"]
    rows = "".join(f"{word} 0.5 -1\n" for word in words)
    for count, kept in ((7, rows), (6, rows.removesuffix("a 0.5 -1\n")), (1, "windows 95 0.5 -1")):
        _, got, _ = read(tmp_path / "x", f"{count} 2\n{kept}".encode())
        assert got == words[:count]


@posix_only("makes a named pipe and a link")
def test_things_that_are_no_files(tmp_path):
    with pytest.raises(InvalidInputError, match="no such file"):
        open_vectors(tmp_path / "nowhere.txt")
    with pytest.raises(InvalidInputError, match="is a directory"):
        open_vectors(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInputError, match="not a regular file"):
        open_vectors(tmp_path / "pipe")
    (tmp_path / "x.txt").symlink_to(tmp_path / "x.txt")
    with pytest.raises(InvalidInputError, match="a loop of symbolic links"):
        open_vectors(tmp_path / "x.txt")
    with pytest.raises(InvalidInputError, match="a loop of symbolic links"):
        write_vectors(tmp_path / "x.txt", [(["a"], np.ones((1, 2)))], force=True)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8"])
def test_npy_as_numpy_writes_it(order, dtype, tmp_path):
    array = np.asarray(np.arange(12).reshape(4, 3) / 7, dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", array)
    (tmp_path / "x.vocab").write_text("a\r\nb\r\n\r\nd\r\n")
    source = open_vectors(tmp_path / "x.npy")
    words, vectors = read_all(source)
    assert words == ["a", "b", "", "d"]
    assert (vectors == array.astype(np.float32)).all()


@pytest.mark.parametrize(
    ("array", "words", "said"),
    [
        (np.ones(()), "", "two-dimensional array"),
        (np.ones(3), "a\nb\nc\n", "two-dimensional array"),
        (np.array([["a", "b"]], dtype=object), "a\n", "two-dimensional array"),
        (np.ones((2, 2)), "a\n", "1 words for the 2 vectors"),
        (np.full((2, 2), 1e300), "a\nb\n", "row 1: the vector of 'a' has Inf or a number too"),
        (np.ones((2, 0)), "a\nb\n", "vectors of 0 numbers"),
        (np.ones((0, 2)), "", "contains no vectors"),
    ],
)  # fmt: skip
def test_npy_that_cannot_be_read(array, words, said, tmp_path):
    np.save(tmp_path / "x.npy", array)
    (tmp_path / "x.words.txt").write_text(words)
    with pytest.raises(InvalidInputError, match=said):
        read_all(open_vectors(tmp_path / "x.npy"))


HEADER = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}"


HEADERS = [
    *(HEADER.format("<f4", f"({shape})") for shape in ("-1, 2", "2**62, 4", f"1, {'9' * 9000}")),
    *(HEADER.format("|O", "(1, 2)"), "__import__('os').abort()", "(" * 9000, "\n 'x\n", ""),
]


@pytest.mark.parametrize("text", HEADERS, ids=lambda value: value[-30:])
@pytest.mark.parametrize("longer", [0, 2**32 - 10_000])
def test_hostile_npy_headers_are_refused_in_one_line(text, longer, tmp_path):
    length = (len(text) + longer).to_bytes(4, "little")
    raw = b"\x93NUMPY\x02\x00" + length + text.encode() + b"\0" * 100
    (tmp_path / "x.npy").write_bytes(raw)
    with (
        warnings.catch_warnings(record=True) as raised,
        pytest.raises(InvalidInputError, match=r"two-dimensional array.*\Z") as caught,
    ):
        open_vectors(tmp_path / "x.npy")
    assert not raised
    assert len(str(caught.value)) < 600


def test_a_truncated_array(tmp_path):
    path = tmp_path / "x.npy"
    write_vectors(path, [(["a", "b"], np.ones((2, 5)))])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InvalidInputError, match="or truncated"):
        open_vectors(path)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"word": ["a", "b"], "v": [[1.0, 2.0], [3.0]]}, "row 2: expected a vector of 2"),
        ({"word": ["a", "b"], "v": [[1.0], None]}, "row 2: expected a vector of 1 .* found none"),
        ({"word": ["a", "b"], "v": [[1.0], [None]]}, "row 2: the vector of 'b' has NaN"),
        ({"word": ["a", "b"], "v": [[1.0], [3.0]], "w": [[1.0], [3.0]]}, "several.*: v, w; choose"),
        ({"word": ["a", "b"], "age": [1.0, 2.0]}, "columns are word, age; choose"),
    ],
)
def test_tables_that_cannot_be_read(columns, said, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    table = arrow.table(columns)
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "x.feather")
    for name in ("x.parquet", "x.feather"):
        with pytest.raises(InvalidInputError, match=said):
            read_all(open_vectors(tmp_path / name))


@pytest.mark.parametrize("binary_file", [True, False])
def test_gensim_reads_what_we_write_and_we_what_it_writes(binary_file, tmp_path):
    models = pytest.importorskip("gensim.models")
    rng = np.random.default_rng(5)
    words = ["the", "café", "x\u00a0y", "😀", "1"] + [f"w{i}" for i in range(500)]
    vectors = rng.standard_normal((len(words), 20)).astype(np.float32)
    ours = tmp_path / ("ours.bin" if binary_file else "ours.vec")
    write_vectors(ours, [(words, vectors)])
    theirs = models.KeyedVectors.load_word2vec_format(str(ours), binary=binary_file)
    assert theirs.index_to_key == words
    assert (theirs.vectors == vectors).all()
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=binary_file)
    source = open_vectors(tmp_path / "theirs")
    assert read_all(source)[0] == words
    assert (read_all(source)[1] == vectors).all()


def test_rows_longer_than_what_is_looked_at_first(tmp_path):
    rows = [" ".join([word, *["0.2512345"] * 130_000]) for word in ("a", "b")]
    (tmp_path / "x.txt").write_bytes(("\r\n".join(rows) + "\r\n").encode())
    source = open_vectors(tmp_path / "x.txt")
    words, vectors = read_all(source)
    assert (words, vectors.shape) == (["a", "b"], (2, 130_000))
    assert (vectors == np.float32(0.2512345)).all()


@pytest.mark.parametrize("name", ["x.txt", "x.bin", "x.npy", "x.parquet", "x.feather"])
@pytest.mark.parametrize("how", ["replaced", "rewritten", "shortened"])
def test_a_file_that_changes_between_passes_is_refused(name, how, tmp_path):
    words, rows = [f"w{i}" for i in range(8)], np.ones((8, 4), dtype=np.float32)
    old, new = tmp_path / name, tmp_path / f"new-{name}"
    write_vectors(old, [(words, rows)])
    write_vectors(new, [(words, rows * 2)])
    source = open_vectors(old)
    read_all(source)
    if how == "replaced":
        new.replace(old)
    else:
        old.write_bytes(new.read_bytes()[: 20 if how == "shortened" else None])
    with pytest.raises(InvalidInputError, match="changed while it was being read"):
        read_all(source)


@pytest.mark.parametrize("order", ["C", "F", "int8"])
def test_an_array_shortened_during_a_pass_is_an_error_and_no_crash(order, tmp_path):
    # In another process: reading a mapped page that is gone kills it with SIGBUS.
    rows = np.ones((30_000, 100), dtype=np.float32)
    if order == "int8":
        labels = [f"w{i}" for i in range(len(rows))]
        write_vectors(tmp_path / "x.npy", [(labels, rows)], dtype="int8")
    else:
        np.save(tmp_path / "x.npy", np.asarray(rows, order=order))
    code = """
import os, sys
import conceptor.vectors.files
from conceptor.vectors import open_vectors
conceptor.vectors.files._stamps = lambda _: []  # it changes after the check before a chunk
chunks = open_vectors(sys.argv[1]).chunks()
next(chunks)
os.truncate(sys.argv[1], 1_500_000)
list(chunks)
"""
    process = execute([sys.executable, "-c", code, tmp_path / "x.npy"])
    assert process.returncode == 1
    assert "changed while it was being read" in process.stderr


def test_a_second_pass_gives_the_same_rows_and_findings(tmp_path):
    """Also if the first dropped nothing, after which rows are not checked again."""
    for rows, findings in (("a 1 2\nb 3 4\n", 0), ("a 1 2\nb 3 4\na 5 6\nb nan 1\n", 2)):
        (tmp_path / "x.txt").write_text(rows)
        source = open_vectors(tmp_path / "x.txt", on_error="skip")
        for _ in range(3):
            words, vectors = read_all(source)
            assert (words, vectors.tolist()) == (["a", "b"], [[1, 2], [3, 4]])
            assert len(source.findings.lines()) == findings


@pytest.mark.parametrize("name", ["embeddings", "embedding.weight"])
@pytest.mark.parametrize("vocabulary", [{"the": 1, "##s": 2}, [["-", 0], ["the", 0], ["##s", 0]]])
def test_tokenizers_of_static_models(name, vocabulary, tmp_path):
    save_file({name: np.eye(3)}, tmp_path / "model.safetensors")
    content = {"added_tokens": [{"id": 0, "content": "[PAD]"}], "model": {"vocab": vocabulary}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    words, rows = read_all(open_vectors(tmp_path))
    assert (words, rows.tolist()) == (["[PAD]", "the", "##s"], np.eye(3).tolist())
    content["added_tokens"][0]["content"] = "half a character \ude00"
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        read_all(open_vectors(tmp_path))


def test_words_files_of_others_and_other_line_ends_are_read(tmp_path):
    path = tmp_path / "x.npy"
    old, new, ones = ["a", "b", "c"], ["x", "y", "z"], np.ones((3, 2), dtype=np.float32)
    words = path.with_suffix(".words.txt")
    write_vectors(path, [(old, ones)])
    assert np.load(path).tolist() == ones.tolist()
    assert np.load(path, mmap_mode="r").shape == (3, 2)
    assert words.read_text() == "a\nb\nc\n", "plain lines, as anyone writes them"
    for same in (b"a\r\nb\r\nc\r\n", b"a\nb\nc", b"\xef\xbb\xbfa\nb\nc\n"):
        words.write_bytes(same)
        assert read_all(open_vectors(path))[0] == old
    words.write_text("x\ny\nz\n")
    with pytest.raises(InvalidInputError, match=r"write both again .*numpy\.save"):
        read_all(open_vectors(path))
    np.save(path, ones)
    assert read_all(open_vectors(path))[0] == new


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst"])
def test_a_truncated_file_is_an_error_not_a_shorter_file(compression, tmp_path):
    path = tmp_path / f"x.txt.{compression}"
    words = [f"w{i}" for i in range(5000)]
    write_vectors(path, [(words, np.random.default_rng(0).random((5000, 9), dtype=np.float32))])
    whole = path.read_bytes()
    for size, on_error in ((20, "raise"), (len(whole) // 2, "skip"), (len(whole) - 1, "raise")):
        path.write_bytes(whole[:size])
        with pytest.raises(InvalidInputError, match=r"damaged compressed.*fetch the file again"):
            read_all(open_vectors(path, on_error=on_error))


@pytest.mark.parametrize("module", [bz2, lzma])
def test_a_damaged_second_stream_is_an_error_not_the_end(module, tmp_path):
    lines = [b"".join(b"w%d %d 1\n" % (i, i) for i in range(n, n + 500)) for n in (0, 500)]
    first, second = map(module.compress, lines)
    path = tmp_path / "x"
    path.write_bytes(first + bytes(4) + second + bytes(8))  # zeros may pad streams
    assert len(read_all(open_vectors(path))[0]) == 1000
    for at in (*range(20), *range(20, len(second), 97)):
        damaged = bytearray(second)
        damaged[at] ^= 0xFF
        path.write_bytes(first + damaged)
        try:
            assert len(read_all(open_vectors(path))[0]) == 1000
        except InvalidInputError as error:
            assert "damaged compressed data" in str(error) or at > 0  # noqa: PT017
    for size in (1, 3, 10, len(second) // 2, len(second) - 1):
        path.write_bytes(first + second[:size])
        with pytest.raises(InvalidInputError, match="damaged compressed data"):
            read_all(open_vectors(path))


def test_zip_archives_hold_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("folder/", b"")
        archive.writestr("folder/a.txt", b"a 1 2\n")
    assert read_all(open_vectors(tmp_path / "x.zip"))[0] == ["a"]
    with zipfile.ZipFile(tmp_path / "x.zip", "a") as archive:
        archive.writestr("b.txt", b"a 1 2\n")
    with pytest.raises(InvalidInputError, match="zip archive of 2 files"):
        open_vectors(tmp_path / "x.zip")
