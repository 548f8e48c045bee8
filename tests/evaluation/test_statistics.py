from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from conceptor.evaluation.statistics import (
    Masked,
    Mean,
    PearsonCorrelation,
    Purity,
    SpearmanCorrelation,
    paired_differences,
    value,
    weighted_ranks,
)

# Few distinct numbers, so that ties are the rule.
tied = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=2, max_size=30)


def counts_of(drawn: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(drawn, minlength=size).astype(float)[:, None]


@pytest.mark.parametrize("size", [2, 3, 50])
@pytest.mark.parametrize(
    ("statistic", "reference"),
    [(SpearmanCorrelation, stats.spearmanr), (PearsonCorrelation, stats.pearsonr)],
)
def test_correlations_equal_scipy_on_every_resample(statistic, reference, size, rng):
    x, y = rng.integers(0, 9, size).astype(float), rng.normal(size=size)
    ours = statistic(x, y)
    if np.unique(x).size > 1:
        assert value(ours) == pytest.approx(reference(x, y)[0], abs=1e-12)
    for _ in range(20):
        drawn = rng.integers(0, size, size)
        if np.unique(x[drawn]).size < 2 or np.unique(y[drawn]).size < 2:
            continue
        expected = reference(x[drawn], y[drawn])[0]
        assert ours(counts_of(drawn, size))[0] == pytest.approx(expected, abs=1e-10)


@given(tied, st.data())
def test_ranks_within_a_resample_are_those_of_the_repeated_values(pairs, data):
    values = np.array([pair[0] for pair in pairs], dtype=float)
    times = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    )
    ranks = weighted_ranks(values, times[:, None].astype(float))[:, 0]
    repeated = np.repeat(np.arange(len(values)), times)
    expected = stats.rankdata(values[repeated]) if len(repeated) else []
    np.testing.assert_allclose(ranks[repeated], expected)


def test_correlations_of_constants_and_of_nothing_are_undefined():
    ramp, flat, empty = np.arange(5.0), np.full(5, 0.1), np.empty(0)
    for statistic in (SpearmanCorrelation, PearsonCorrelation):
        assert np.isnan(value(statistic(flat, ramp)))
        assert np.isnan(value(statistic(ramp, flat)))
        assert np.isnan(value(statistic(empty, empty)))
    assert np.isnan(value(Mean(np.empty(0, dtype=bool))))
    assert np.isnan(value(Purity(np.empty(0, dtype=int), np.empty(0, dtype=int))))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_purity_is_the_share_of_each_clusters_commonest_category(items):
    clusters, categories = np.array(items).T
    score = value(Purity(clusters, categories))
    right = 0
    for cluster in set(clusters):
        inside = list(categories[clusters == cluster])
        right += max(inside.count(category) for category in inside)
    assert score == pytest.approx(right / len(items))


def correlated(rng, size, strength):
    gold = rng.normal(size=size)
    return gold, gold * strength + rng.normal(size=size)


def test_a_method_that_changes_nothing_gains_nothing_exactly(rng):
    gold, predicted = correlated(rng, 80, 1.0)
    same = SpearmanCorrelation(predicted, gold)
    # A monotone change keeps every rank, so also every resample's difference is exactly zero.
    monotone = SpearmanCorrelation(np.exp(predicted), gold)
    found = paired_differences({"a": same}, [{"a": same}, {"a": monotone}])["a"]
    assert (found.measured == 0).all()
    assert (found.resampled == 0).all()


def test_what_vectors_do_not_cover_changes_no_draw(rng):
    """Items outside `kept` may be anything, and where all are kept nothing is different."""
    gold, weak = correlated(rng, 60, 0.5)
    strong = gold + 0.1 * rng.normal(size=60)
    for kept in (np.ones(60, dtype=bool), rng.random(60) < 0.5, np.arange(60) == 7):
        base, better = (
            Masked(PearsonCorrelation(each[kept], gold[kept]), kept) for each in (weak, strong)
        )
        found = paired_differences({"a": base}, [{"a": better}], resamples=50)["a"]
        whole = paired_differences(
            {"a": Mean(np.ones(60, bool))},
            [{"a": Restricted(weak, gold, kept)}, {"a": Restricted(strong, gold, kept)}],
            resamples=50,
        )["a"]
        expected = whole.resampled[1] - whole.resampled[0]
        np.testing.assert_allclose(found.resampled[0], expected, atol=1e-9)
        assert np.isfinite(found.resampled).all() == (kept.sum() > 20)


class Restricted:
    """Pearson's r of the items kept, by repeating each as often as it was drawn."""

    def __init__(self, predicted, gold, kept):
        self.parts = (predicted, gold, kept)

    def __len__(self):
        return len(self.parts[1])

    def __call__(self, weights):
        predicted, gold, kept = self.parts
        scores = []
        for column in weights.T:
            drawn = np.repeat(np.arange(len(self)), column.astype(int))
            drawn = drawn[kept[drawn]]
            scores.append(value(PearsonCorrelation(predicted[drawn], gold[drawn])))
        return np.array(scores)


def test_intervals_are_deterministic_and_do_not_depend_on_company(rng):
    gold, weak = correlated(rng, 120, 0.5)
    _, strong = gold, gold + 0.1 * rng.normal(size=120)
    base, better = PearsonCorrelation(weak, gold), PearsonCorrelation(strong, gold)
    alone = paired_differences({"a": base}, [{"a": better}], resamples=300)["a"]
    company = paired_differences(
        {"b": better, "a": base}, [{"a": base, "b": base}, {"a": better, "b": base}], resamples=300
    )["a"]
    np.testing.assert_array_equal(alone.resampled[0], company.resampled[1])
    other_seed = paired_differences({"a": base}, [{"a": better}], resamples=300, seed=1)["a"]
    assert not np.array_equal(alone.resampled, other_seed.resampled)


def test_the_interval_is_that_of_a_plain_bootstrap_loop(rng):
    gold, weak = correlated(rng, 150, 0.4)
    strong = weak + gold
    base, better = SpearmanCorrelation(weak, gold), SpearmanCorrelation(strong, gold)
    found = paired_differences({"a": base}, [{"a": better}], resamples=2000)["a"].interval(0)
    gains = []
    for _ in range(2000):
        drawn = rng.integers(0, 150, 150)
        gains.append(
            stats.spearmanr(strong[drawn], gold[drawn])[0]
            - stats.spearmanr(weak[drawn], gold[drawn])[0]
        )
    low, high = 100 * np.percentile(gains, [2.5, 97.5])
    # Two draws of 2,000 resamples: their ends differ by chance only.
    assert found.low == pytest.approx(low, abs=1.5)
    assert found.high == pytest.approx(high, abs=1.5)
    assert found.low < found.difference < found.high
    assert found.low > 0
