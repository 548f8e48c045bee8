from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conceptor import ConceptorNegation, InvalidInputError, Moments
from conceptor.algebra.aperture import (
    LARGEST_QUOTA,
    isotropy,
    leading_aperture,
    noise_aperture,
    quota_aperture,
    scale_free_aperture,
    second_aperture,
    suggested_aperture,
)
from conceptor.algebra.gates import negated_conceptor
from conceptor.weights import rank_weights

positive = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=12).map(np.array)
scales = st.floats(1e-4, 1e4)

RULES = {
    "suggested": lambda values: suggested_aperture(values, 1000, 40),
    "suggested, uniform": lambda values: suggested_aperture(values, 1000),
    "noise": lambda values: noise_aperture(values, 40),
    "quota": lambda values: quota_aperture(values, 0.3),
    "leading": lambda values: leading_aperture(values, 0.2),
    "second": lambda values: second_aperture(values, 3.0),
    "scale-free": lambda values: scale_free_aperture(values, 0.7),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(values=positive, scale=scales)
@example(values=np.array([1e-3, 1e-3]), scale=1e-4)
def test_scaling_the_vectors_scales_the_aperture_back(rule, values, scale):
    """Vectors times s: λ times s², and α² λ stays, which is all a gate depends on."""
    assert rule(values * scale**2) * scale == pytest.approx(rule(values), rel=1e-3)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(values=positive)
def test_directions_that_nothing_uses_have_no_say(rule, values):
    padded = np.concatenate([values, np.zeros(3)])
    assert rule(padded) == pytest.approx(rule(values), rel=1e-6)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_no_variance_is_no_aperture(rule):
    assert rule(np.zeros(4)) == 0.0


@given(values=positive, quota=st.floats(0.02, 0.95))
def test_a_quota_is_met(values, quota):
    gate = negated_conceptor(values, quota_aperture(values, quota))
    assert (1 - gate).mean() == pytest.approx(quota, abs=1e-6)


@given(values=positive, kept=st.floats(0.01, 0.99))
def test_what_is_kept_of_the_first_direction_is_met(values, kept):
    gate = negated_conceptor(values, leading_aperture(values, kept))
    assert gate[values.argmax()] == pytest.approx(kept)


def second_at_mean_one(values):
    """The second eigenvalue over the mean of all, at least 1."""
    return max(1.0, (np.sort(values) / values.mean())[-2] if len(values) > 1 else 1.0)


@given(values=positive, effective=st.floats(2, 250))
def test_usage_lies_between_what_is_known_and_what_stands_out_or_caps_the_quota(values, effective):
    alpha = suggested_aperture(values, 1000, effective)
    quota = (1 - negated_conceptor(values, alpha)).mean()
    squared = np.sqrt(effective / len(values)) * 5.5 / second_at_mean_one(values)
    assert quota <= LARGEST_QUOTA + 1e-6
    found = alpha**2 * values.mean()
    assert found == pytest.approx(squared, rel=1e-6) or quota == pytest.approx(LARGEST_QUOTA)
    assert found <= squared * (1 + 1e-6)


@given(values=positive)
def test_words_that_count_the_same_look_at_the_second_direction(values):
    for effective in (None, 1000, 999.9, 750):
        alpha = suggested_aperture(values, 1000, effective)
        assert alpha * np.sqrt(values.mean()) == pytest.approx(3 / second_at_mean_one(values))


@given(values=positive, anywhere=st.integers(200, 790))
def test_from_use_to_equal_weights_nothing_jumps(values, anywhere):
    """Of 1000 words: ten steps of one at either end of the transition, and ten somewhere."""
    ends = np.log([suggested_aperture(values, 1000, effective) for effective in (250, 750)])
    for start in (245, 745, anywhere):
        counts = range(start, start + 11)
        found = np.log([suggested_aperture(values, 1000, effective) for effective in counts])
        assert np.abs(np.diff(found)).max() <= abs(ends[1] - ends[0]) / 100 + 0.01
        assert (np.minimum(*ends) - 0.3 <= found).all()
        assert (found <= np.maximum(*ends) + 0.3).all()


def test_a_flat_spectrum_is_isotropic_and_one_direction_is_not():
    assert isotropy(np.ones(7)) == pytest.approx(1)
    assert isotropy(np.eye(7)[0]) == pytest.approx(1 / 7)


@pytest.mark.parametrize("quota", [0.0, 1.0, -1.0, np.nan])
def test_impossible_quotas_are_refused(quota):
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        quota_aperture(np.ones(3), quota)
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        leading_aperture(np.ones(3), quota)


class TestEstimator:
    @pytest.mark.parametrize("weights", ["uniform", "zipf"])
    @pytest.mark.parametrize("scale", [0.1, 10.0])
    def test_auto_is_scale_free(self, vectors, weights, scale):
        small = ConceptorNegation("auto", weights=weights).fit(vectors)
        large = ConceptorNegation("auto", weights=weights).fit(scale * vectors)
        assert large.aperture_ * scale == pytest.approx(small.aperture_)
        expected = scale * small.transform(vectors)
        np.testing.assert_allclose(large.transform(scale * vectors), expected, rtol=1e-8)

    def test_zipf_is_sample_weight_by_rank(self, vectors):
        ranked = ConceptorNegation("auto", weights="zipf").fit(vectors)
        weighed = ConceptorNegation("auto").fit(vectors, sample_weight=rank_weights(0, 500))
        assert ranked.aperture_ == weighed.aperture_
        np.testing.assert_array_equal(ranked.map_.matrix, weighed.map_.matrix)

    def test_ranks_and_squares_go_on_from_chunk_to_chunk(self, vectors):
        whole = ConceptorNegation("auto", weights="zipf").fit(vectors)
        parts = ConceptorNegation("auto", weights="zipf")
        for part in np.array_split(vectors, 7):
            parts.partial_fit(part)
        assert parts.aperture_ == pytest.approx(whole.aperture_)
        np.testing.assert_allclose(parts.map_.matrix, whole.map_.matrix, atol=1e-12)

    def test_the_scale_of_the_weights_does_not_matter(self, vectors):
        weights = rank_weights(0, 500)
        one = ConceptorNegation("auto").fit(vectors, sample_weight=weights)
        other = ConceptorNegation("auto").fit(vectors, sample_weight=1e6 * weights)
        assert other.aperture_ == pytest.approx(one.aperture_)

    def test_provenance_and_conceptor_hold_the_aperture_that_was_used(self, vectors):
        fitted = ConceptorNegation("auto", weights="zipf").fit(vectors)
        assert fitted.map_.provenance["aperture"] == fitted.aperture_
        assert fitted.map_.provenance["parameters"]["aperture"] == "auto"
        negated = np.eye(12) - fitted.conceptor_.matrix
        np.testing.assert_allclose(negated, fitted.map_.matrix, atol=1e-10)

    def test_parameters_are_read_at_fit(self, vectors):
        fitted = ConceptorNegation("auto").fit(vectors)
        before = fitted.aperture_
        fitted.aperture = 7.0
        assert fitted.aperture_ == before

    def test_merged_moments_choose_the_same(self, vectors):
        weights = rank_weights(0, 500)
        merged = Moments.from_vectors(vectors[200:], weights[200:]) + Moments.from_vectors(
            vectors[:200], weights[:200]
        )
        direct = ConceptorNegation("auto").fit(vectors, sample_weight=weights)
        uniform = ConceptorNegation("auto").fit(vectors)
        fitted = ConceptorNegation("auto").fit_moments(merged)
        assert fitted.aperture_ == pytest.approx(direct.aperture_)
        assert fitted.aperture_ != pytest.approx(uniform.aperture_)

    def test_two_kinds_of_weights_exclude_each_other(self, vectors):
        with pytest.raises(InvalidInputError, match="exclude"):
            ConceptorNegation(weights="zipf").fit(vectors, sample_weight=np.ones(500))

    def test_other_words_for_aperture_and_weights_are_refused(self, vectors):
        with pytest.raises(ValueError, match="aperture"):
            ConceptorNegation("best").fit(vectors)
        with pytest.raises(ValueError, match="weights"):
            ConceptorNegation(weights="counts").fit(vectors)
