"""Embeddings of texts: forms side by side, on labels and without, and what to do."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from conceptor import Background, FitOptions, InvalidInputError, WordVectors, compare, postprocess
from conceptor.algebra.recipes import METHODS
from conceptor.evaluation.compare.forms import Form, plan_forms
from conceptor.evaluation.compare.texts import compare_texts
from conceptor.evaluation.compare.verdict import decide
from conceptor.evaluation.compare.words import Comparison
from conceptor.evaluation.labels import read_judgements, read_text_pairs
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.retrieval import ndcg
from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.task import Outcome
from conceptor.report.tables import comparison_csv
from conceptor.report.texts import text_html, text_tables
from conceptor.vectors import open_vectors
from conceptor.vectors.texts import as_texts, read_some

COUNT, DIMENSION = 600, 24


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Rows in groups of four."""
    rng = np.random.default_rng(5)
    groups = rng.standard_normal((COUNT // 4, DIMENSION))
    return (np.repeat(groups, 4, axis=0) + 0.5 * rng.standard_normal((COUNT, DIMENSION))).astype(
        np.float32
    )


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [f"item{i} of group{i // 4} topic{i // 4}" for i in range(COUNT)]


@pytest.fixture(scope="module")
def pairs() -> list[tuple[int, int, float]]:
    rng = np.random.default_rng(6)
    near = [(4 * i, 4 * i + 1, 4.0 + rng.random()) for i in range(100)]
    return near + [(4 * i, 4 * (i + 40) % COUNT, rng.random()) for i in range(100)]


@pytest.fixture(scope="module")
def found(rows, texts, pairs):
    queries = rows[::20] + 0.1
    relevant = [[i, i + 1, i + 2] for i in range(0, COUNT, 20)]
    return compare_texts(
        rows, texts=texts, pairs=pairs, queries=queries, relevant=relevant, resamples=200
    )


def cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def score(found, name: str, family: str) -> float:
    return found.comparison.evaluations[name].means()[family]


def test_the_original_keeps_all_of_its_neighbours(found) -> None:
    assert score(found, "original", "text-neighbours") == 100
    assert score(found, "original int8", "text-neighbours") > 95
    assert score(found, "cn 6", "text-neighbours") < 100  # the control


def test_scores_are_those_of_an_independent_computation(found, rows, pairs) -> None:
    left, right, gold = map(np.array, zip(*pairs, strict=True))
    near = cosines(rows)
    expected = 100 * stats.spearmanr(near[left.astype(int), right.astype(int)], gold).statistic
    assert score(found, "original", "text-pairs") == pytest.approx(expected)
    queries = rows[::20] + 0.1
    both = cosines(np.concatenate([queries, rows]))[: len(queries), len(queries) :]
    gains, recalls = [], []
    for query, order in enumerate(np.argsort(-both, axis=1, kind="stable")):
        hits = np.isin(order, [20 * query, 20 * query + 1, 20 * query + 2])
        gains.append(100 * ndcg(hits))
        recalls.append(100 * hits[:100].mean() * 100 / 3)
    assert score(found, "original", "text-retrieval") == pytest.approx(np.mean(gains))
    recall = found.comparison.evaluations["original"]["queries, recall"]
    assert recall.score == pytest.approx(np.mean(recalls))


def test_facts_are_those_of_an_independent_computation(found, rows) -> None:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.svd(unit, compute_uv=False) ** 2
    facts = found.facts["original"]
    assert facts.strongest == pytest.approx(values[0] / values.sum(), rel=1e-5)
    near = cosines(rows.astype(np.float64))
    np.fill_diagonal(near, -np.inf)
    times = np.bincount(np.argsort(-near, axis=1)[:, :10].ravel(), minlength=COUNT)
    assert facts.hubness == pytest.approx(stats.skew(times), abs=0.02)


def test_what_is_measured_is_what_postprocess_writes(found, rows, texts, pairs, tmp_path) -> None:
    np.save(tmp_path / "rows.npy", rows)
    for name, method, dtype in [
        ("gentle", "gentle", None),
        ("cn 12 int8", "cn:n_components=12", "int8"),
        ("gentle binary", "gentle", "binary"),
    ]:
        postprocess(tmp_path / "rows.npy", tmp_path / "out.npy", method, dtype=dtype, force=True)
        written = open_vectors(tmp_path / "out.npy", wordless=True).to_array()
        again = compare_texts(written, ["original"], pairs=pairs, sizes=[], dtypes=["float32"])
        # The rotation for bits is learned from the same rows in the same order.
        assert score(again, "original", "text-pairs") == pytest.approx(
            score(found, name, "text-pairs"), abs=1e-3
        )


@pytest.mark.parametrize("turn", ["rotation", "scale"])
def test_maps_that_keep_angles_keep_everything(rows, pairs, turn) -> None:
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0]
    changed = rows @ rotation if turn == "rotation" else 7 * rows
    one, other = (
        compare_texts(each.astype(np.float64), ["original", "gentle"], pairs=pairs, resamples=0)
        for each in (rows, changed)
    )
    for name in ("original", "gentle"):
        assert score(one, name, "text-neighbours") == pytest.approx(
            score(other, name, "text-neighbours"), abs=0.1
        )
        assert score(one, name, "text-pairs") == pytest.approx(score(other, name, "text-pairs"))
        assert one.facts[name].strongest == pytest.approx(other.facts[name].strongest, rel=1e-6)


def test_related_rows_are_told_apart_where_texts_show_it(found, rows) -> None:
    assert score(found, "original", "text-related") > 95
    bare = compare_texts(rows, ["original"], sizes=[], dtypes=["float32"])
    assert "text-related" not in bare.comparison.families
    shuffled = np.random.default_rng(1).permutation(rows)  # the control
    texts = [f"item{i} of group{i // 4} topic{i // 4}" for i in range(COUNT)]
    mixed = compare_texts(shuffled, ["original"], texts=texts, sizes=[], dtypes=["float32"])
    assert 35 < score(mixed, "original", "text-related") < 65


def test_cosines_have_a_meaning(found, rows) -> None:
    background = found.backgrounds["original"]
    assert isinstance(background, Background)
    near = cosines(rows.astype(np.float64))[np.triu_indices(COUNT, 1)]
    rare = found.to_dict()["forms"][0]["background"]["one_in_1000"]
    assert (near >= rare).mean() == pytest.approx(0.001, rel=0.3)


def test_rows_that_repeat_each_other_are_warned_about(rows) -> None:
    repeated = np.repeat(rows[::4], 4, axis=0)
    found = compare_texts(repeated, ["original"], sizes=[], dtypes=["float32"])
    assert "nearly repeat another" in found.cautions[0]


def test_few_labels_are_warned_about(rows, pairs) -> None:
    found = compare_texts(rows, ["original"], pairs=pairs[:10], sizes=[], dtypes=["float32"])
    assert "pairs: 10 items are few" in found.cautions[0]


def test_forms_have_the_bytes_of_their_files(rows, tmp_path) -> None:
    forms = plan_forms(as_texts(rows))
    np.save(tmp_path / "rows.npy", rows)
    for name in ("gentle 12", "gentle int8", "gentle binary"):
        form = forms[name]
        method = str(form.recipe)
        postprocess(tmp_path / "rows.npy", tmp_path / "o.npy", method, dtype=form.dtype, force=True)
        size = (tmp_path / "o.npy").stat().st_size
        scales = 4 * COUNT if form.dtype != "float32" else 0
        assert 0 < size - scales - COUNT * form.bytes < 400  # the header
    assert forms["original"].bytes == 4 * DIMENSION


def test_forms_are_those_asked_for() -> None:
    eight = as_texts(np.eye(8))
    assert list(plan_forms(eight, ["cn"], [4], ["int8"])) == [
        "original", "cn", "original int8", "cn int8",
        "original 4", "cn 4", "original 4 int8", "cn 4 int8",
    ]  # fmt: skip
    whole = [name for name, form in plan_forms(eight).items() if form.whole]
    assert whole == ["original", "gentle", "renormalization", "abtt", "cn"]
    assert list(plan_forms(eight, {"mine": METHODS["abtt"]}, []))[:2] == ["original", "mine"]
    with pytest.raises(InvalidInputError, match="a size is 9, but the rows have 8"):
        plan_forms(eight, sizes=[9])
    with pytest.raises(InvalidInputError, match="unknown number type 'int4'"):
        plan_forms(eight, dtypes=["int4"])


def outcome(scores: np.ndarray) -> Outcome:
    return Outcome("text-pairs", "p", "m", len(scores), len(scores), Mean(scores))


def verdict(gains: dict[str, float], rng, labelled=("text-pairs",)):
    """Return the verdict where forms gain so much on average, with some noise."""
    base = rng.random(400)
    forms = {
        "original": Form("original", 8),
        "gentle": Form("gentle", 8),
        "cn": Form("cn", 8),
        "gentle int8": Form("gentle", 8, "int8"),
        "gentle 4 int8": Form("gentle", 4, "int8", cut=True),
    }
    evaluations = {
        name: Evaluation(name, [outcome(base + gain / 100 + 0.02 * rng.standard_normal(400))], {})
        for name, gain in ({"original": 0.0} | gains).items()
    }
    comparison = Comparison("x", evaluations, resamples=500)
    return decide(comparison, forms, labelled, "text-pairs", 0.3)


def test_doing_nothing_is_the_answer_where_nothing_is_better(rng) -> None:
    for gains in ({"gentle": 0.0, "cn": -5}, {"gentle": -3, "cn": -3}):
        found = verdict(gains | {"gentle int8": -0.1, "gentle 4 int8": -9}, rng)
        assert found.method == "original"
        assert found.lines[0].startswith("Leave them as they are: ")
        assert found.smaller == "gentle int8"


def test_the_best_that_is_better_beyond_chance_is_used(rng) -> None:
    found = verdict({"gentle": 1.0, "cn": 3, "gentle int8": 1, "gentle 4 int8": 0.1}, rng)
    assert found.method == "cn"
    assert found.lines[0].startswith("Use cn: your pairs +")
    assert found.smaller == "gentle 4 int8"
    assert "4 bytes per row instead of 32" in found.lines[1]


def test_without_labels_nothing_is_better(rng, rows) -> None:
    gains = {"gentle": 5, "cn": 5, "gentle int8": -1, "gentle 4 int8": -50}
    found = verdict(gains, rng, labelled=())
    assert found.method == "original"
    assert found.smaller == "gentle int8"
    plain = compare_texts(rows, resamples=100)
    assert plain.verdict.method == "original"
    assert "pairs" in plain.summary[0]
    assert "without resamples" in compare_texts(rows, ["cn"], resamples=0).summary[0]


def test_a_shared_direction_is_taken_out_where_labels_ask_for_it(rows, pairs) -> None:
    """The model puts one direction into all rows, to a degree that says nothing."""
    rng = np.random.default_rng(3)
    shared = 8 * rng.random((COUNT, 1)) * rng.standard_normal(DIMENSION)
    found = compare_texts(rows + shared, pairs=pairs, resamples=300)
    assert found.verdict.method != "original"
    assert found.comparison.gains("text-pairs")[found.verdict.method].low > 0


def test_shown_as_tables_csv_json_and_a_page(found) -> None:
    json.dumps(found.to_dict(), allow_nan=False)
    titles = [table.title for table in text_tables(found)]
    assert titles[0].startswith("Your scored pairs")
    assert "Without labels" in titles
    assert comparison_csv([found.comparison]).count("\n") > len(found.forms)
    page = text_html(found)
    assert found.summary[0] in page.replace("&#x27;", "'")
    assert "<h2>Methods</h2>" in page
    assert found.summary[0] in repr(found)
    assert "verdict" in found._repr_html_()


def test_one_function_for_words_and_texts(rows, texts, pairs) -> None:
    found = compare(rows, ["original"], texts=texts, sizes=[], dtypes=["float32"])
    assert list(found.forms) == ["original"]
    assert list(compare((texts, rows), ["cn"], sizes=[], dtypes=["float32"]).forms) == [
        "original",
        "cn",
    ]
    with pytest.raises(InvalidInputError, match="rows are texts, and tasks is for words"):
        compare((texts, rows), tasks=["sts"])
    words = WordVectors([f"w{i}x" for i in range(COUNT)], rows)
    with pytest.raises(InvalidInputError, match="rows are words, and queries is for texts"):
        compare(words, queries=rows)
    with pytest.raises(InvalidInputError, match="weights does not apply"):
        compare_texts(rows, ["cn"], FitOptions(weights="zipf"))


def test_labels_that_do_not_fit(rows, texts, tmp_path) -> None:
    with pytest.raises(InvalidInputError, match="queries needs relevant too"):
        read_judgements(rows, None)
    with pytest.raises(InvalidInputError, match="relevant needs queries too"):
        read_judgements(None, [[1]])
    with pytest.raises(InvalidInputError, match="queries have 5 dimensions, the rows 24"):
        compare_texts(rows, queries=rows[:, :5], relevant=[[1]])
    with pytest.raises(InvalidInputError, match="there is no row '600' among 600"):
        compare_texts(rows, queries=rows, relevant=[[600]])
    with pytest.raises(InvalidInputError, match="no query has a relevant row"):
        read_judgements(rows, [[], []])
    with pytest.raises(InvalidInputError, match="judgements for query 700"):
        read_judgements(rows, {700: [1]})
    with pytest.raises(InvalidInputError, match="no pair has both of its texts"):
        compare_texts(rows, texts=texts, pairs=[("a", "b", 1.0), ("c", "d", 2.0)])
    with pytest.raises(InvalidInputError, match="two rows and a score"):
        read_text_pairs([("a", "b")])


def test_files_of_judgements(rows, texts, tmp_path) -> None:
    path = tmp_path / "rel.tsv"
    expected = [frozenset({0, 4}), frozenset({9})]
    for content in (
        "# comment\n1 1\n1 5\n2 10\n",
        "1\t1\t2\n1\t5\t1\n2\t10\t1\n2\t11\t0\n2\t12\t-1\n",
        "1 0 1 1\n1 0 5 1\n2 0 10 3\n",
        f"1\t{texts[0]}\n1\t{texts[4]}\n2\t{texts[9]}\n",
    ):
        path.write_text(content)
        found = read_judgements(rows[:2], path)
        some = compare_some(rows, texts, found.asked)
        assert found.begin(some, DIMENSION) == expected
    for content, what in {
        "1\n": "line 1: expected a query, a row",
        "1 2 x\n": "line 1: expected a query, a row",
        "1 2 3 4 5\n": "line 1: expected",
        "1 2\n3 4\n": "line 2: there is no query '3' among the 2",
        "1 2 0\n": "lists no relevant row",
    }.items():
        path.write_text(content)
        with pytest.raises(InvalidInputError, match=what):
            read_judgements(rows[:2], path)
    path.write_text("1 2\n1 601\n")
    with pytest.raises(InvalidInputError, match=r"rel\.tsv, line 2: there is no row '601'"):
        compare_texts(rows, queries=rows[:2], relevant=path)


def compare_some(rows, texts, asked):
    return read_some(as_texts(rows, texts), 0, asked)


def test_memory_does_not_grow_with_the_rows(monkeypatch, rows) -> None:
    """Forms are searched in several passes where the queries of all would take too much."""
    from conceptor.evaluation.compare import text_measures as module

    whole = compare_texts(rows, resamples=0)
    monkeypatch.setattr(module, "_MOST_BYTES", 1)
    parts = compare_texts(rows, resamples=0)
    assert whole.facts == parts.facts


def test_few_rows_are_no_trouble() -> None:
    for count in (1, 2, 5, 30):
        X = np.random.default_rng(count).standard_normal((count, 4))
        found = compare_texts(X, resamples=20)
        assert not found.backgrounds
        json.dumps(found.to_dict(), allow_nan=False)
        assert text_tables(found)
