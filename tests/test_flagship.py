"""What docs/studies/default.md claims on real vectors, with room for rounding only."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from conceptor import ConceptorNegation, SentenceEncoder, compare, open_vectors
from conceptor.data import registry as datasets
from conceptor.evaluation import load_battery
from conceptor.vectors.table import WordVectors

pytestmark = pytest.mark.skipif(
    not os.environ.get("CONCEPTOR_DATA"),
    reason="set CONCEPTOR_DATA to a directory with the benchmark files",
)


@pytest.fixture(scope="module")
def news():
    """A subset of Google News: a third of the sentences' tokens has no vector there."""
    return open_vectors(datasets.fetch("vectors/googlenews-13k.bin"))


def test_usage_weighted_conceptors_on_glove(glove):
    battery = load_battery(["similarity", "sts"], offline=True)
    methods = ["original", "abtt", "cn-paper", "cn"]
    comparison = compare(glove, methods, battery, resamples=100)
    means = {name: evaluation.means() for name, evaluation in comparison.evaluations.items()}
    assert means["cn"]["similarity"] > means["cn-paper"]["similarity"] + 2.0
    assert means["cn"]["sts"] > means["cn-paper"]["sts"] + 8.0
    similarity = [o.dataset for o in comparison.evaluations["cn-paper"].mean_outcomes("similarity")]
    for other in ("cn-paper", "abtt"):
        assert replace(comparison, baseline=other).interval("cn", similarity).low > 0


def test_auto_does_not_depend_on_the_scale_of_the_vectors(glove):
    rows = np.asarray(glove.vectors[:20_000], dtype=np.float64)
    one = ConceptorNegation("auto", weights="zipf").fit(rows)
    ten = ConceptorNegation("auto", weights="zipf").fit(10 * rows)
    np.testing.assert_allclose(ten.transform(10 * rows), one.transform(rows), rtol=1e-6)


def test_auto_is_never_worse_than_the_original_on_google_news(news):
    battery = load_battery(["similarity", "sts"], offline=True)
    comparison = compare(news, ["original", "cn"], battery, resamples=0)
    before, after = (comparison.evaluations[name].means() for name in ("original", "cn"))
    assert all(after[family] > before[family] for family in before)


def test_sentence_conceptors_beat_sif(glove):
    glove = WordVectors(glove.words[:60_000], glove.vectors[:60_000])
    sif = SentenceEncoder(glove, words="original", removal=1, unknown="skip")
    ours = SentenceEncoder(glove)
    scores = {"sif": [], "ours": []}
    for task in load_battery(["sts"], offline=True).tasks[::9]:
        sentences = [pair.left for pair in task.pairs] + [pair.right for pair in task.pairs]
        known = np.ones(len(sentences), dtype=np.bool_)
        for name, encoder in (("sif", sif), ("ours", ours)):
            rows = encoder.fit_transform(sentences)
            scores[name].append(task.score_texts(rows, known).score)
    assert np.mean(scores["ours"]) > np.mean(scores["sif"]) + 3
