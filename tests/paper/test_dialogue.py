"""Methods in the downstream task, from vectors to a study; intervals beside a simulation."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from conceptor.base.errors import InvalidInputError
from conceptor.estimators import ConceptorNegation
from conceptor.paper.woz import FewWordsWarning, percent
from conceptor.report.tables import markdown
from conceptor.vectors.table import WordVectors
from tests.dialogues import MADE_CORPUS


def setup_module() -> None:
    """Import PyTorch only where the tests run, not in every process that collects them."""
    global module, Study, compare_dialogue, dialogue_result, dialogue_tables, embed_corpus
    global paired_difference, QUICK, TrackerOptions, Trial, known_units
    pytest.importorskip("torch")
    from conceptor.paper import dialogue as module
    from conceptor.paper.dialogue import (
        Study,
        compare_dialogue,
        dialogue_result,
        dialogue_tables,
        embed_corpus,
        paired_difference,
    )
    from conceptor.paper.tracker import TrackerOptions, Trial, known_units

    QUICK = TrackerOptions(epochs=2, batch=16, batches=4)


@pytest.fixture
def word_vectors(rng) -> WordVectors:
    words = [*sorted(MADE_CORPUS.words), *(f"word{i}" for i in range(200))]
    return WordVectors(words, rng.standard_normal((len(words), 8)) + 0.5)


def test_each_method_has_its_own_vectors(word_vectors) -> None:
    embeddings, notes = embed_corpus(word_vectors, MADE_CORPUS, ["original", "cn", "random"])
    assert list(embeddings) == ["original", "cn"]
    usage = ConceptorNegation(weights="zipf").fit(word_vectors.vectors)
    mapped = word_vectors.with_vectors(usage.map_(word_vectors.vectors))
    expected = known_units(mapped, MADE_CORPUS.words)
    for word in MADE_CORPUS.words:
        np.testing.assert_allclose(embeddings["cn"][word], expected[word], atol=1e-6)
    assert "the vectors cover" in notes[0]


def test_a_study_continues_from_finished_trackers(word_vectors, tmp_path, monkeypatch) -> None:
    trained = []
    run_trial = module.run_trial

    def counted(corpus, key, embedding, options):
        trained.append((key, embedding))
        return run_trial(corpus, key, embedding, options)

    monkeypatch.setattr(module, "run_trial", counted)

    def run(seeds, options=QUICK):
        return compare_dialogue(
            word_vectors,
            MADE_CORPUS,
            ["random", "original", "random"],
            slots=["area", "price range"],
            seeds=seeds,
            options=options,
            workers=1,
            name="made",
            resume=tmp_path / "trackers",
        )

    first = run(1)
    assert [key for key, _ in trained] == [
        (method, 0, slot) for slot in ("area", "price range") for method in ("random", "original")
    ]
    study = run(2)
    assert [key[1] for key, _ in trained] == [0] * 4 + [1] * 4
    by_key = dict(trained)
    # The control draws new vectors for each seed.
    controls = [by_key["random", seed, "area"]["cheap"] for seed in (0, 1)]
    assert not np.allclose(*controls)
    assert study.vectors == "made"
    assert list(study.runs) == ["random", "original"]
    assert study.goals == ["price range", "area"]
    assert all(list(runs) == [0, 1] for runs in study.runs.values())
    assert study.runs["original"][0].kept.keys() == {"area", "price range"}
    assert study.percents("random", "area")[:1] == first.percents("random", "area")
    file = next((tmp_path / "trackers").iterdir())
    content = file.read_text()
    file.write_text("{")
    with pytest.raises(InvalidInputError, match=file.name):
        run(2)
    file.write_text(content)
    # Other options are another study.
    run(1, TrackerOptions(epochs=1, batch=16, batches=4))
    assert len(trained) == 8 + 4


@pytest.mark.slow
def test_processes_change_nothing(word_vectors) -> None:
    alone, together = (
        compare_dialogue(
            word_vectors,
            MADE_CORPUS,
            ["original"],
            slots=["area"],
            seeds=2,
            options=QUICK,
            workers=workers,
        )
        for workers in (1, 2)
    )
    assert alone.records() == together.records()


def test_few_words_are_a_warning(rng) -> None:
    few = WordVectors(["cheap", "north", "zzz"], rng.standard_normal((3, 4)))
    with pytest.warns(FewWordsWarning, match=r"cover 2 of 2\d words, 8\.3% of the 144 spoken"):
        embeddings, _ = embed_corpus(few, MADE_CORPUS, ["original"])
    assert embeddings["original"].keys() == MADE_CORPUS.words
    none = WordVectors(["Thai"], np.ones((1, 3)))
    with pytest.raises(InvalidInputError, match="none of the dialogues' words"):
        embed_corpus(none, MADE_CORPUS, ["original"])


def test_without_torch_the_error_shows_how_to_install_it() -> None:
    code = "import sys; sys.modules['torch'] = None; import conceptor.paper.reproduction; print(1)"
    code += "; import conceptor.paper.dialogue"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout == "1\n"  # the other tables do not need it
    assert "pip install 'conceptor[dialogue]'" in shown.stderr.splitlines()[-1]


def made_trial(rng, method: str, seed: int, slot: str, chance: float) -> Trial:
    turns = [turn for dialogue in MADE_CORPUS.test for turn in dialogue]
    states = [t.after.get(slot) if rng.random() < chance else "dontcare" for t in turns]
    curve = [{"loss": 1.0, "accuracy": accuracy, "held_out_loss": 1.1} for accuracy in (0.5, 0.75)]
    return Trial(method, seed, slot, states, curve, 2)


@pytest.fixture
def study(rng) -> Study:
    trials = [
        made_trial(rng, method, seed, slot, chance)
        for method, chance in (("original", 0.3), ("cn", 0.9))
        for seed in (0, 1, 2)
        for slot in ("area", "food", "price range")
    ]
    return Study.from_trials("made", MADE_CORPUS, trials, ["a note"])


def test_means_and_differences(study) -> None:
    assert study.goals == ["food", "price range", "area", "joint"]
    for goal in ("price range", "area", "joint"):
        mine, theirs = study.percents("cn", goal), study.percents("original", goal)
        assert study.mean("cn", goal) == pytest.approx(np.mean(mine))
        assert study.deviation("cn", goal) == pytest.approx(stats.tstd(mine))
        difference = study.difference("cn", goal)
        assert difference.difference == pytest.approx(np.mean(mine) - np.mean(theirs))
    assert study.difference("original", "area") is None
    # A slot that is never set has no accuracy.
    assert study.string_match["food"][1].sum() == 0
    assert np.isnan(study.mean("cn", "food"))
    assert study.difference("cn", "food") is None


def test_intervals_are_students_without_spread_over_dialogues() -> None:
    gains = np.repeat([[1], [2], [4]], 10, axis=1)
    turns = np.full(10, 20)
    interval = paired_difference(gains, turns)
    percents = 100 * gains.sum(1) / turns.sum()
    expected = stats.ttest_1samp(percents, 0).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected))
    assert paired_difference(gains[:1], turns) is None


def test_the_interval_also_covers_the_choice_of_dialogues(monkeypatch) -> None:
    """Against a simulation: seeds and dialogues are both drawn anew, and the truth is known."""
    monkeypatch.setattr(module, "RESAMPLES", 500)
    rng = np.random.default_rng(5)
    seeds, dialogues, covered = 5, 60, 0
    for _ in range(100):
        gain = rng.normal(0, 0.5, (seeds, 1)) + rng.normal(0, 3, dialogues)
        gains = np.rint(gain + rng.normal(0, 1, (seeds, dialogues))).astype(int)
        interval = paired_difference(gains, np.full(dialogues, 20))
        covered += interval.low <= 0 <= interval.high
    assert 0.9 * 100 <= covered < 100  # 95% ± sampling error


def test_tables_and_json_have_every_run_and_the_baseline(study) -> None:
    means, differences, runs = dialogue_tables(study)
    shown = "".join(markdown(table) for table in (means, differences, runs))
    labels = [line.label for line in means.lines]
    assert labels == ["original (3)", "cn (3)", "string match", "turns"]
    assert means.lines[1].cells[-1].best
    assert [line.label for line in differences.lines] == ["cn"]
    assert len(runs.lines) == 6
    for method in study.runs:
        for number in study.percents(method, "joint"):
            assert f"| {number:.1f} |" in shown
    assert f"{percent(study.string_match['area']):.1f}" in shown
    result = dialogue_result(study)
    # A heading, then string matching and the runs, each for four goals.
    assert len(result.csv().splitlines()) == 1 + (1 + 2 * 3) * 4 == 1 + len(result.data["runs"])
    data = result.data
    json.dumps(data, allow_nan=False)
    original, cn = data["methods"]
    assert cn["mean"]["food"] is None
    assert cn["over original"].keys() == {"price range", "area", "joint"}
    assert original["over original"] == {}
