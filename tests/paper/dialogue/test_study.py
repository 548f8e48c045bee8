"""Means, spreads and paired differences, beside SciPy's."""

from __future__ import annotations

import json

import matplotlib as mpl
import numpy as np
import pytest
from dialogue import study_of, summary_of, verdict
from matplotlib.figure import Figure
from scipy import stats

mpl.use("agg")

from conceptor.paper.dialogue.report import dialogue_tables, plot_learning
from conceptor.paper.dialogue.study import Run, Study
from conceptor.paper.dialogue.training import Epoch
from conceptor.paper.dialogue.trials import Trial
from conceptor.paper.dialogue.woz import GoalAccuracy
from conceptor.report.forms import markdown
from tests.dialogues import MADE_CORPUS


def trial(method: str, seed: int, slot: str, states: list[str | None]) -> Trial:
    curve = (Epoch(1.0, 0.5, 1.1), Epoch(0.5, 0.75, 0.9))
    return Trial(method, seed, slot, tuple(states), curve, 2, 1.5)


def half_right(rng, slot: str, chance: float) -> list[str | None]:
    turns = [turn for dialogue in MADE_CORPUS.test for turn in dialogue]
    return [t.after.get(slot) if rng.random() < chance else "dontcare" for t in turns]


@pytest.fixture
def study(rng) -> Study:
    trials = [
        trial(method, seed, slot, half_right(rng, slot, chance))
        for method, chance in (("original", 0.3), ("cn", 0.9))
        for seed in (2, 0, 1)
        for slot in ("area", "food", "price range")
    ]
    # A run that was not finished is left out.
    trials.append(trial("cn", 9, "area", half_right(rng, "area", 0.9)))
    return Study.from_trials("made", MADE_CORPUS, trials, ["a note"])


def test_means_and_differences_are_scipys(study) -> None:
    assert study.goals == ["food", "price range", "area", "joint"]
    assert {method: list(runs) for method, runs in study.runs.items()} == {
        "original": [0, 1, 2],
        "cn": [0, 1, 2],
    }
    for goal in ("price range", "area", "joint"):
        mine, theirs = study.percents("cn", goal), study.percents("original", goal)
        assert study.mean("cn", goal) == pytest.approx(np.mean(mine))
        assert study.deviation("cn", goal) == pytest.approx(stats.tstd(mine))
        found = study.difference("cn", goal)
        expected = stats.ttest_rel(mine, theirs).confidence_interval(0.95)
        assert (found.training.low, found.training.high) == pytest.approx(tuple(expected))
        assert found.interval.difference == pytest.approx(np.mean(mine) - np.mean(theirs))
    assert study.difference("original", "area") is None
    assert verdict(study, "original", "area") == "not compared"
    assert verdict(study, "cn", "area") in ("better", "within noise")


def test_the_interval_also_covers_the_choice_of_dialogues() -> None:
    """Against a simulation: seeds and dialogues are both drawn anew, and the truth is known."""
    rng = np.random.default_rng(5)
    seeds, dialogues, covered, alone = 5, 60, 0, 0
    for _ in range(150):
        gain = rng.normal(0, 0.5, (seeds, 1)) + rng.normal(0, 3, dialogues)
        counts = np.clip(np.rint(10 + gain + rng.normal(0, 1, (seeds, dialogues))), 0, 20)
        turns = np.full(dialogues, 20)
        runs = {
            method: {
                s: Run({"area": np.stack([c[s], turns]).astype(int)}, {}, 0.0) for s in range(seeds)
            }
            for method, c in (("original", np.full((seeds, dialogues), 10)), ("cn", counts))
        }
        found = Study("made", {"area": GoalAccuracy(0, 1)}, runs).difference("cn", "area")
        covered += found.interval.low <= 0 <= found.interval.high
        alone += found.training.low <= 0 <= found.training.high
        assert (found.p < 0.05) == (not found.interval.low <= 0 <= found.interval.high)
    assert covered >= 0.9 * 150  # 95% ± sampling error
    assert alone < covered


def test_p_values_are_adjusted_together(study) -> None:
    adjusted = study.adjusted()
    assert list(adjusted) == [("cn", goal) for goal in ("price range", "area", "joint")]
    single = [study.difference(*key).p for key in adjusted]
    assert all(p <= q for p, q in zip(single, adjusted.values(), strict=True))
    assert sorted(single)[0] * 3 == pytest.approx(min(adjusted.values())) or max(single) == 1


def test_a_slot_that_is_never_set_has_no_accuracy(study) -> None:
    assert study.string_match["food"].total == 0
    assert np.isnan(study.mean("cn", "food"))
    assert study.to_dict()["methods"][0]["mean"]["food"] is None


def test_json_there_and_back(study) -> None:
    text = json.dumps(study.to_dict(), allow_nan=False)
    again = study_of(json.loads(text))
    assert again.to_dict() == study.to_dict()
    assert again.runs["cn"][0].curves["area"][1]["accuracy"] == 0.75
    without = study_of(summary_of(study))
    assert without.runs["cn"][0].curves == {}
    assert without.percents("cn", "area") == study.percents("cn", "area")


def test_tables_hold_every_run_and_the_baseline(study) -> None:
    means, differences, runs = dialogue_tables(study)
    shown = "".join(markdown(table) for table in (means, differences, runs))
    assert [line.label for line in means.lines] == [
        "original (3)",
        "cn (3)",
        "string match",
        "turns",
    ]
    best = {line.label: line.cells[-1].best for line in means.lines}
    assert best["cn (3)"]
    assert len(runs.lines) == 6
    for method in study.methods:
        for percent in study.percents(method, "joint"):
            assert f"| {percent:.1f} |" in shown
    assert f"{study.string_match['area'].percent:.1f}" in shown


def test_one_method_and_one_run() -> None:
    states = [turn.after.get("area") for d in MADE_CORPUS.test for turn in d]
    study = Study.from_trials("made", MADE_CORPUS, [trial("cn", 0, "area", states)])
    means, runs = dialogue_tables(study)
    assert means.lines[0].cells[0].text == "100.0"
    assert not means.lines[0].cells[0].best
    assert len(runs.lines) == 1


def test_the_learning_curves_are_every_run_and_their_mean(study) -> None:
    ax = plot_learning(study, "area", Figure().subplots())
    assert len(ax.lines) == 2 * (3 + 1)
    for line in ax.lines:
        assert list(line.get_ydata()) == [50.0, 75.0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["original", "cn"]
