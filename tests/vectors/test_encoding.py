"""Bytes and bits with scales: what they cost, who can read them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.formats.encoding import Encoding
from tests.vectors.whole import cut, read_all

WORDS = ["the", "a b", "\u2028", "", "\ufeffx", *(f"w{i}" for i in range(95))]

rows_of_floats = st.integers(1, 19).flatmap(
    lambda n: arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.just(n)),
        elements=st.floats(-(2.0**120), 2.0**120, width=32, allow_subnormal=False),
    )
)


@given(rows_of_floats)
def test_a_byte_is_off_by_half_a_step_at_most(X):
    encoding = Encoding("int8", X.shape[1])
    codes, scales = encoding.encode(X)
    off = np.abs(encoding.decode(codes, scales).astype(np.float64) - X)
    step = scales.astype(np.float64)[:, np.newaxis]
    # Numbers below the smallest normal one have few digits, and so has their scale.
    assert (off <= 0.5001 * step + 130 * np.finfo(np.float32).smallest_subnormal).all()
    assert codes.dtype == np.int8
    assert (np.abs(codes.astype(int)) <= 127).all()


@given(rows_of_floats)
def test_bits_are_signs_and_no_other_scale_is_nearer(X):
    encoding = Encoding("binary", X.shape[1])
    codes, scales = encoding.encode(X)
    assert (codes == np.packbits(X > 0, axis=1)).all()
    back = encoding.decode(codes, scales)
    assert back.dtype == np.float32
    assert ((back > 0) == ((X > 0) & (scales > 0)[:, np.newaxis])).all()
    signs = np.where(X > 0, 1.0, -1.0)
    best = (signs * X.astype(np.float64)).mean(axis=1)  # of all ±s, by least squares
    np.testing.assert_allclose(scales, best, rtol=1e-6, atol=1e-40)


@pytest.mark.parametrize("dtype", ["int8", "binary"])
@pytest.mark.parametrize("dimension", [1, 7, 8, 50])
def test_files_hold_what_the_encoding_makes(dtype, dimension, tmp_path, rng):
    X = rng.standard_normal((100, dimension)).astype(np.float32) * rng.gamma(1, 1, (100, 1))
    X = X.astype(np.float32)
    X[3] = 0
    chunks = [(WORDS[:30], X[:30]), (WORDS[30:], X[30:])]
    write_vectors(tmp_path / "x.npy", chunks, dtype=dtype)
    source = open_vectors(tmp_path / "x.npy")
    assert source.dimension == dimension
    words, read = read_all(source)
    assert words == WORDS
    encoding = Encoding(dtype, dimension)
    np.testing.assert_array_equal(read, encoding.decode(*encoding.encode(X)))
    assert (read[3] == 0).all()
    write_vectors(tmp_path / "again.npy", cut(source, 7), dtype=dtype)
    np.testing.assert_allclose(read_all(open_vectors(tmp_path / "again.npy"))[1], read, rtol=1e-6)


def test_numpy_reads_records(tmp_path, rng):
    X = rng.standard_normal((100, 50)).astype(np.float32)
    write_vectors(tmp_path / "x.npy", [(WORDS, X)], dtype="int8")
    table = np.load(tmp_path / "x.npy", mmap_mode="r")
    back = table["vector"] * table["scale"][:, np.newaxis]
    np.testing.assert_array_equal(back, read_all(open_vectors(tmp_path / "x.npy"))[1])
    write_vectors(tmp_path / "b.npy", [(WORDS, X)], dtype="binary")
    bits = np.unpackbits(np.load(tmp_path / "b.npy")["bits"], axis=1, count=50)
    assert (bits == (X > 0)).all()
    assert (tmp_path / "b.npy").stat().st_size == 256 + 100 * (7 + 4)


@pytest.mark.parametrize(
    "kind",
    [
        [("vector", "i1", (4,))],
        [("vector", "i1", (4,)), ("scale", "<f8")],
        [("bits", "u1", (4,)), ("scale", "<f4")],
        [(("many bits", "bits"), "u1", (4,)), ("scale", "<f4")],
        [("vector", "O"), ("scale", "<f4")],
    ],
)
def test_records_of_another_kind_are_refused(kind, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(2, dtype=kind), allow_pickle=True)
    with pytest.raises(InvalidInputError, match="two-dimensional array"):
        open_vectors(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("name", "dtype", "size"),
    [
        *[("x.npy", "float16", 1e-9), ("x.npy", "int8", 1e-44), ("x.npy", "binary", 1e-45)],
        *[("x.parquet", "float16", 1e-9), ("x.feather", "float16", 1e-9)],
    ],
)
def test_rows_too_small_to_keep_are_refused(tmp_path, rng, name, dtype, size):
    rows = rng.standard_normal((100, 6)).astype(np.float32)
    rows[3] = 0  # a zero stays one
    write_vectors(tmp_path / name, [(WORDS, rows)], dtype=dtype)
    rows[7] = [0, 0, 0, 0, 0, size]
    with pytest.raises(InvalidInputError, match=f"'w2' is too small for {dtype} and would become"):
        write_vectors(tmp_path / name, [(WORDS, rows)], dtype=dtype, force=True)
