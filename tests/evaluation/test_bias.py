from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from conceptor.evaluation.bias import EffectSize, association_test, compare_bias
from conceptor.evaluation.statistics import value
from conceptor.vectors.table import WordVectors


def permutation_p_value(first, second):
    """The p-value of words whose association is that with a single attribute."""
    values = np.concatenate([first, second])
    return EffectSize(np.column_stack([values, 0 * values]), (len(first), 1)).p


def test_the_effect_size_is_the_formula(rng) -> None:
    cosines = rng.standard_normal((14, 9))
    each = cosines[:, :4].mean(axis=1) - cosines[:, 4:].mean(axis=1)
    first, second = each[:8], each[8:]
    expected = (first.mean() - second.mean()) / each.std(ddof=1)
    effect = EffectSize(cosines, (8, 4))
    assert value(effect) == pytest.approx(expected)
    assert effect.p == permutation_p_value(first, second)
    assert repr(effect).startswith(f"EffectSize(d={value(effect):.2f}, p={effect.p:.2g}, ")


def test_a_weight_is_a_number_of_copies_of_a_word_or_an_attribute(rng) -> None:
    cosines = rng.standard_normal((5, 4))
    counts = np.array([2, 0, 1, 3, 1, 1, 0, 2, 2])
    copies = np.repeat(np.repeat(cosines, counts[:5], axis=0), counts[5:], axis=1)
    weighted = EffectSize(cosines, (2, 2))(counts[:, None].astype(float))[0]
    assert weighted == pytest.approx(value(EffectSize(copies, (2, 1))))
    assert np.isnan(EffectSize(cosines, (2, 2))(np.eye(9)[:, :1])[0])


@pytest.mark.parametrize(("left", "right"), [(4, 5), (6, 6)])
def test_all_divisions_are_counted(rng, left, right) -> None:
    first, second = rng.standard_normal(left) + 0.8, rng.standard_normal(right)
    both = set(range(left + right))
    values = np.concatenate([first, second])
    differences = [
        abs(values[list(part)].mean() - values[list(both - set(part))].mean())
        for part in itertools.combinations(range(left + right), left)
    ]
    expected = np.mean(np.array(differences) >= abs(first.mean() - second.mean()) - 1e-12)
    assert permutation_p_value(first, second) == pytest.approx(expected)


def test_the_sign_does_not_matter_and_random_divisions_agree(rng) -> None:
    first, second = rng.standard_normal(8) + 1, rng.standard_normal(8)
    assert permutation_p_value(first, second) == permutation_p_value(second, first)
    # Ten on either side are too many for all divisions; the t test says about the same.
    first, second = rng.standard_normal(10) + 0.8, rng.standard_normal(10)
    expected = stats.ttest_ind(first, second).pvalue
    assert permutation_p_value(first, second) == pytest.approx(expected, rel=0.3)


def test_an_association_and_its_reverse() -> None:
    axes = np.eye(3)
    words = {"m1": axes[0], "m2": axes[0] + 0.1 * axes[2], "f1": axes[1], "f2": axes[1]}
    words |= {"math": axes[0] + axes[2], "art": axes[1] + axes[2], "sum": axes[0] + 2 * axes[2],
              "song": axes[1] + 2 * axes[2]}  # fmt: skip
    table = WordVectors(list(words), np.array(list(words.values())))
    lists = (["math", "sum"], ["art", "song"], ["m1", "m2"], ["f1", "f2"])
    test = association_test("t", *lists).score(table)
    reverse = association_test("t", lists[1], lists[0], *lists[2:]).score(table)
    assert value(test) == pytest.approx(-value(reverse))
    assert value(test) > 1
    assert (test.p, len(test)) == (2 / 6, 8)


def test_too_many_unknown_words_leave_a_test_out() -> None:
    table = WordVectors(["a", "b", "m", "f"], np.eye(4))
    assert association_test("t", ["a", "x"], ["b"], ["m"], ["f"]).score(table) is None


def test_bias_and_quality_side_by_side(data, glove) -> None:
    """Scaling changes no measure; noise lowers quality."""
    table = WordVectors(glove.words[:30_000], glove.vectors[:30_000])
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((50, 50)).astype(np.float32)
    comparison = compare_bias(
        table,
        {"shrunk": lambda _, rows: rows * 0.25, "scrambled": lambda _, rows: np.tanh(rows @ noise)},
        data,
        tasks=["similarity"],
        resamples=50,
    )
    measures = list(comparison.scores["original"])
    assert measures[-1] == "direct bias of professions"
    for name in measures:
        before, after = (comparison.measured(method, name) for method in ("original", "shrunk"))
        assert after["value"] == pytest.approx(before["value"], abs=1e-5)
        assert before["low"] <= before["value"] <= before["high"] or name.startswith("WEAT")
    before, after = (
        comparison.quality_of(method)["similarity"][0] for method in ("original", "shrunk")
    )
    assert after == pytest.approx(before)
    _, gain = comparison.quality_of("scrambled")["similarity"]
    assert gain.high < 0
    assert comparison.to_dict()["methods"][1]["bias"]["direct bias of professions"]["p"] is None
