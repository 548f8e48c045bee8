"""Text to float32 and back, against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conceptor.postprocessing import convert, postprocess
from conceptor.vectors import open_vectors
from conceptor.vectors.formats.text import encode, parse_lines
from tests.vectors.whole import read_all

LARGEST = float(np.finfo(np.float32).max)
OVERFLOW = Fraction(2) ** 128 - Fraction(2) ** 103  # from here on the nearest is infinity


def parsed(texts: list[str]) -> np.ndarray:
    _, values, _, _, bad = parse_lines(("w " + " ".join(texts)).encode(), len(texts))
    assert not bad, bad
    return values[0]


def exact_nearest(text: str) -> float:
    """The definition: compare with every candidate near the value, ties to the even mantissa."""
    value = Fraction(text)
    if abs(value) >= OVERFLOW:
        return float("inf") if value > 0 else float("-inf")
    with np.errstate(over="ignore"):
        centre = np.float32(float(value))
        near = {centre, *(np.nextafter(centre, np.float32(end)) for end in (9e38, -9e38))}
    finite = [x for x in near if np.isfinite(x)]
    return float(
        min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(np.int32)) & 1))
    )


def decimals() -> st.SearchStrategy[str]:
    return st.from_regex(r"[+-]?[0-9]{1,25}\.[0-9]{0,30}(e-?[1-4]?[0-9])?", fullmatch=True)


@given(st.lists(decimals(), min_size=1, max_size=20))
@example(["16777217", "16777219", "16777217.0000000000000000000000000001"])
@example(["7.006492321624085e-46", "7.0064923216240854e-46", "1e-45", "1e-46", "-1e-46"])
@example(["340282356779733661637539395458142568447", "340282356779733661637539395458142568448"])
@example(["1e400", "-1e400", "1e-400", "0e999999999999999999999", "1e-99999999999999999999"])
@example(["00000000000000000000000000000000000000.1", "." + "0" * 30 + "1e30", "5.", ".5"])
@settings(max_examples=400, deadline=None)
def test_parsed_numbers_are_the_nearest_float32(texts):
    with np.errstate(invalid="ignore"):
        assert [float(x) for x in parsed(texts)] == [_exact(text) for text in texts]


def _exact(text: str) -> float:
    exponent = int(text.partition("e")[2] or 0)
    if abs(exponent) > 1000:  # too far out for a fraction
        mantissa = float(text.partition("e")[0])
        return 0.0 if exponent < 0 or mantissa == 0 else np.copysign(np.inf, mantissa)
    return exact_nearest(text)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
@example([0.0, -0.0, 1e-45, -1e-45, LARGEST, 1.1754944e-38, 9.9999998e-3, 1.0, 123456792.0])
@example([float(np.float32(2.0) ** np.float32(k)) for k in range(-149, 128)])
@settings(max_examples=400, deadline=None)
def test_written_numbers_read_back_as_the_same_float32(values):
    vectors = np.array([values], dtype=np.float32)
    line = encode(["w"], vectors)
    fields = line.decode().split()[1:]
    assert (parsed(fields).view(np.int32) == vectors[0].view(np.int32)).all()
    # Other programs parse to float64 and round, which is the same for so few digits.
    others = np.array([float(field) for field in fields]).astype(np.float32)
    assert (others.view(np.int32) == vectors[0].view(np.int32)).all()
    assert all("." in field or "e" in field for field in fields), "a bare integer"


def test_short_decimals_stay_short():
    texts = ["0.418", "-0.24968", "0.5", "1.0", "-12.25", "3e+20", "0.00001"]
    assert encode(["w"], parsed(texts)[None]).decode() == f"w {' '.join(texts)}\n"


@given(st.text(alphabet="0123456789.eE+-naif_x", min_size=1, max_size=8))
@settings(max_examples=500, deadline=None)
def test_what_counts_as_a_number(text):
    """Exactly what Python's float takes, without its underscores."""
    bad = parse_lines(f"w {text}".encode(), 1)[4]
    try:
        float(text)
        expected = "_" not in text
    except ValueError:
        expected = False
    assert (not bad) == expected


@pytest.mark.parametrize(("decimals", "digits"), [(4, 5), (5, 6), (8, 9)])
def test_mapped_text_shows_the_digits_of_its_source(decimals, digits, tmp_path):
    rows = np.random.default_rng(0).uniform(-5, 5, (200, 20))
    lines = [f"w{i} " + " ".join(f"{x:.{decimals}f}" for x in row) for i, row in enumerate(rows)]
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n")
    postprocess(tmp_path / "x.txt", tmp_path / "y.txt", "cn-paper")
    postprocess(tmp_path / "x.txt", tmp_path / "y.npy", "cn-paper")
    exact = np.load(tmp_path / "y.npy")
    _, written = read_all(open_vectors(tmp_path / "y.txt"))
    if digits > 6:
        assert (written == exact).all()
        return
    assert 0 < np.abs(written / exact - 1).max() < 0.5001 * 10.0 ** (1 - digits)
    mantissas = [
        field.partition("e")[0].lstrip("-0.").replace(".", "")
        for line in (tmp_path / "y.txt").read_text().splitlines()
        for field in line.split()[1:]
    ]
    assert max(map(len, mantissas)) == digits
    # Without a map, every number stays.
    convert(tmp_path / "x.txt", tmp_path / "z.txt")
    _, converted = read_all(open_vectors(tmp_path / "z.txt"))
    assert (converted == rows.round(decimals).astype(np.float32)).all()
