"""Text to float32 and back, against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conceptor.vectors.formats.text import encode, parse_lines

LARGEST = float(np.finfo(np.float32).max)
OVERFLOW = Fraction(2) ** 128 - Fraction(2) ** 103  # from here on the nearest is infinity


def parsed(texts: list[str]) -> np.ndarray:
    _, values, _, bad = parse_lines([("w " + " ".join(texts)).encode()], len(texts))
    assert not bad, bad
    return values[0]


def exact_nearest(text: str) -> float:
    """The definition: compare with every candidate near the value, ties to the even mantissa."""
    value = Fraction(text)
    if abs(value) >= OVERFLOW:
        return float("inf") if value > 0 else float("-inf")
    with np.errstate(over="ignore"):
        centre = np.float32(float(value))
        near = {
            centre,
            np.nextafter(centre, np.float32(9e38)),
            np.nextafter(centre, np.float32(-9e38)),
        }
    finite = [x for x in near if np.isfinite(x)]
    return float(
        min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(np.int32)) & 1))
    )


def decimals() -> st.SearchStrategy[str]:
    digits = st.integers(0, 10**25)
    return st.builds(
        lambda sign, whole, part, exponent: (
            f"{sign}{whole}.{part}" + ("" if exponent is None else f"e{exponent}")
        ),
        st.sampled_from(["", "-", "+"]),
        digits,
        st.from_regex(r"[0-9]{0,30}", fullmatch=True),
        st.none() | st.integers(-60, 45),
    )


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


def test_a_million_random_floats_survive_text():
    bits = np.random.default_rng(7).integers(0, 2**32, 1_000_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)][:900_000].reshape(-1, 100)
    text = encode(["w"] * len(values), values)
    _, read, _, bad = parse_lines(text.removesuffix(b"\n").split(b"\n"), 100)
    assert not bad
    assert (read.view(np.int32) == values.view(np.int32)).all()
    assert len(text) / values.size < 14


def test_short_decimals_stay_short():
    texts = ["0.418", "-0.24968", "0.5", "1.0", "-12.25", "3e+20", "0.00001"]
    assert encode(["w"], parsed(texts)[None]).decode() == f"w {' '.join(texts)}\n"


@given(st.text(alphabet="0123456789.eE+-naif_x", min_size=1, max_size=8))
@settings(max_examples=500, deadline=None)
def test_what_counts_as_a_number(text):
    """Exactly what Python's float takes, without its underscores."""
    bad = parse_lines([f"w {text}".encode()], 1)[3]
    try:
        float(text)
        expected = "_" not in text
    except ValueError:
        expected = False
    assert (not bad) == expected
