"""Predictions of a change's sign: rules are sound, abstain, and their record is honest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.report.prediction import (
    TRAITS,
    Prediction,
    Rule,
    fit_rule,
    predict,
    read_record,
    track_record,
    verdict,
)


def traits(values: list[float], trait: str = "share") -> list[dict[str, float]]:
    return [dict.fromkeys(TRAITS, 1.0) | {trait: value} for value in values]


SIGNS = st.lists(st.tuples(st.floats(0.01, 1), st.sampled_from([-1, 0, 1])), min_size=1)


@given(SIGNS, st.sampled_from(TRAITS))
def test_a_rule_is_never_wrong_on_what_it_was_made_of(found, trait) -> None:
    known = traits([value for value, _ in found], trait)
    signs = [sign for _, sign in found]
    # A lone set makes no range, so it may lie in that of the others: it is no evidence.
    lone = {sign for sign in (1, -1) if signs.count(sign) == 1}
    rule = fit_rule(known, signs)
    for each, sign in zip(known, signs, strict=True):
        assert rule(each) * sign >= 0 or sign in lone


def test_a_trait_that_separates_is_found_and_one_that_does_not_leads_to_no_answer() -> None:
    known = traits([0.1, 0.2, 0.4, 0.7, 0.8])
    rule = fit_rule(known, [-1, -1, 0, 1, 1])
    assert [rule(each) for each in known] == [-1, -1, 0, 1, 1]
    mixed = fit_rule(known, [1, -1, 1, -1, 1])
    assert [mixed(each) for each in known] == [1, 0, 0, 0, 0]


def test_nothing_is_said_outside_of_what_was_measured() -> None:
    rule = fit_rule(traits([0.1, 0.2, 0.7, 0.8]), [-1, -1, 1, 1])
    asked = (0.07, 0.09, 0.15, 0.24, 0.4, 0.6, 0.75, 0.99, 1.01)
    assert [rule(each) for each in traits(list(asked))] == [0, 0, -1, -1, 0, 1, 1, 0, 0]
    # Nor where another trait is beyond all sets.
    assert rule(traits([0.75])[0] | {TRAITS[0]: 2.0}) == 0


def test_one_set_is_no_evidence() -> None:
    rule = fit_rule(traits([0.1, 0.5, 0.6]), [-1, 1, 1])
    assert rule(traits([0.1])[0]) == 0
    assert rule(traits([0.55])[0]) == 1


def test_undecided_sets_have_no_say() -> None:
    assert fit_rule(traits([0.1, 0.2, 0.3]), [0, 0, 0])(traits([0.2])[0]) == 0
    assert fit_rule(traits([0.1, 0.2, 0.3]), [1, 0, 1])(traits([0.2])[0]) == 1


@pytest.mark.parametrize(
    ("change", "sign"),
    [([1.0, 0.1, 2.0], 1), ([-1.0, -2.0, -0.1], -1), ([1.0, -0.1, 2.0], 0), ([0.0, 0.0, 0.0], 0)],
)
def test_a_change_is_decided_by_its_interval(change, sign) -> None:
    assert verdict(change) == sign


def test_a_set_has_no_part_in_what_is_said_of_it() -> None:
    """The odd one out is answered for by the others, and counted as wrong."""
    changes = [[1.0, 0.5, 1.5]] * 4 + [[-1.0, -1.5, -0.5]]
    sets = [
        {"traits": known, "changes": {"cn": {"sts": change}}}
        for known, change in zip(traits([0.1, 0.2, 0.3, 0.4, 0.35]), changes, strict=True)
    ]
    # The first and the fourth are more than a quarter beyond the others, and the third is near the
    # only one that lost.
    assert track_record(sets, "cn", "sts") == [0, 1, 0, 0, 1]


def test_the_record_has_the_sets_it_promises() -> None:
    record = read_record()
    assert len(record["words"]) >= 12
    assert len(record["rows"]) >= 7
    for kind in record.values():
        names = [each["vectors"] for each in kind]
        assert len({*names}) == len(names)
        for each in kind:
            assert set(each["traits"]) == set(TRAITS)
            for families in each["changes"].values():
                for difference, low, high in families.values():
                    assert low <= difference <= high


def test_predictions_of_the_package() -> None:
    """What was found wrong once: the input table of a transformer does not gain similarity."""
    record = {each["vectors"]: each for each in read_record()["words"]}
    found = predict(record["MiniLM input table"]["traits"])
    assert set(found) == {
        "similarity", "sts", "categorization", "neighbours", "analogy", "retrieval",
    }  # fmt: skip
    assert found["similarity"].sign <= 0
    assert found["sts"].sign == 1
    assert predict(record["GloVe 6B 50d"]["traits"])["similarity"].sign == 1


@pytest.mark.parametrize(
    ("kind", "method"), [("words", "cn"), ("words", "cn:lengths=unit"), ("rows", "cn")]
)
def test_the_record_counts_every_answer(kind, method) -> None:
    sets = read_record()[kind]
    for each in sets:
        for family, found in predict(each["traits"], method, kind=kind).items():
            said = track_record(sets, method, family)
            assert found.right + found.level + found.wrong == (
                said.count(found.sign) if found.sign else 0
            )
            assert found.abstained == said.count(0)


def test_in_words() -> None:
    said = str(Prediction(1, right=9, level=2, wrong=1, abstained=3))
    assert said == "should gain (9 right, 2 undecided, 1 wrong)"
    assert Rule({1: {"share": (0.1, 0.5)}})({"share": np.float64(0.5)}) == 1


def test_a_single_set_prevents_but_does_not_predict() -> None:
    """Near the only set that lost there is no answer; far from it, the gain of the others."""
    rule = fit_rule(traits([0.1, 0.2, 0.4, 0.8]), [1, 1, -1, 1])
    assert [rule(each) for each in traits([0.15, 0.4, 0.49, 0.51])] == [1, 0, 0, 1]
    assert fit_rule(traits([0.1, 0.2]), [0, -1])(traits([0.2])[0]) == 0
