from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from conceptor import AffineMap, ConceptorNegation
from conceptor.base.errors import InvalidInputError
from tests.strategies import dimensions, seeds


@st.composite
def linear_maps(draw: st.DrawFn, n_in: int, n_out: int) -> AffineMap:
    rng = np.random.default_rng(draw(seeds))
    offset = rng.standard_normal(n_in) if draw(st.booleans()) else None
    bias = rng.standard_normal(n_out) if draw(st.booleans()) else None
    return AffineMap(rng.standard_normal((n_in, n_out)), offset, bias)


shapes = st.tuples(dimensions, dimensions)


@given(map_=shapes.flatmap(lambda s: linear_maps(*s)), seed=seeds)
def test_it_is_the_formula_row_by_row(map_, seed) -> None:
    X = np.random.default_rng(seed).standard_normal((5, map_.n_in))
    expected = [map_.matrix.T @ (x - map_.offset) + map_.bias for x in X]
    assert np.allclose(map_(X), expected, atol=1e-12)


@given(
    maps=st.tuples(dimensions, dimensions, dimensions).flatmap(
        lambda s: st.tuples(linear_maps(s[0], s[1]), linear_maps(s[1], s[2]))
    ),
    seed=seeds,
)
def test_composition_is_one_after_the_other(maps, seed) -> None:
    f, g = maps
    X = np.random.default_rng(seed).standard_normal((5, f.n_in))
    assert np.allclose((f @ g)(X), g(f(X)), atol=1e-10)


def test_inverse_undoes_and_composes_to_the_identity(vectors) -> None:
    f = ConceptorNegation(2.0, unit=False).fit(vectors).map_
    f = f @ AffineMap(np.eye(12), np.arange(12.0))
    assert np.allclose(f.inverse()(f(vectors)), vectors, atol=1e-9)
    assert np.allclose((f @ f.inverse()).matrix, np.eye(12), atol=1e-9)


def test_a_map_may_bring_vectors_to_length_one_first(tmp_path, vectors, rng) -> None:
    rows = np.vstack([vectors * rng.uniform(1e-3, 1e3, size=(len(vectors), 1)), np.zeros((1, 12))])
    plain = AffineMap(rng.normal(size=(12, 5)), rng.normal(size=12), rng.normal(size=5))
    unit = AffineMap(plain.matrix, plain.offset, plain.bias, unit=True)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    expected = plain(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))
    assert np.allclose(unit(rows), expected)
    assert np.allclose(unit(rows[3]), expected[3])
    assert np.allclose(unit(rows.astype(np.float32)), expected, atol=1e-5)
    unit.save(tmp_path / "map")
    assert np.array_equal(AffineMap.load(tmp_path / "map")(rows), unit(rows))
    after = AffineMap(rng.normal(size=(5, 3)))
    assert np.allclose((unit @ after)(rows), after(unit(rows)))
    for lost in (lambda: after @ AffineMap(np.eye(3), unit=True), unit.inverse):
        with pytest.raises(InvalidInputError, match="length 1"):
            lost()


def test_lengths_beyond_the_range_of_squares() -> None:
    unit = AffineMap(np.eye(2), unit=True)
    for scale in (1e-300, 1e-170, 1e170, 1e300):
        assert np.allclose(unit(np.array([[3.0, 4.0], [0.0, 0.0]]) * scale), [[0.6, 0.8], [0, 0]])
    rows = np.array([[3e38, 3e38], [1e-45, 0.0]], dtype=np.float32)
    assert np.allclose(unit(rows), [[0.5**0.5, 0.5**0.5], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [(np.diag([1.0, 0.0, 2.0]), "drops 1 of 3"), (np.ones((3, 2)), "from 3 to 2")],
)
def test_what_is_lost_stays_lost(matrix, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        AffineMap(matrix).inverse()


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_blocks_in_any_layout(rng, offset) -> None:
    X = rng.standard_normal((5000, 40), dtype=np.float32)  # several blocks
    map_ = AffineMap(rng.standard_normal((40, 40)), np.full(40, offset))
    expected = ((X.astype(float) - offset) @ map_.matrix).astype(np.float32)
    for source in (X, np.asfortranarray(X), X[:, ::-1][:, ::-1]):
        assert np.allclose(map_(source), expected, atol=1e-4)


def test_the_offset_comes_off_first(rng) -> None:
    """Far from the origin, ``x A − m A`` in float32 keeps no correct digit of the result."""
    X = (rng.standard_normal((100, 8)) + 1e5).astype(np.float32)
    A = rng.standard_normal((8, 8))
    mean = X.mean(axis=0, dtype=float)
    expected = (X - mean) @ A
    assert np.abs(AffineMap(A, mean)(X) - expected).max() < 0.02
    assert np.abs((X @ A.astype(np.float32)) - (mean @ A) - expected).max() > 0.02


def test_saved_maps_come_back_to_the_last_bit_with_their_provenance(tmp_path, vectors) -> None:
    fitted = ConceptorNegation(aperture=np.float32(2)).fit(vectors).map_
    fitted.save(tmp_path / "m")
    map_ = AffineMap.load(tmp_path / "m")
    assert (map_(vectors) == fitted(vectors)).all()
    assert map_.provenance["method"] == "cn"
    assert map_.provenance["parameters"] == {"aperture": 2.0, "power": 0.5}
    assert (map_.provenance["count"], map_.provenance["dimension"]) == (500, 12)
    assert map_.provenance["library"].startswith("conceptor ")
    assert repr(map_) == "AffineMap(12 -> 12, method=cn)"


def saved(tmp_path, **changes) -> str:
    parts = {"matrix": np.eye(3), "offset": np.zeros(3), "bias": np.zeros(3)}
    metadata = {"format": "conceptor.AffineMap/1", "provenance": "{}", "unit": "false"}
    for name, value in changes.items():
        target = metadata if name in metadata else parts
        if value is None:
            del target[name]
        else:
            target[name] = value
    save_file(parts, tmp_path / "map", metadata=metadata)
    return str(tmp_path / "map")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something"}, "its format is"),
        ({"format": None}, "its format is"),
        ({"provenance": "{"}, "not a saved map"),
        ({"provenance": "[1]"}, "not a saved map"),
        ({"bias": None}, "not a saved map"),
        ({"offset": np.zeros(4)}, "is damaged: a 3 x 3 map needs"),
        ({"matrix": np.full((3, 3), np.nan)}, "is damaged: .* NaN"),
        ({"matrix": np.zeros(3)}, "is damaged"),
    ],
)
def test_files_that_are_not_maps_are_refused(tmp_path, changes, message) -> None:
    AffineMap.load(saved(tmp_path))  # the untouched one is fine
    with pytest.raises(InvalidInputError, match=message):
        AffineMap.load(saved(tmp_path, **changes))
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InvalidInputError, match="no such file"):
            AffineMap.load(path)


@given(data=st.data())
def test_any_cut_or_flipped_file_is_an_invalid_input(tmp_path_factory, data) -> None:
    path = tmp_path_factory.mktemp("maps") / "map"
    AffineMap(np.eye(2), provenance={"method": "x"}).save(path)
    content = bytearray(path.read_bytes())
    cut = data.draw(st.integers(0, len(content) - 1))
    path.write_bytes(content[:cut])
    with pytest.raises(InvalidInputError):
        AffineMap.load(path)
    content[cut] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    # A flip in the numbers cannot be told from other numbers; any other is refused.
    with contextlib.suppress(InvalidInputError):
        AffineMap.load(path)


def test_another_dimension_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="3-dimensional vectors; these have 4"):
        AffineMap(np.eye(3))(np.zeros((2, 4)))
    with pytest.raises(InvalidInputError, match="to 3 dimensions cannot be followed by one from 4"):
        AffineMap(np.eye(3)) @ AffineMap(np.eye(4))
    with pytest.raises(TypeError):
        AffineMap(np.eye(3)) @ np.eye(3)
