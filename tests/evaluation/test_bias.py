from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from conceptor import WordVectors
from conceptor.evaluation.bias import (
    AssociationTest,
    EffectSize,
    GenderWords,
    RemainingClusters,
    load_association_tests,
    load_measures,
    permutation_p_value,
)
from conceptor.evaluation.compare.bias import compare_bias
from conceptor.evaluation.statistics import value


def test_the_effect_size_is_the_formula(rng) -> None:
    cosines = rng.standard_normal((14, 9))
    each = cosines[:, :4].mean(axis=1) - cosines[:, 4:].mean(axis=1)
    first, second = each[:8], each[8:]
    expected = (first.mean() - second.mean()) / each.std(ddof=1)
    effect = EffectSize(cosines, (8, 6), (4, 5))
    assert value(effect) == pytest.approx(expected)
    np.testing.assert_allclose(np.concatenate(effect.associations), each)


def test_a_weight_is_so_many_copies_of_a_word_or_an_attribute(rng) -> None:
    cosines = rng.standard_normal((5, 4))
    counts = np.array([2, 0, 1, 3, 1, 1, 0, 2, 2])
    copies = np.repeat(np.repeat(cosines, counts[:5], axis=0), counts[5:], axis=1)
    weighted = EffectSize(cosines, (2, 3), (2, 2))(counts[:, None].astype(float))[0]
    assert weighted == pytest.approx(value(EffectSize(copies, (2, 5), (1, 4))))
    assert np.isnan(EffectSize(cosines, (2, 3), (2, 2))(np.eye(9)[:, :1])[0])


@pytest.mark.parametrize(("left", "right"), [(4, 5), (6, 6)])
def test_all_divisions_are_counted(rng, left, right) -> None:
    first, second = rng.standard_normal(left) + 0.8, rng.standard_normal(right)
    both = set(range(left + right))
    values = np.concatenate([first, second])
    differences = [
        abs(values[list(some)].mean() - values[list(both - set(some))].mean())
        for some in itertools.combinations(range(left + right), left)
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


def test_an_association_is_found_and_turned_round() -> None:
    axes = np.eye(3)
    words = {"m1": axes[0], "m2": axes[0] + 0.1 * axes[2], "f1": axes[1], "f2": axes[1]}
    words |= {"math": axes[0] + axes[2], "art": axes[1] + axes[2], "sum": axes[0] + 2 * axes[2],
              "song": axes[1] + 2 * axes[2]}  # fmt: skip
    table = WordVectors(list(words), np.array(list(words.values())))
    test = AssociationTest("t", (["math", "sum"], ["art", "song"]), (["m1", "m2"], ["f1", "f2"]))
    back = AssociationTest("t", (["art", "song"], ["math", "sum"]), (["m1", "m2"], ["f1", "f2"]))
    found, turned = test.score(table), back.score(table)
    assert found is not None
    assert turned is not None
    assert found.value == pytest.approx(-turned.value)
    assert found.value > 1
    assert (found.p, found.used, found.total) == (2 / 6, 8, 8)


def test_too_many_unknown_words_leave_a_test_out() -> None:
    table = WordVectors(["a", "b", "m", "f"], np.eye(4))
    test = AssociationTest("t", (["a", "x"], ["b"]), (["m"], ["f"]))
    assert test.score(table) is None


def gender_words(professions: dict[str, float]) -> GenderWords:
    pairs = [("she", "he"), ("woman", "man"), ("girl", "boy")]
    return GenderWords(pairs, pairs, ["she", "he"], frozenset(itertools.chain(*pairs)), professions)


def test_clusters_remain_or_not(rng) -> None:
    """Two groups along gender are found again; once the direction is gone, chance is left."""
    gender = gender_words({})
    meanings = rng.standard_normal((403, 6))
    side = np.r_[np.repeat([-3.0, 3.0], 200), np.zeros(3)]
    words = [*(f"{'fm'[i >= 200]}{'abcdefghij'[i % 10]}{'abcdefghijklmnopqrst'[i % 200 // 10]}"
               for i in range(400)), "she", "woman", "girl"]  # fmt: skip
    rows = np.column_stack([side, meanings])
    rows[400:, 0] = -3
    others = rows[400:] * [-1, 1, 1, 1, 1, 1, 1]
    table = WordVectors([*words, "he", "man", "boy"], np.vstack([rows, others]))
    measure = RemainingClusters.most_biased(table, gender, each=150)
    assert all(word.startswith("f") for word in measure.female)
    assert all(word.startswith("m") for word in measure.male)
    before = measure.score(table)
    assert before is not None
    assert before.value > 0.95
    neutral = table.vectors.copy()
    neutral[:, 0] = 0
    after = measure.score(table.with_vectors(neutral))
    assert after is not None
    assert after.value < 0.3


def test_all_ten_tests_and_what_they_find(data, glove) -> None:
    tests = load_association_tests(data)
    assert [test.name.split()[1] for test in tests] == [str(i) for i in range(1, 11)]
    found = {test.name: test.score(glove) for test in tests}
    assert all(score is not None for score in found.values())
    flowers, career = found["WEAT 1 flowers/insects"], found["WEAT 6 career/family"]
    assert flowers is not None
    assert career is not None
    assert flowers.value > 1
    assert career.p is not None
    assert career.p < 0.01


def test_bias_and_quality_side_by_side(data, glove) -> None:
    """Shrinking everything changes no measure; noise lowers quality."""
    some = WordVectors(glove.words[:30_000], glove.vectors[:30_000])
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((50, 50)).astype(np.float32)
    found = compare_bias(
        some,
        {"shrunk": lambda _, rows: rows * 0.25, "scrambled": lambda _, rows: np.tanh(rows @ noise)},
        data,
        tasks=["similarity"],
        resamples=50,
    )
    assert found.measures[-1] == "clusters that remain"
    for name in found.measures:
        before, after = (found.measured(method, name) for method in ("original", "shrunk"))
        assert after.value == pytest.approx(before.value, abs=1e-5)
        assert before.low <= before.value <= before.high or name.startswith("WEAT")
    assert found.quality_of("shrunk")["similarity"][0] == pytest.approx(
        found.quality_of("original")["similarity"][0]
    )
    _, gain = found.quality_of("scrambled")["similarity"]
    assert gain is not None
    assert gain.high < 0
    before, after = (found.measured(each, found.measures[0]) for each in ("original", "shrunk"))
    assert after.value == pytest.approx(before.value, abs=1e-5)
    assert found.to_dict()["methods"][1]["bias"]["RIPA of professions"]["p"] is None


def test_measures_are_named_once(data, glove) -> None:
    some = WordVectors(glove.words[:20_000], glove.vectors[:20_000])
    names = [measure.name for measure in load_measures(some, data)]
    assert len(set(names)) == len(names) == 14
