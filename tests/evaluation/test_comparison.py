from __future__ import annotations

import csv
import hashlib
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from conceptor import ConceptorNegation, estimator
from conceptor.base.display import format_signed
from conceptor.concepts.neighbors import Neighbor, Neighbors
from conceptor.evaluation import Battery, Comparison
from conceptor.evaluation.comparison import compare
from conceptor.evaluation.word_tasks import Analogy, WordSimilarity
from conceptor.fit import FitOptions
from conceptor.methods import METHODS
from conceptor.report.result import comparison_result
from conceptor.report.scores import comparison_csv, comparison_tables
from conceptor.report.tables import markdown
from conceptor.vectors.table import WordVectors
from conceptor.weights import Weights, rank_weights

ALL = [name for name, method in METHODS.items() if name != "hsr"]


@pytest.fixture
def words() -> list[str]:
    return [f"w{i}" for i in range(498)] + ["the", "of"]


@pytest.fixture
def battery(rng) -> Battery:
    def pairs(count):
        return [tuple(f"w{i}" for i in rng.integers(0, 600, 2)) for _ in range(count)]

    return Battery(
        [
            WordSimilarity("one", pairs(200), rng.normal(size=200)),
            WordSimilarity("two", pairs(90), rng.normal(size=90)),
            Analogy("three", [("w1", "w2", "w3", "w4"), ("w5", "w6", "w7", "w8")], among=50),
        ]
    )


@pytest.fixture
def options(words) -> FitOptions:
    """Ranks for those that weigh by use, and some words for those that count each once."""
    return FitOptions(weights=Weights("zipf"), vocabulary=words[:300])


@pytest.fixture
def comparison(words, vectors, battery, options):
    source = (words, vectors)
    return compare(source, ALL, battery, options, name="toys & <more>", resamples=100)


def scores(evaluation):
    return [o.score for o in evaluation.outcomes]


def test_each_method_is_its_estimator_on_its_words(comparison, words, vectors, battery):
    estimators = {
        "cn-paper": ConceptorNegation(2.0, power=1, unit=False).fit(vectors[:300]),
        "cn": ConceptorNegation("auto", weights="zipf").fit(vectors),
        "zipf-whitening": estimator("whitening").fit(
            vectors, sample_weight=rank_weights(0, len(vectors))
        ),
    }
    for name, fitted in estimators.items():
        expected = battery.run(WordVectors(words, fitted.transform(vectors)))
        assert scores(comparison.evaluations[name]) == pytest.approx(scores(expected))
    assert any("300 of 500 vectors" in note for note in comparison.notes)


def test_gains_are_differences_of_means_with_intervals_around(comparison):
    means = {name: e.means()["similarity"] for name, e in comparison.evaluations.items()}
    for name, gain in comparison.gains("similarity").items():
        assert gain.difference == pytest.approx(means[name] - means["original"])
        assert gain.low <= gain.high
    assert "original" not in comparison.gains("similarity")


def test_a_comparison_shows_its_means(comparison):
    means = comparison.evaluations["cn"].means()
    assert f"cn: similarity {means['similarity']:.2f}" in repr(comparison)
    assert len(repr(comparison)) < 1000
    assert f"{means['similarity']:.4g}" in comparison._repr_html_()
    assert "<more>" not in comparison._repr_html_()


def test_the_summary_agrees_with_the_intervals(comparison):
    for method, sentence in comparison.verdicts.items():
        gain = comparison.gains("similarity")[method]
        verdict = {1: "better than", -1: "worse than", 0: "not significantly different"}[gain.sign]
        assert verdict.split()[0] in sentence
        assert (format_signed(gain.difference, 1) in sentence) == (gain.sign != 0)
    assert list(comparison.verdicts) == [name for name in ALL if name != "original"]
    reverse = Comparison("x", comparison.evaluations, resamples=50, baseline="cn")
    assert reverse.summary[0].startswith("original is ")
    assert comparison.main_method == "cn"
    assert reverse.main_method == ALL[-1]


def test_a_method_that_leaves_nothing_is_undefined_in_every_format(words, vectors, battery):
    nothing = "cn:aperture=inf"
    found = compare((words, vectors), ["original", nothing], battery, resamples=20)
    assert np.isnan(found.gains("similarity")[nothing].difference)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["methods"][1]["gains"]["similarity"]["difference"] is None
    assert "—" in markdown(comparison_tables(found)[0])
    assert "nan" not in re.sub(r"<title>.*?</title>", "", comparison_result(found).html())


def test_tables_mark_the_best_and_show_means_and_intervals(comparison):
    table = comparison_tables(comparison)[0]
    assert table.columns == [*ALL, "used"]
    labels = ["one", "two", "mean", "gain", "± (95%)"]
    assert [line.label for line in table.lines] == labels
    for line in table.lines[:3]:
        numbers = [float(cell.text.replace("−", "-")) for cell in line.cells[: len(ALL)]]
        best = [cell.best for cell in line.cells[: len(ALL)]]
        assert best == [number == max(numbers) for number in numbers]
    text = markdown(table)
    assert text.count("\n|") == 7
    assert len(re.findall(r"\*\*", text)) >= 6


def side_by_side(evaluations):
    by_name = {each.vectors: each for each in evaluations}
    comparison = Comparison("", by_name, resamples=0, baseline=evaluations[0].vectors)
    return comparison_tables(comparison)[0]


def test_vectors_of_different_coverage_show_it_in_each_cell(words, vectors, battery):
    whole = battery.run(WordVectors(words, vectors), "whole")
    half = battery.run(WordVectors(words[:250], vectors[:250]), "half")
    table = side_by_side([whole, half])
    assert table.columns == ["whole", "half"]
    assert f"({half.outcomes[0].used}/200)" in table.lines[0].cells[1].text


def test_a_mean_over_fewer_sets_shows_over_how_many(words, vectors):
    """The second file knows the words of one set only, the third those of none."""
    pairs = [(words[i], words[i + 1]) for i in range(0, 40, 2)]
    sets = {"one": pairs[:10], "two": pairs[10:]}
    battery = Battery([WordSimilarity(name, each, range(10)) for name, each in sets.items()])
    evaluations = [
        battery.run(WordVectors(words[:n], vectors[:n]), f"first {n}") for n in (len(words), 20, 1)
    ]
    mean = side_by_side(evaluations).lines[-1]
    assert mean.label == "mean"
    assert [cell.text.partition(" ")[2] for cell in mean.cells] == ["", "of 1", ""]
    assert mean.cells[2].text == "—"
    assert side_by_side(evaluations[1:2]).lines[-1].label == "mean of 1"


def test_csv_has_each_score_and_interval_at_full_precision(comparison):
    rows = list(csv.DictReader(comparison_csv(comparison).splitlines()))
    means = [row for row in rows if row["dataset"] == "mean"]
    assert len(rows) - len(means) == 3 * len(ALL)
    assert len(means) == len(comparison.families) * len(ALL)
    assert list(rows[0].values())[:4] == ["original", "similarity", "one", "spearman"]
    assert float(rows[0]["score"]) == comparison.evaluations["original"].outcomes[0].score
    for row in rows:
        if row["method"] == comparison.baseline:
            assert row["gain"] == ""
            continue
        if row["dataset"] == "mean":
            expected = comparison.gains(row["task"])[row["method"]]
        else:
            expected = comparison.interval(row["method"], [row["dataset"]])
        numbers = [float(row[name]) for name in ("gain", "low", "high")]
        assert numbers == [expected.difference, expected.low, expected.high]


def test_the_page_is_complete_in_itself(comparison, tmp_path):
    (tmp_path / "toys.bin").write_bytes(b"abc")
    page = comparison_result(replace(comparison, files=[tmp_path / "toys.bin"]))
    html = page.html()
    assert "toys &amp; &lt;more&gt;" in html
    assert f'<p class="verdict">{page.headline}</p>' in html
    assert len(page.headline.split()) <= 12
    assert comparison.verdicts["cn"] in html
    assert not re.search(r"https?://|<script|<link|@import|url\(", html)
    assert hashlib.sha256(b"abc").hexdigest() in html
    gains, gates = map(ElementTree.fromstring, re.findall(r"<svg.*?</svg>", html))
    intervals = [line for line in gains.findall("line") if "interval" in line.get("class")]
    assert len(intervals) == 5 * len(comparison.families)
    shrinking = [s for s in comparison.solutions.values() if s.gate.max() <= 1]
    assert len(gates.findall("polyline")) == len(shrinking) > 2
    assert html.count("<details>") == len(page.tables) + 2  # methods, notes


def test_examples_on_the_page_have_no_rare_new_neighbor(comparison):
    def near(*pairs):
        return [Neighbor(word, 0.5, rank) for word, rank in pairs]

    before = dict.fromkeys(["law", "tea"], near(("a", 60_000), ("b", 2)))
    after = {"law": near(("a", 60_000), ("<c>", 3)), "tea": near(("b", 2), ("d", 50_001))}
    examples = Neighbors({"original": before, "cn": after})
    html = comparison_result(replace(comparison, examples=examples)).html()
    assert "<dt>law</dt><dd>a, b</dd><dd>→ a, <b>&lt;c&gt;</b></dd>" in html
    assert "<dt>tea</dt>" not in html


def test_examples_are_those_of_the_method_that_a_report_is_about(words, vectors, battery):
    methods = ["original", "cn", "abtt"]
    found = compare((words, vectors), methods, battery, resamples=20, examples=3, rows="words")
    assert list(found.examples) == ["original", found.main_method] == ["original", "cn"]
