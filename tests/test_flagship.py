"""What docs/studies/default.md claims on real vectors, with room for rounding only."""

from __future__ import annotations

import os

import numpy as np
import pytest

from conceptor import ConceptorNegation, SentenceEncoder
from conceptor.algebra.recipes import Words
from conceptor.data import registry as datasets
from conceptor.evaluation import load_battery
from conceptor.evaluation.compare.sentences import compare_sentences
from conceptor.evaluation.compare.words import compare
from conceptor.fitting import FitOptions
from conceptor.vectors import open_vectors
from conceptor.vectors.table import as_word_vectors

pytestmark = pytest.mark.skipif(
    not os.environ.get("CONCEPTOR_DATA"),
    reason="set CONCEPTOR_DATA to a directory with the benchmark files",
)


@pytest.fixture(scope="module")
def news():
    """A subset of Google News: a third of the sentences' tokens has no vector there."""
    return open_vectors(datasets.fetch("vectors/googlenews-13k.bin"))


@pytest.fixture(scope="module")
def sentences():
    return load_battery(["sts"], offline=True)


@pytest.fixture(scope="module")
def encoders_on_news(news, sentences):
    encoders = ("sif", "sif-spelling", "conceptor-known", "conceptor")
    return compare_sentences(news, sentences, encoders, resamples=0)


def test_usage_weighted_conceptors_on_glove(glove):
    battery = load_battery(["similarity", "sts"], offline=True)
    methods = ["original", "abtt", "cn-paper", "cn"]
    found = compare(glove, methods, battery, resamples=100)
    means = {name: evaluation.means() for name, evaluation in found.evaluations.items()}
    assert means["cn"]["similarity"] > means["cn-paper"]["similarity"] + 2.0
    assert means["cn"]["sts"] > means["cn-paper"]["sts"] + 8.0
    similarity = [o.dataset for o in found.evaluations["cn-paper"].mean_outcomes("similarity")]
    assert found.interval("cn", similarity, against="cn-paper").low > 0
    assert found.interval("cn", similarity, against="abtt").low > 0
    back, forth = (
        found.interval(a, similarity, against=b).difference
        for a, b in (("cn-paper", "cn"), ("cn", "cn-paper"))
    )
    assert back == pytest.approx(-forth)


def test_auto_does_not_know_the_unit_of_the_vectors(glove):
    rows = np.asarray(glove.vectors[:20_000], dtype=np.float64)
    one = ConceptorNegation("auto", weights="zipf").fit(rows)
    ten = ConceptorNegation("auto", weights="zipf").fit(10 * rows)
    np.testing.assert_allclose(ten.transform(10 * rows), one.transform(rows), rtol=1e-6)


def test_auto_is_never_worse_than_the_original_on_google_news(news):
    battery = load_battery(["similarity", "sts"], offline=True)
    found = compare(news, ["original", "cn"], battery, resamples=0)
    before, after = (found.evaluations[name].means() for name in ("original", "cn"))
    assert all(after[family] > before[family] for family in before)


def test_sentence_conceptors_beat_sif_under_the_same_regime(glove, sentences):
    found = compare_sentences(glove, sentences, ("sif", "conceptor"), resamples=0)
    means = {name: evaluation.means()["sts"] for name, evaluation in found.evaluations.items()}
    assert means["conceptor (own)"] > means["sif (own)"] + 3
    assert means["conceptor (other)"] > means["sif (other)"] + 3


@pytest.mark.slow
def test_sentences_with_unknown_words_on_google_news(encoders_on_news):
    """Spelling is most of the gain, and not all."""
    evaluations = encoders_on_news.evaluations
    means = {name: evaluation.means()["sts"] for name, evaluation in evaluations.items()}
    for regime in ("own", "other"):
        assert means[f"conceptor ({regime})"] > means[f"sif ({regime})"] + 10
        assert means[f"conceptor ({regime})"] > means[f"sif-spelling ({regime})"]
        assert means[f"conceptor-known ({regime})"] > means[f"sif ({regime})"]


@pytest.mark.slow
def test_the_compared_encoder_is_the_one_users_get(news, sentences, encoders_on_news):
    words = as_word_vectors(news.read())
    usage = FitOptions().weights_for(Words.USAGE, news)
    encoder = SentenceEncoder(words, frequencies=usage.counts)
    task = next(task for task in sentences.tasks if task.dataset == "2012/MSRvid")
    averages, known = encoder.fit(task.texts.tokens).averages(task.texts.tokens)
    score = task.score_texts(encoder.transform_averages(averages, known), known).score
    compared = encoders_on_news.evaluations["conceptor (own)"]
    assert compared["2012/MSRvid"].score == pytest.approx(score)
