"""Random matrices, spectra and conceptors, the degenerate ones included."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from conceptor import Conceptor

dimensions = st.integers(1, 8)
seeds = st.integers(0, 2**32 - 1)
apertures = st.floats(0.05, 20)
factors = st.floats(0.1, 10)


def rotation(dimension: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dimension,) * 2))[0]


@st.composite
def spectra(draw: st.DrawFn, dimension: int) -> np.ndarray:
    """Eigenvalues over many magnitudes, exact zeros among them."""
    value = st.one_of(st.just(0.0), st.floats(1e-6, 1e3))
    return np.array(draw(st.lists(value, min_size=dimension, max_size=dimension)))


@st.composite
def second_moments(draw: st.DrawFn, dimension: int) -> np.ndarray:
    Q = rotation(dimension, draw(seeds))
    R = (Q * draw(spectra(dimension))) @ Q.T
    return (R + R.T) / 2


@st.composite
def conceptors(draw: st.DrawFn, dimension: int, *, soft: bool = False) -> Conceptor:
    """Conceptors of any rank; unless `soft`, some directions are exactly out or exactly in."""
    values = st.floats(1e-3, 1 - 1e-3)
    if not soft:
        values = st.one_of(st.just(0.0), st.just(1.0), values)
    s = np.array(draw(st.lists(values, min_size=dimension, max_size=dimension)))
    with np.errstate(divide="ignore"):
        odds = s / (1 - s)
    return Conceptor(odds, rotation(dimension, draw(seeds)), draw(st.none() | apertures))


@st.composite
def conceptor_tuples(draw: st.DrawFn, size: int, *, soft: bool = False) -> tuple[Conceptor, ...]:
    """Several conceptors of one dimension."""
    dimension = draw(dimensions)
    return tuple(draw(conceptors(dimension, soft=soft)) for _ in range(size))
