"""What docs/studies/words.md claims on real vectors, with room for rounding only."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conceptor import SentenceEncoder, compare, most_similar, open_vectors
from conceptor.concepts.query import Query
from conceptor.data import registry as datasets
from conceptor.evaluation import load_battery
from conceptor.vectors.table import WordVectors

pytestmark = pytest.mark.skipif(
    not os.environ.get("CONCEPTOR_DATA"),
    reason="set CONCEPTOR_DATA to a directory with the benchmark files",
)


@pytest.fixture(scope="module")
def frequent(glove):
    """The 60,000 most frequent words."""
    return WordVectors(glove.words[:60_000], glove.vectors[:60_000])


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
    # The README shows these figures, in this order, with two digits.
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    shown = [
        f"{evaluation['SimLex'].score:.2f}" if row == "SimLex" else f"{each['similarity']:.2f}"
        for row in ("SimLex", "mean")
        for evaluation, each in zip(comparison.evaluations.values(), means.values(), strict=True)
    ]
    listed = re.findall(r"^ (?:SimLex|mean) .*", readme, re.MULTILINE)
    assert re.findall(r"\d+\.\d\d", " ".join(listed)) == shown
    for family, text in (("similarity", "word similarity"), ("sts", "sentence similarity")):
        assert f"{text} (+{means['cn'][family] - means['original'][family]:.1f})" in readme
    for other in ("cn-paper", "abtt"):
        assert replace(comparison, baseline=other).interval("cn", similarity).low > 0


def test_one_meaning_of_a_word_is_excluded(frequent):
    """The example of `conceptor neighbors --help`."""
    music, medicine = {"piano", "choir", "bach"}, {"transplantation", "transplants"}
    queries = Query("organ"), Query("organ", without=["kidney", "liver"])
    methods = ["original", "cn"]
    found = [most_similar(frequent, query, methods, n=8, among=50_000) for query in queries]
    for method in methods:
        plain, rest = (
            {one.word for one in near[method][str(query)]}
            for query, near in zip(queries, found, strict=True)
        )
        assert plain & music
        assert plain > medicine
        assert len(rest & music) >= 2
        assert not rest & (medicine | {"organs", "transplant"})


def test_neighbors_get_rarer_which_the_prior_halves(glove):
    """As docs/explanation/when-not.md says."""
    words = list(glove.words[1000:10_000:90])
    shares = {}
    for prior in (0.0, None):
        near = most_similar(glove, words, ["original", "cn"], prior=prior)
        for method, each in near.items():
            ranks = np.array([one.rank for by_word in each.values() for one in by_word])
            shares[method, prior] = (ranks > 50_000).mean()
    assert shares["original", 0.0] < 0.03
    assert shares["cn", 0.0] > 0.12
    assert shares["cn", None] < 0.6 * shares["cn", 0.0]


def test_auto_is_never_worse_than_the_original_on_google_news(news):
    battery = load_battery(["similarity"], offline=True)
    comparison = compare(news, ["original", "cn"], battery, resamples=0)
    before, after = (comparison.evaluations[name].means() for name in ("original", "cn"))
    assert all(after[family] > before[family] for family in before)


def test_sentence_conceptors_beat_sif(frequent):
    sif = SentenceEncoder(frequent, words="original", removal=1, unknown="skip")
    ours = SentenceEncoder(frequent)
    scores = {"sif": [], "ours": []}
    for task in load_battery(["sts"], offline=True).tasks[::20]:
        sentences = [pair.left for pair in task.pairs] + [pair.right for pair in task.pairs]
        known = np.ones(len(sentences), dtype=np.bool_)
        for name, encoder in (("sif", sif), ("ours", ours)):
            rows = encoder.fit_transform(sentences)
            scores[name].append(task.score_texts(rows, known).score)
    assert np.mean(scores["ours"]) > np.mean(scores["sif"]) + 3
