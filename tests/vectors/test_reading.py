"""Files as they are found in the wild, and as they break."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.platforms import posix_only
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
        (b"2 2\na 1 2\nb 3 4\n", "word2vec-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"2 2\na 1 2 \nb 3 4 \n", "word2vec-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"a 1 2\r\nb 3 4\r\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"2 2\r\na 1 2\r\nb 3 4\r\n", "word2vec-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"a 1 2\nb 3 4", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"\n\na 1 2\n\n  \nb 3 4\n\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
        (b"\xef\xbb\xbfa 1 2\nb 3 4\n", "glove-text", ["a", "b"], [[1, 2], [3, 4]]),
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
def test_word2vec_binary_with_and_without_newlines(newline, tmp_path):
    rows = [(b"a", [1.0, 2.0]), ("é\u00a0".encode(), [3.0, 4.0]), (b"\t", [5.0, 6.0])]
    source, words, vectors = read(tmp_path / "x", binary(rows, b"3 2", newline=newline))
    assert source.format == "word2vec-binary"
    assert words == ["a", "é\u00a0", "\t"]
    assert vectors == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("floats", [b"\n\n  \n  \n", b"9\n\r\xbe\x01\x02\x03\x3e"])
def test_binary_whose_floats_look_like_text(floats, tmp_path):
    row = struct.unpack("<2f", floats)
    source, words, vectors = read(tmp_path / "x", binary([(b"a", row), (b"b", row)], b"2 2"))
    assert (source.format, words) == ("word2vec-binary", ["a", "b"])
    assert vectors == [list(row), list(row)]


@pytest.mark.parametrize("block", [64, 100, 1000])
def test_rows_cut_by_the_end_of_a_block(block, tmp_path, monkeypatch):
    words = [f"w{'x' * (i % 50)}{i}" for i in range(500)]
    vectors = np.random.default_rng(0).standard_normal((500, 5)).astype(np.float32)
    for name in ("x.txt", "x.vec", "x.txt.gz", "x.npy", "x.parquet", "x.feather"):
        write_vectors(tmp_path / name, [(words, vectors)], count=500)
    for module in ("text", "npy"):
        monkeypatch.setattr(f"conceptor.vectors.formats.{module}.BLOCK_BYTES", block)
    for name in ("x.txt", "x.vec", "x.txt.gz", "x.npy", "x.parquet", "x.feather"):
        source = open_vectors(tmp_path / name)
        assert read_all(source)[0] == words
        assert (read_all(source)[1] == vectors).all()


def test_duplicates_keep_the_first_and_are_counted(tmp_path):
    source, words, vectors = read(tmp_path / "x", b"6 1\na 1\nb 2\na 3\nc 4\nb 5\na 6\n")
    assert (words, vectors) == (["a", "b", "c"], [[1], [2], [4]])
    assert source.findings.lines() == ["3 duplicate words dropped, the first of each kept"]


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
        assert "rows, but the file has 2; all 2 were read" in source.findings.lines()[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n\n", "not a known vector format"),
        (b"hello world\nthis is no vectors file\n", "not a known vector format"),
        (b"a 1 2\nb 3\nc 5 6\n", "line 2: expected a word and 2 numbers, found 2 fields"),
        (b"a 1 2\nb 3 x\nc 5 6\n", "line 2: expected 2 numbers after the word, found 'x'; repair"),
        (b"3 2\na 1 2\nb 3\nc 5 6\n", "line 3: expected a word and 2 numbers"),
        (b"a 1 2\nb 3 nan\nc 5 6\n", "line 2: the vector of 'b' has NaN; repair"),
        (b"a 1 2\nb -inf 4\nc 5 6\n", "line 2: the vector of 'b' has Inf or a number too large"),
        ("a 1 2\né 1e39 4\n".encode(), "the vector of 'é' has Inf or a number too large for"),
        (b"a 1 2\n\xff\xfe 3 4\nc 5 6\n", "line 2: the word b'.xff.xfe' is not UTF-8"),
        (b"a 1 2\n\xc3 3 4\n\xa9 5 6\n", "line 2: the word b'.xc3' is not UTF-8"),
        (b"2 2\na 1 2 3\nb 4 5 6", "the header says 2 numbers per row, but rows have 3; correct"),
        (b"5 2\n", "says 5 rows, but the file has 0"),
        (b"0 2\n", "contains no vectors"),
        (binary([(b"a", [1.0, 2.0])], b"2 2") + b"b \x00\x00", "the file ends within a row"),
        (binary([(b"a", [1.0, np.nan])], b"1 2"), "row 1: the vector of 'a' has NaN"),
        (binary([(b"\xff", [1.0, 2.0])], b"1 2"), "row 1: the word b'.xff' is not UTF-8"),
        (b"\x80\x04\x95abc", "pickle, which is never opened"),
        (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", "a fastText model of 8 bytes that is truncated"),
        (b"\x89HDF\r\n\x1a\n", "not a known vector format"),
        (b"\x93NUMPY\x01\x00", "not a two-dimensional array"),
        (b"PAR1aaaaPAR1", "not a readable Arrow or Parquet table"),
        (b"ARROW1\x00\x00", "not a readable Arrow or Parquet table"),
        (b"\x1f\x8b\x08garbage", "damaged compressed data"),
        (b"\x28\xb5\x2f\xfdgarbage", "damaged compressed data"),
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


@posix_only("makes a named pipe")
def test_things_that_are_no_files(tmp_path):
    with pytest.raises(InvalidInputError, match="no such file"):
        open_vectors(tmp_path / "nowhere.txt")
    with pytest.raises(InvalidInputError, match="is a directory"):
        open_vectors(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInputError, match="not a regular file"):
        open_vectors(tmp_path / "pipe")


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


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("<f4", "(-1, 2)"), ("<f4", "(2**62, 4)"), ("<f4", f"({'9' * 19}, 2)"), ("|O", "(1, 2)")]
    + [("<f4", f"(1, {'9' * digits})") for digits in (300, 4000, 6000, 9000)],
    ids=lambda value: value[:9],
)
@pytest.mark.parametrize("longer", [0, 2**32 - 10_000])
def test_hostile_npy_headers_are_refused_in_one_line(dtype, shape, longer, tmp_path):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    for text in (header, "__import__('os').abort()", "(" * 9000, "\n 'x\n", ""):
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


@pytest.mark.parametrize(
    ("name", "said"), [("x.npy", "or truncated"), ("x.safetensors", "damaged")]
)
def test_truncated_arrays(name, said, tmp_path):
    write_vectors(tmp_path / name, [(["a", "b"], np.ones((2, 5)))])
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
    with pytest.raises(InvalidInputError, match=said):
        open_vectors(tmp_path / name)


@pytest.mark.parametrize("name", ["embeddings", "embedding.weight", "anything"])
@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_what_model2vec_and_sentence_transformers_save(name, kind, tmp_path):
    from safetensors.numpy import save_file

    vectors = np.random.default_rng(0).random((4, 3), dtype=np.float32)
    save_file({name: vectors, "weights": np.ones(4)}, tmp_path / "model.safetensors")
    tokens = ["[PAD]", "the", "##s", "[UNK]"]
    if kind == "wordpiece":
        vocabulary = {"the": 1, "##s": 2, "[UNK]": 3}
    else:
        vocabulary = [["<none>", 0.0], ["the", -1.0], ["##s", -2.0], ["[UNK]", -3.0]]
    added = [{"id": 0, "content": "[PAD]"}]
    content = {"added_tokens": added, "model": {"vocab": vocabulary}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    source = open_vectors(tmp_path / "model.safetensors")
    words, got = read_all(source)
    assert words == tokens
    assert (got == vectors).all()


def test_half_a_character_in_a_tokenizer_is_refused(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"embeddings": np.eye(2)}, tmp_path / "model.safetensors")
    vocabulary = {"model": {"vocab": {"a": 0, "b\ude00": 1}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(vocabulary))
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        read_all(open_vectors(tmp_path / "model.safetensors"))


def test_bfloat16(tmp_path):
    header = json.dumps({"e": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [0, 4]}}).encode()
    data = np.array([0x3F80, 0xC020], dtype="<u2").tobytes()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + data)
    (tmp_path / "x.words.txt").write_text("a\n")
    assert read_all(open_vectors(tmp_path / "x.safetensors"))[1].tolist() == [[1.0, -2.5]]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, "0 matrices"),
        ({"a": {"dtype": "I8", "shape": [2, 4], "data_offsets": [0, 8]}}, "float vectors"),
        ({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 8]}}, "damaged"),
        ({"a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [-8, 0]}}, "damaged"),
        ({"a": 5}, "damaged"),
        (
            {
                n: {"dtype": "F16", "shape": [1, 2], "data_offsets": [4 * i, 4 * i + 4]}
                for i, n in enumerate("ab")
            },
            "2 matrices",
        ),
    ],
)
def test_safetensors_that_cannot_be_read(header, said, tmp_path):
    raw = json.dumps(header).encode()
    (tmp_path / "x.safetensors").write_bytes(len(raw).to_bytes(8, "little") + raw + b"\0" * 8)
    with pytest.raises(InvalidInputError, match=said):
        open_vectors(tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"word": ["a", "b"], "v": [[1.0, 2.0], [3.0]]},
            "row 2: expected a vector of 2",
        ),
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


@pytest.mark.parametrize("header", ["2 130000\n", ""])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_rows_longer_than_what_is_looked_at_first(header, newline, tmp_path):
    rows = [" ".join([word, *["0.2512345"] * 130_000]) for word in ("a", "b")]
    text = (header + "\n".join(rows) + "\n").replace("\n", newline)
    path = tmp_path / "x.txt"
    path.write_bytes(text.encode())
    source = open_vectors(path)
    assert (source.format, source.dimension) == (
        "word2vec-text" if header else "glove-text",
        130_000,
    )
    words, vectors = read_all(source)
    assert words == ["a", "b"]
    assert (vectors == np.float32(0.2512345)).all()


@pytest.mark.parametrize(
    "name",
    ["x.txt", "x.bin", "x.npy", "x.safetensors", "x.parquet", "x.feather", "m.bin", "static"],
)
@pytest.mark.parametrize("how", ["replaced", "rewritten", "shortened"])
def test_a_file_that_changes_between_passes_is_refused(name, how, tmp_path):
    fuzz_folders = pytest.importorskip("fuzz_folders", reason="benchmarks/ is not here")
    words = [f"w{i}" for i in range(8)]

    def make(path, rows):
        if name == "static":
            pytest.importorskip("tokenizers")
            fuzz_folders.write_static(path, words, rows)
            return path / "model.safetensors"
        if name == "m.bin":
            path.write_bytes(fuzz_folders.fasttext_model(words, rows))
        else:
            write_vectors(path, [(words, rows)])
        return path

    rows = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    old, new = make(tmp_path / name, rows), make(tmp_path / f"new-{name}", rows * 2)
    source = open_vectors(tmp_path / name)
    read_all(source)
    if how == "replaced":
        new.replace(old)
    else:
        old.write_bytes(new.read_bytes()[: 20 if how == "shortened" else None])
    with pytest.raises(InvalidInputError, match="changed while it was being read"):
        read_all(source)


@pytest.mark.parametrize("name", ["x.npy", "x.safetensors"])
def test_an_array_shortened_during_a_pass_is_an_error_and_no_crash(name, tmp_path):
    # In another process: reading a mapped page that is gone kills it with SIGBUS.
    words = [f"w{i}" for i in range(30_000)]
    write_vectors(tmp_path / name, [(words, np.ones((30_000, 100)))])
    code = """
import os, sys
from conceptor.vectors import open_vectors
chunks = open_vectors(sys.argv[1]).chunks()
next(chunks)
os.truncate(sys.argv[1], 5_000_000)
list(chunks)
"""
    process = subprocess.run(
        [sys.executable, "-c", code, tmp_path / name], capture_output=True, text=True, check=False
    )
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


@posix_only("makes symbolic links")
def test_loops_of_links_are_refused(tmp_path):
    (tmp_path / "x.txt").symlink_to(tmp_path / "y.txt")
    (tmp_path / "y.txt").symlink_to(tmp_path / "x.txt")
    with pytest.raises(InvalidInputError, match="a loop of symbolic links"):
        open_vectors(tmp_path / "x.txt")
    with pytest.raises(InvalidInputError, match="a loop of symbolic links"):
        write_vectors(tmp_path / "x.txt", [(["a"], np.ones((1, 2)))], force=True)


# Evidence: text is taken for vectors only if its lines look like them


@pytest.mark.parametrize(
    "text",
    [
        "a 1 2 3\nb 1 2\nc 1\n",
        "".join(f"w{i} {' '.join('1' * (2 + i % 2))}\n" for i in range(40)),
        "tiger cat 7.35\nbook paper 7.46\n",  # scored pairs
        "the 1061396\nof 593677\nand 416629\n",  # counts
        "0.5 1 2\n1e-3 2 3\n-0.25 3 4\n",  # a matrix
        "old\tnew\tA\t1.5 2\ncat\tdog\tN\t2.5 3\na\tb\tV\t1.0 2\n",  # a table of pairs
        "It rains.\nIt is late.\n",
    ],
)
def test_text_that_is_no_vectors_is_refused(text, tmp_path):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(InvalidInputError, match="not a known vector format") as refused:
        open_vectors(tmp_path / "x.txt")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["1 2\n3 4\n5 6\n", "1 300\n2 4\n", "10 1\n12 3\n14 5\n"])
def test_counts_that_begin_like_a_header_are_refused(text, tmp_path):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(InvalidInputError, match=r"expected a word and|says 10 rows, but .* has 2"):
        read_all(open_vectors(tmp_path / "x.txt"))


def test_a_few_damaged_lines_are_reported_one_by_one(tmp_path):
    lines = [f"w{i} 1 1 1" for i in range(20)]
    (tmp_path / "y.txt").write_text("\n".join([*lines, "a 1 1"]))
    with pytest.raises(InvalidInputError, match="line 21: expected a word and 3 numbers"):
        read_all(open_vectors(tmp_path / "y.txt"))
