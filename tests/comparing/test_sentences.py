"""Compared encoders are those users get, fitted on what the column's name says."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import ConceptorNegation, InvalidInputError
from conceptor.comparing.sentences import ENCODERS, compare_sentences
from conceptor.evaluation import Battery
from conceptor.evaluation.sts import SentencePair, SentenceSimilarity
from conceptor.fitting import FitOptions
from conceptor.report.tables import sentence_tables
from conceptor.sentences.encoder import SentenceEncoder

WORDS = [first + second + "n" for first in "bdfgklmpst" for second in "aeiou"]
UNKNOWN = ["banana", "tiger", "zzz"]


def score(task, encoder, sentences):
    averages, known = encoder.averages(sentences)
    return task.score_texts(encoder.transform_averages(averages, known), known)


@pytest.fixture
def table(rng):
    return WORDS, rng.standard_normal((len(WORDS), 6)).astype(np.float32) + 0.5


@pytest.fixture
def tasks(rng):
    """Three tasks; some sentences stand in two of them, some words have no vector."""

    def sentence():
        return " ".join(rng.choice(WORDS + UNKNOWN, size=rng.integers(2, 9)))

    shared = [sentence() for _ in range(10)]

    def task(name):
        pairs = [SentencePair(sentence(), sentence(), rng.uniform(0, 5)) for _ in range(40)]
        pairs += [SentencePair(each, sentence(), rng.uniform(0, 5)) for each in shared[:5]]
        return SentenceSimilarity(name, pairs)

    return [task(f"2012/{name}") for name in "abc"]


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_column_is_the_encoder_fitted_on_what_its_name_says(table, tasks, encoder):
    found = compare_sentences(table, Battery(tasks), [encoder], resamples=0).evaluations
    recipe = ENCODERS[encoder]
    words, vectors = table
    if recipe.words == "cn":
        vectors = ConceptorNegation("auto", weights="zipf").fit(vectors).transform(vectors)
    for i, task in enumerate(tasks):
        seen = {tuple(sentence) for sentence in task.texts.tokens}
        others = [s for j, each in enumerate(tasks) if j != i for s in each.texts.tokens]
        assert any(tuple(sentence) in seen for sentence in others)
        fitted_on = {
            "own": task.texts.tokens,
            "other": [sentence for sentence in others if tuple(sentence) not in seen],
        }
        for label, evaluation in found.items():
            regime = "other" if label.endswith("(other)") else "own"
            users = SentenceEncoder(
                (words, vectors),
                weights=recipe.weights,
                removal=recipe.removal,
                unknown=recipe.unknown,
            ).fit(fitted_on[regime])
            expected = score(task, users, task.texts.tokens).score
            assert evaluation[task.dataset].score == pytest.approx(expected, abs=1e-6)


def test_it_is_said_how_many_tokens_have_no_vector_and_what_becomes_of_them(table, tasks):
    notes = compare_sentences(table, Battery(tasks), ["sif", "conceptor"], resamples=0).notes
    tokens = [token for task in tasks for sentence in task.texts.tokens for token in sentence]
    share = sum(token in UNKNOWN for token in tokens) / len(tokens)
    assert notes[-1] == (
        f"{share:.1%} of the tokens have no vector: conceptor derives one from their spelling; "
        "sif skips them"
    )
    plain = compare_sentences(table, Battery(tasks), ["average"], resamples=0)
    assert not any("spelling" in note for note in plain.notes)


def test_without_usage_all_words_are_as_frequent(table, tasks):
    options = FitOptions(weights="uniform")
    found = compare_sentences(table, Battery(tasks), ["average", "sif"], options, resamples=0)
    encoder = SentenceEncoder(table, removal="first", unknown="skip", frequencies="uniform")
    task = tasks[0]
    expected = score(task, encoder.fit(task.texts.tokens), task.texts.tokens).score
    found_score = found.evaluations["sif (own)"][task.dataset].score
    assert found_score == pytest.approx(expected)


def test_gains_are_over_the_first_encoder_in_the_same_regime(table, tasks):
    found = compare_sentences(table, Battery(tasks), ["sif", "average", "conceptor"], resamples=20)
    means = {label: e.means()["sts"] for label, e in found.evaluations.items()}
    gains = found.gains("sts")
    assert set(gains) == {"average", "conceptor (own)", "conceptor (other)"}
    for label, over in (
        ("average", "sif (own)"),
        ("conceptor (own)", "sif (own)"),
        ("conceptor (other)", "sif (other)"),
    ):
        assert gains[label].difference == pytest.approx(means[label] - means[over])
    plain = compare_sentences(table, Battery(tasks), ["average", "sif"], resamples=20)
    for label, gain in plain.gains("sts").items():
        other = plain.evaluations[label].means()["sts"]
        assert gain.difference == pytest.approx(other - means["average"])


def test_of_many_words_the_frequent_ones_are_spelt_from(table, tasks, monkeypatch):
    """Rare words first, and more of them than are spelt from."""
    for module in ("sentences.spelling", "comparing.sentences"):
        monkeypatch.setattr(f"conceptor.{module}.REFERENCES", 10)
    use = {word: float(i + 1) for i, word in enumerate(WORDS)}
    options = FitOptions(weights=use)
    found = compare_sentences(table, Battery(tasks), ["sif-spelling"], options, resamples=0)
    users = SentenceEncoder(table, removal="first", frequencies=use).fit(tasks[0].texts.tokens)
    expected = score(tasks[0], users, tasks[0].texts.tokens).score
    found_score = found.evaluations["sif-spelling (own)"][tasks[0].dataset].score
    assert found_score == pytest.approx(expected, abs=1e-6)


def test_ranks_go_on_from_chunk_to_chunk_and_the_first_of_two_equal_words_counts(
    table, tasks, rng, monkeypatch
):
    expected = compare_sentences(table, Battery(tasks), ["sif"], resamples=0).evaluations
    monkeypatch.setattr("conceptor.vectors.table._CHUNK_ROWS", 7)
    words, vectors = table
    twice = [*words, words[3]], np.vstack([vectors, rng.standard_normal((1, 6))])
    found = compare_sentences(twice, Battery(tasks), ["sif"], resamples=0).evaluations
    for label, evaluation in found.items():
        for task in tasks:
            score = expected[label][task.dataset].score
            assert evaluation[task.dataset].score == pytest.approx(score, abs=1e-6)


def test_there_must_be_sentences(table):
    with pytest.raises(InvalidInputError, match="sentence tasks"):
        compare_sentences(table, Battery([]), ["sif"])


def test_one_task_has_no_others(table, tasks):
    found = compare_sentences(table, Battery(tasks[:1]), ["sif", "usif"], resamples=0)
    assert list(found.evaluations) == ["sif (own)", "usif (own)"]


def test_the_table_says_once_how_many_pairs_were_used(table, tasks):
    strange = SentenceSimilarity("2013/d", [SentencePair("zzz", "banana", 1.0), *tasks[0].pairs])
    battery = Battery([*tasks, strange])
    found = compare_sentences(table, battery, ["average", "sif", "conceptor"], resamples=5)
    (shown,) = sentence_tables(found, by_task=True)
    assert [*shown.columns][-1] == "used"
    assert {len(line.cells) for line in shown.lines} == {len(shown.columns)}
    last = {line.label: line.cells[-1].text for line in shown.lines}
    assert last["2013/d"].endswith(f"–{len(strange.pairs)}/{len(strange.pairs)}")
