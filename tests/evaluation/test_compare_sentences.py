"""Compared encoders are those users get, fitted on what the column's name says."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import AllButTheTop, InvalidInputError, Renormalization, Whitening
from conceptor.evaluation import Battery
from conceptor.evaluation.classification import TextClassification
from conceptor.evaluation.compare.sentences import ENCODERS, compare_sentences, usif_tokens
from conceptor.evaluation.retrieval import Collection, Retrieval
from conceptor.evaluation.sts import SentencePair, SentenceSimilarity
from conceptor.fitting import FitOptions
from conceptor.report.tables import sentence_tables
from conceptor.sentences.encoder import SentenceEncoder

WORDS = [first + second + "n" for first in "bdfgklmpst" for second in "aeiou"]
BY_METHOD = {"renormalization": Renormalization(), "whitening": Whitening()}
UNKNOWN = ["banana", "tiger", "zzz", "of", "tiger-ban", "ban/ben"]


def score(task, encoder, sentences):
    averages, known = encoder.averages(sentences)
    return task.score_texts(encoder.transform_averages(averages, known), known)


@pytest.fixture
def table(rng):
    return WORDS, rng.standard_normal((len(WORDS), 12)).astype(np.float32) + 0.5


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
def test_a_column_is_the_encoder_fitted_on_what_its_name_says(table, tasks, encoder, monkeypatch):
    monkeypatch.setattr("conceptor.evaluation.compare.sentences._MODEL2VEC_DIMENSIONS", 5)
    found = compare_sentences(table, Battery(tasks), [encoder], resamples=0).evaluations
    recipe = ENCODERS[encoder]
    words, vectors = table
    if recipe.words == "pca":
        centred = vectors - vectors.mean(axis=0)
        vectors = centred @ np.linalg.svd(centred)[2][:5].T
    if recipe.words == "abtt":
        vectors = AllButTheTop().fit_transform(vectors)
    tokens = [
        [usif_tokens(text) for text in task.texts.texts]
        if recipe.tokens == "usif"
        else task.texts.tokens
        for task in tasks
    ]
    for i, task in enumerate(tasks):
        seen = {tuple(sentence) for sentence in tokens[i]}
        others = [s for j, each in enumerate(tokens) if j != i for s in each]
        assert any(tuple(sentence) in seen for sentence in others)
        fitted_on = {
            "own": tokens[i],
            "other": [sentence for sentence in others if tuple(sentence) not in seen],
        }
        for label, evaluation in found.items():
            regime = "other" if label.endswith("(other)") else "own"
            users = SentenceEncoder(
                (words, vectors),
                words="cn" if recipe.words == "cn" else "original",
                weights=recipe.weights,
                removal=0 if recipe.removal in BY_METHOD else recipe.removal,
                unknown=recipe.unknown,
                a=recipe.a,
            ).fit(fitted_on[regime])
            if recipe.removal in BY_METHOD:
                averages, known = users.averages(fitted_on[regime])
                fitted = BY_METHOD[recipe.removal].fit(averages[known])
                averages, known = users.averages(tokens[i])
                made = np.where(known[:, None], fitted.transform(averages), 0)
                expected = task.score_texts(made, known).score
            else:
                expected = score(task, users, tokens[i]).score
            assert evaluation[task.dataset].score == pytest.approx(expected, abs=1e-4)


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
    encoder = SentenceEncoder(
        table, words="original", removal=1, unknown="skip", frequencies="uniform"
    )
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
    for module in ("sentences.spelling", "evaluation.compare.sentences"):
        monkeypatch.setattr(f"conceptor.{module}.REFERENCES", 10)
    use = {word: float(i + 1) for i, word in enumerate(WORDS)}
    options = FitOptions(weights=use)
    found = compare_sentences(table, Battery(tasks), ["sif-spelling"], options, resamples=0)
    users = SentenceEncoder(table, words="original", removal=1, frequencies=use)
    users.fit(tasks[0].texts.tokens)
    expected = score(tasks[0], users, tasks[0].texts.tokens).score
    found_score = found.evaluations["sif-spelling (own)"][tasks[0].dataset].score
    assert found_score == pytest.approx(expected, abs=1e-6)


def test_ranks_go_on_from_chunk_to_chunk_and_the_first_of_two_equal_words_counts(
    table, tasks, rng, monkeypatch
):
    expected = compare_sentences(table, Battery(tasks), ["sif"], resamples=0).evaluations
    monkeypatch.setattr("conceptor.vectors.table.BLOCK_BYTES", 7 * 4 * 12)
    words, vectors = table
    twice = [*words, words[3]], np.vstack([vectors, rng.standard_normal((1, 12))])
    found = compare_sentences(twice, Battery(tasks), ["sif"], resamples=0).evaluations
    for label, evaluation in found.items():
        for task in tasks:
            score = expected[label][task.dataset].score
            assert evaluation[task.dataset].score == pytest.approx(score, abs=1e-6)


@pytest.fixture
def other_families(rng):
    """Two sets to classify, and two collections, each with two scores."""

    def texts(count):
        return [" ".join(rng.choice(WORDS + UNKNOWN, size=6)) for _ in range(count)]

    classification = [
        TextClassification(name, texts(60), np.arange(60) % 2, np.zeros(60, dtype=np.intp))
        for name in ("MR", "CR")
    ]
    collections = [Collection(texts(20), texts(5), [np.arange(3)] * 5) for _ in range(2)]
    retrieval = [
        Retrieval(f"{i} {metric}", each, metric)
        for i, each in enumerate(collections)
        for metric in ("nDCG@10", "MAP")
    ]
    return [*classification, *retrieval]


def test_encoders_meet_every_task_about_texts(table, tasks, other_families):
    """Each family is fitted on its own: what joins does not change what was there."""
    encoders = ["sif", "usif", "model2vec", "conceptor"]
    both = Battery([*tasks, *other_families])
    found = compare_sentences(table, both, encoders, resamples=0).evaluations
    alone = compare_sentences(table, Battery(tasks), encoders, resamples=0).evaluations
    assert list(found) == list(alone)
    for label, evaluation in found.items():
        for task in tasks:
            assert evaluation[task.dataset].score == alone[label][task.dataset].score
        for task in other_families:
            assert evaluation[task.dataset].score > 0
    collection = other_families[2]
    users = SentenceEncoder(table, frequencies="zipf")
    users.fit(other_families[4].texts.tokens)  # the other collection, once
    expected = score(collection, users, collection.texts.tokens).score
    found_score = found["conceptor (other)"][collection.dataset].score
    assert found_score == pytest.approx(expected)


def test_two_scores_of_one_collection_are_no_other_texts(table, other_families):
    found = compare_sentences(table, Battery(other_families[2:4]), ["sif"], resamples=0)
    assert list(found.evaluations) == ["sif (own)"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's a well-known test.", "it s a well known test"),
        ("They don't; he can't (or cannot)!", "they do not he ca not or can not"),
        ("In 1999, $3,000 at 10:30 - \"U.S.\" 'news'...", "in 1999 3,000 at 10:30 u.s news"),
        ("and/or: 50% *really* ‘new’ —", "and/or 50 really new"),
        ("?! -- ...", ""),
    ],
)
def test_tokens_as_the_author_of_usif_has_them(text, tokens):
    """As his code gives them with NLTK 3.10's tokeniser, except for the asterisks and quotes."""
    assert usif_tokens(text) == tokens.split()


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
