from __future__ import annotations

import csv
import dataclasses
import json
import os
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from conceptor import ConceptorNegation, Whitening
from conceptor.algebra.moments import Moments
from conceptor.base.errors import InvalidInputError
from conceptor.data.registry import MissingDataError
from conceptor.evaluation import Battery, WordVectors, load_battery
from conceptor.evaluation.analogy import Analogy
from conceptor.evaluation.compare.words import Comparison, compare
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.fitting import FitOptions, Request, gather
from conceptor.methods import spectral_methods
from conceptor.paper.dialogue.options import TrackerOptions
from conceptor.paper.report import gates_text, reproduction_tables
from conceptor.paper.reproduction import PaperVectors, reproduce
from conceptor.paper.tables import paper_tables
from conceptor.report.forms import markdown
from conceptor.report.page import comparison_html
from conceptor.report.result import comparison_result
from conceptor.report.tables import comparison_csv, comparison_tables
from conceptor.vectors import write_vectors
from conceptor.vectors.chunks import read_chunks
from conceptor.weights import Weights, rank_weights

ALL = ["original", *spectral_methods()]


@pytest.fixture
def words() -> list[str]:
    return [f"w{i}" for i in range(498)] + ["the", "of"]


@pytest.fixture
def battery(rng) -> Battery:
    def some(count):
        return [tuple(f"w{i}" for i in rng.integers(0, 600, 2)) for _ in range(count)]

    return Battery(
        [
            WordSimilarity("one", some(200), rng.normal(size=200)),
            WordSimilarity("two", some(90), rng.normal(size=90)),
            Analogy("three", [("w1", "w2", "w3", "w4"), ("w5", "w6", "w7", "w8")], among=50),
        ]
    )


@pytest.fixture
def options(words) -> FitOptions:
    """Ranks for those that weigh by use, and some words for those that count each once."""
    return FitOptions(weights=Weights("zipf"), vocabulary=words[:300])


@pytest.fixture
def comparison(words, vectors, battery, options):
    return compare((words, vectors), ALL, battery, options, name="toys & <more>", resamples=100)


def test_each_method_is_its_estimator_on_its_words(comparison, words, vectors, battery):
    negation = ConceptorNegation(2.0, power=1, unit=False).fit(vectors[:300])
    expected = battery.run(WordVectors(words, negation.transform(vectors)))
    found = comparison.evaluations["cn-paper"]
    assert [o.score for o in found.outcomes] == pytest.approx([o.score for o in expected.outcomes])
    frequent = ConceptorNegation("auto", weights="zipf").fit(vectors)
    expected = battery.run(WordVectors(words, frequent.transform(vectors)))
    found = comparison.evaluations["cn"]
    assert [o.score for o in found.outcomes] == pytest.approx([o.score for o in expected.outcomes])
    whitened = Whitening().fit(vectors, sample_weight=rank_weights(0, len(vectors)))
    expected = battery.run(WordVectors(words, whitened.transform(vectors)))
    found = comparison.evaluations["zipf-whitening"]
    assert [o.score for o in found.outcomes] == pytest.approx([o.score for o in expected.outcomes])
    assert "300 of 500 vectors" in comparison.notes[1]


def test_the_original_is_untouched_and_all_methods_use_the_same_items(
    comparison, words, vectors, battery
):
    plain = battery.run(WordVectors(words, vectors))
    original = comparison.evaluations["original"]
    assert [o.score for o in original.outcomes] == [o.score for o in plain.outcomes]
    used = {tuple(o.used for o in e.outcomes) for e in comparison.evaluations.values()}
    assert len(used) == 1


@pytest.mark.parametrize("name", ["v.bin", "v.txt", "v.npy"])
def test_a_file_gives_what_the_array_gives(name, tmp_path, words, vectors, battery, options):
    single = vectors.astype(np.float32)
    path = tmp_path / name
    write_vectors(path, [(words, single)])
    from_file = compare(path, ALL, battery, options, resamples=50)
    from_array = compare((words, single), ALL, battery, options, resamples=50)
    assert _figures(from_file) == pytest.approx(_figures(from_array))


def _figures(comparison):
    return [o.score for e in comparison.evaluations.values() for o in e.outcomes]


def test_one_pass_in_chunks_equals_the_whole(words, vectors):
    weights = Weights("zipf", top=400)
    chunks = [(words[i : i + 7], vectors[i : i + 7]) for i in range(0, 500, 7)]
    gathered = gather(chunks, Request([weights], {"w450", "w3", "absent"}, first=5))
    whole = Moments.from_vectors(vectors[:400], Weights("zipf").shares(words[:400], 0).weights)
    np.testing.assert_allclose(gathered.moments[weights].covariance, whole.covariance)
    assert list(gathered.rows.words) == ["w0", "w1", "w2", "w3", "w4", "w450"]
    assert gathered.count == 500
    strange = Weights(vocabulary={"?"}, description="the words given")
    with pytest.raises(InvalidInputError, match=r"none of the words to fit on \(the words given"):
        gather(chunks, Request([strange])).of(strange)


def test_chunks_of_memory_cover_every_row_once(words, vectors):
    assert [
        word for chunk, _ in read_chunks(WordVectors(words, vectors)) for word in chunk
    ] == words


def test_gains_are_differences_of_means_with_intervals_around(comparison):
    means = {name: e.means()["similarity"] for name, e in comparison.evaluations.items()}
    for name, gain in comparison.gains("similarity").items():
        assert gain.difference == pytest.approx(means[name] - means["original"])
        assert gain.low <= gain.high
    assert "original" not in comparison.gains("similarity")


def test_a_comparison_shows_its_means(comparison):
    means = comparison.evaluations["cn"].means()
    assert f"cn: similarity {means['similarity']:.2f}, analogy" in repr(comparison)
    assert len(repr(comparison)) < 1000
    assert f"{means['similarity']:.2f}" in comparison._repr_html_()
    assert "<more>" not in comparison._repr_html_()


def test_comparing_twice_prints_the_same(words, vectors, battery, options):
    printed = {
        json.dumps(compare((words, vectors), ALL, battery, options, resamples=60).to_dict())
        for _ in range(2)
    }
    assert len(printed) == 1


def test_a_method_that_leaves_nothing_is_undefined_in_every_format(
    words, vectors, battery, options
):
    nothing = "cn:aperture=inf"
    found = compare((words, vectors), ["original", nothing], battery, resamples=20)
    assert np.isnan(found.gains("similarity")[nothing].difference)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["methods"][1]["gains"]["similarity"]["difference"] is None
    assert "—" in markdown(comparison_tables(found)[0])
    assert "nan" not in re.sub(r"<title>.*?</title>", "", comparison_html(found))


def test_a_parameter_out_of_range_is_an_input_error(words, vectors, battery, options):
    with pytest.raises(InvalidInputError, match="ridge"):
        compare((words, vectors), ["hsr:ridge=0"], battery, options)


def test_methods_must_exist(words, vectors, battery):
    with pytest.raises(InvalidInputError, match="unknown method 'magic'; the methods are"):
        compare((words, vectors), ["magic"], battery)
    with pytest.raises(InvalidInputError, match="no method was named"):
        compare((words, vectors), [], battery)


def test_tables_mark_the_best_and_carry_means_and_intervals(comparison):
    table = comparison_tables(comparison)[0]
    assert table.columns == [*ALL, "used"]
    assert [line.label for line in table.lines] == [
        "one",
        "two",
        "mean",
        "gain",
        "95% from",
        "95% to",
    ]
    for line in table.lines[:3]:
        scores = [float(cell.text.replace("−", "-")) for cell in line.cells[: len(ALL)]]
        best = [cell.best for cell in line.cells[: len(ALL)]]
        assert best == [score == max(scores) for score in scores]
    text = markdown(table)
    assert text.count("\n|") == 8
    assert len(re.findall(r"\*\*", text)) >= 6


def side_by_side(evaluations):
    by_name = {each.vectors: each for each in evaluations}
    comparison = Comparison("", by_name, resamples=0, baseline=evaluations[0].vectors)
    return comparison_tables(comparison, one_file=False)


def test_vectors_of_different_coverage_show_it_in_each_cell(words, vectors, battery):
    whole = battery.run(WordVectors(words, vectors), "whole")
    half = battery.run(WordVectors(words[:250], vectors[:250]), "half")
    table = side_by_side([whole, half])[0]
    assert table.columns == ["whole", "half"]
    assert f"({half.outcomes[0].used}/200)" in table.lines[0].cells[1].text


def test_csv_has_a_line_for_each_score_at_full_precision(comparison):
    rows = list(csv.DictReader(comparison_csv([comparison]).splitlines()))
    means = [row for row in rows if row["dataset"] == "mean"]
    assert len(rows) - len(means) == 3 * len(ALL)
    assert len(means) == len(comparison.families) * len(ALL)
    first = rows[0]
    assert list(first.values())[:4] == ["original", "similarity", "one", "spearman"]
    assert float(first["score"]) == comparison.evaluations["original"].outcomes[0].score


def test_csv_has_the_gains_and_intervals_of_the_tables(comparison):
    rows = list(csv.DictReader(comparison_csv([comparison]).splitlines()))
    assert {row["gain"] for row in rows if row["method"] == comparison.baseline} == {""}
    for row in rows:
        if row["method"] == comparison.baseline:
            continue
        if row["dataset"] == "mean":
            expected = comparison.gains(row["task"])[row["method"]]
        else:
            expected = comparison.interval(row["method"], [row["dataset"]])
        shown = [float(row[name]) for name in ("gain", "low", "high")]
        assert shown == [expected.difference, expected.low, expected.high]


def test_the_page_is_complete_in_itself(comparison):
    html = comparison_result(comparison).html()
    assert "toys &amp; &lt;more&gt;" in html
    assert not re.search(r"https?://|<script|<link|@import|url\(", html)
    *forests, spectrum, gates = re.findall(r"<svg.*?</svg>", html)
    assert len(forests) == 2
    for drawing in forests:
        shapes = ElementTree.fromstring(drawing)
        assert len(shapes.findall("circle")) == len(ALL) - 1
    lines = {
        name: ElementTree.fromstring(s).findall("polyline")
        for name, s in (("spectrum", spectrum), ("gates", gates))
    }
    assert len(lines["spectrum"]) == 2
    shrinking = [s for s in comparison.solutions.values() if s.gate.max() <= 1]
    assert len(lines["gates"]) == len(shrinking) > 2


def test_the_page_shows_sentence_encoders_over_their_own_baseline(comparison):
    encoders = dataclasses.replace(comparison, vectors="encoders", notes=["(own): a note"])
    html = comparison_html(comparison, encoders)
    assert html.count('class="forest"') == 2 * comparison_html(comparison).count('class="forest"')
    assert "Sentence encoders: " in html
    assert html.index("(own): a note") > html.index("Sentence encoders: ")


def test_a_mean_over_fewer_sets_says_over_how_many(words, vectors):
    """The second file knows the words of one set only, the third those of none."""
    pairs = [(words[i], words[i + 1]) for i in range(0, 40, 2)]
    battery = Battery(
        [
            WordSimilarity("one", pairs[:10], list(range(10))),
            WordSimilarity("two", pairs[10:], list(range(10))),
        ]
    )
    known = [len(words), 20, 1]
    evaluations = [battery.run(WordVectors(words[:n], vectors[:n]), f"first {n}") for n in known]
    (table,) = side_by_side(evaluations)
    mean = table.lines[-1]
    assert mean.label == "mean"
    assert [cell.text.partition(" ")[2] for cell in mean.cells] == ["", "of 1", ""]
    assert mean.cells[2].text == "—"
    (table,) = side_by_side(evaluations[1:2])
    assert table.lines[-1].label == "mean of 1"


needs_data = pytest.mark.skipif(
    not os.environ.get("CONCEPTOR_DATA"),
    reason="set CONCEPTOR_DATA to a directory with the benchmark files",
)


# Of the specification: GloVe 6B 50d, CN with α = 2 on the 200-count vocabulary.
NEGATED = [64.65, 57.29, 37.83, 69.46, 64.56, 30.13, 19.31]


@needs_data
def test_conceptor_negation_of_glove_scores_as_measured(glove):
    battery = load_battery(["similarity", "categorization"], offline=True)
    found = compare(glove, ["cn-paper", "abtt"], battery, resamples=0)
    scores = [o.score for o in found.evaluations["cn-paper"].outcomes if o.task == "similarity"]
    assert scores == pytest.approx(NEGATED, abs=0.05)
    means = {name: e.means() for name, e in found.evaluations.items()}
    assert means["cn-paper"]["categorization"] == pytest.approx(76.55, abs=0.05)
    assert means["abtt"]["similarity"] == pytest.approx(50.26, abs=0.05)
    assert means["abtt"]["categorization"] == pytest.approx(76.18, abs=0.05)


@needs_data
@pytest.mark.slow
def test_reproduction_has_every_cell_of_the_papers_tables(glove, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # trackers are trained in this process
    quick = TrackerOptions(epochs=1, batches=1, batch=8)
    common = (glove.words[:10_000], glove.vectors[:10_000])
    found = reproduce(
        {"glove": common}, load_battery(offline=True), dialogue=1, options=quick, offline=True
    )
    tables = paper_tables()
    printed = [row for t in tables if t != "settings" for row in tables[t]["rows"].values()]
    assert 2 * len(found.cells) == sum(map(len, printed)) == 2 * (3 * (7 + 5 + 20 + 3 + 4) + 4)
    cell = next(c for c in found.cells if (c.dataset, c.method) == ("SimLex", "cn-paper"))
    assert cell.paper == 48.53
    assert cell.difference == pytest.approx(cell.measured - 48.53)
    assert all(np.isfinite(c.measured) for c in found.cells)
    supervised = {c.method: c for c in found.cells if c.table == "supervised_simlex"}
    assert supervised["counterfit"].paper == 50
    assert supervised["counterfit"].measured > cell.measured
    assert supervised["cn-paper"].measured == cell.measured
    goals = [c for c in found.cells if (c.table, c.method) == ("dialogue", "cn-paper")]
    assert [(c.dataset, c.paper) for c in goals][::3] == [("Food", 88.8), ("Average", 92.4)]
    assert goals[3].measured == pytest.approx(np.mean([c.measured for c in goals[:3]]))
    assert [c.used for c in goals] == [1246, 1115, 1149, 1246 + 1115 + 1149]
    gates = found.gates()["glove"]
    assert gates["abtt:n_directions=2"] == [0.0] * 2 + [1.0] * 48
    assert all(0 < g < 1 for g in gates["cn-paper"])
    assert "cn" in gates_text(found)
    assert json.dumps(found.to_dict(), allow_nan=False)


@needs_data
def test_a_reproduction_goes_on_from_what_is_finished(glove, tmp_path, monkeypatch):
    battery = load_battery(["similarity"], offline=True)
    few = WordVectors(glove.words[:20_000], glove.vectors[:20_000])
    source = PaperVectors(few, "a part of GloVe", stand_in=True)
    first = reproduce({"glove": source}, battery, resume=tmp_path / "parts", offline=True)
    monkeypatch.setattr("conceptor.paper.reproduction.compare", None)  # not called again
    again = reproduce({"glove": source}, battery, resume=tmp_path / "parts", offline=True)
    assert json.dumps(again.to_dict()) == json.dumps(first.to_dict())
    # 999 of SimLex's pairs are covered well, RW's are not: half of the words are too rare.
    by_set = {(c.dataset, c.method): c for c in first.cells if c.table == "word_similarity"}
    assert by_set["SimLex", "original"].comparable
    assert not by_set["RW", "original"].comparable
    assert "†" in first.notes[-2]
    assert "a part of GloVe" in first.notes[1]
    shown = markdown(reproduction_tables(first)[0])
    assert "(stand-in)" in shown
    assert "/2034 †" in shown
    assert first.summary == []  # stand-ins are not counted
    with pytest.raises(TypeError):  # other vectors: the finished part is not theirs
        reproduce(
            {"glove": dataclasses.replace(source, title="x")}, battery, resume=tmp_path / "parts"
        )
    (tmp_path / "parts" / "glove.json").write_text("{}")
    with pytest.raises(InvalidInputError, match="not a finished part"):
        reproduce({"glove": source}, battery, resume=tmp_path / "parts")


@pytest.mark.slow
@needs_data
def test_reproduction_on_all_of_glove_is_as_measured(glove, monkeypatch):
    # By synonyms or antonyms alone takes as long again, and is run on 20,000 words above.
    monkeypatch.setattr("conceptor.paper.reproduction.SUPERVISED", ("counterfit",))
    battery = load_battery(["similarity"], offline=True)
    found = reproduce({"glove": glove}, battery, offline=True)
    simlex = {c.method: c.measured for c in found.cells if c.table == "supervised_simlex"}
    assert simlex["cn-paper"] == pytest.approx(30.13, abs=0.05)
    assert simlex["counterfit"] == pytest.approx(38.33, abs=0.05)


def test_reproduction_without_the_vocabulary_says_what_is_missing(tmp_path, monkeypatch, battery):
    monkeypatch.delenv("CONCEPTOR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(MissingDataError, match="enwiki_vocab_min200"):
        reproduce({"glove": (["a"], np.ones((1, 2)))}, battery, offline=True)
