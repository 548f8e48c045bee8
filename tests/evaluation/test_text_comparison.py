"""Embeddings of texts: forms side by side, on labels and without, and the verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from conceptor import compare, postprocess
from conceptor.base.errors import InvalidInputError
from conceptor.evaluation import Evaluation, Outcome, text_comparison
from conceptor.evaluation.labels import read_judgments, read_text_pairs
from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.text_comparison import (
    Form,
    TextComparison,
    compare_texts,
    plan_forms,
    share_kept,
)
from conceptor.evaluation.text_tasks import ndcg
from conceptor.evaluation.word_tasks import without_own
from conceptor.fit import FitOptions
from conceptor.methods import METHODS
from conceptor.report.result import text_result
from conceptor.report.scores import text_tables
from conceptor.vectors import open_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.texts import as_texts, read_some

COUNT, DIMENSION = 600, 24
PLAIN = {"sizes": [], "dtypes": ["float32"]}


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Rows in groups of four."""
    rng = np.random.default_rng(5)
    groups = np.repeat(rng.standard_normal((COUNT // 4, DIMENSION)), 4, axis=0)
    return (groups + 0.5 * rng.standard_normal((COUNT, DIMENSION))).astype(np.float32)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [f"item{i} of group{i // 4} topic{i // 4}" for i in range(COUNT)]


@pytest.fixture(scope="module")
def pairs() -> list[tuple[int, int, float]]:
    rng = np.random.default_rng(6)
    near = [(4 * i, 4 * i + 1, 4.0 + rng.random()) for i in range(100)]
    return near + [(4 * i, 4 * (i + 40) % COUNT, rng.random()) for i in range(100)]


@pytest.fixture(scope="module")
def compared(rows, texts, pairs):
    queries = rows[::20] + 0.1
    relevant = [[i, i + 1, i + 2] for i in range(0, COUNT, 20)]
    return compare_texts(
        rows, texts=texts, pairs=pairs, queries=queries, relevant=relevant, resamples=200
    )


def cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def score(compared, name: str, family: str) -> float:
    return compared.evaluations[name].means()[family]


def test_the_original_keeps_all_of_its_neighbors(compared) -> None:
    assert score(compared, "original", "text-neighbors") == 100
    assert score(compared, "original int8", "text-neighbors") > 95
    assert score(compared, "cn 6", "text-neighbors") < 100  # the control


def test_scores_are_those_of_an_independent_computation(compared, rows, pairs) -> None:
    left, right, gold = map(np.array, zip(*pairs, strict=True))
    near = cosines(rows)
    expected = 100 * stats.spearmanr(near[left.astype(int), right.astype(int)], gold).statistic
    assert score(compared, "original", "text-pairs") == pytest.approx(expected)
    queries = rows[::20] + 0.1
    both = cosines(np.concatenate([queries, rows]))[: len(queries), len(queries) :]
    gains, recalls = [], []
    for query, order in enumerate(np.argsort(-both, axis=1, kind="stable")):
        hits = np.isin(order, [20 * query, 20 * query + 1, 20 * query + 2])
        gains.append(100 * ndcg(hits))
        recalls.append(100 * hits[:100].mean() * 100 / 3)
    assert score(compared, "original", "text-retrieval") == pytest.approx(np.mean(gains))
    recall = compared.evaluations["original"]["queries, recall"]
    assert recall.score == pytest.approx(np.mean(recalls))


def test_the_share_of_the_strongest_direction(compared, rows) -> None:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.svd(unit, compute_uv=False) ** 2
    assert compared.strongest["original"] == pytest.approx(values[0] / values.sum(), rel=1e-5)


def test_the_measured_rows_are_those_that_postprocess_writes(
    compared, rows, pairs, tmp_path
) -> None:
    np.save(tmp_path / "rows.npy", rows)
    for name, method, dtype in [
        ("gentle", "gentle", None),
        ("cn 12 int8", "cn:n_components=12", "int8"),
        ("gentle binary", "gentle", "binary"),
    ]:
        postprocess(tmp_path / "rows.npy", tmp_path / "out.npy", method, dtype=dtype, force=True)
        size = (tmp_path / "out.npy").stat().st_size - COUNT * compared.forms[name].bytes
        assert 0 < size <= 256  # NumPy's header
        written = np.concatenate([part for _, part in open_vectors(tmp_path / "out.npy").chunks()])
        again = compare_texts(written, ["original"], pairs=pairs, **PLAIN)
        # A last bit that BLAS rounds differently may change a code of int8.
        expected = score(compared, name, "text-pairs")
        assert score(again, "original", "text-pairs") == pytest.approx(expected, abs=0.05)


def test_maps_that_keep_angles_keep_everything(rows, pairs) -> None:
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0]
    changed = 7 * rows @ rotation
    one, other = (
        compare_texts(each.astype(np.float64), ["original", "gentle"], pairs=pairs, resamples=0)
        for each in (rows, changed)
    )
    for name in ("original", "gentle"):
        near = score(other, name, "text-neighbors")
        assert score(one, name, "text-neighbors") == pytest.approx(near, abs=0.1)
        assert score(one, name, "text-pairs") == pytest.approx(score(other, name, "text-pairs"))
        assert one.strongest[name] == pytest.approx(other.strongest[name], rel=1e-6)


def test_repeated_rows_and_few_labels_are_warned_about(rows, pairs) -> None:
    repeated = np.repeat(rows[::4], 4, axis=0)
    found = compare_texts(repeated, ["original"], pairs=pairs[:10], **PLAIN)
    first, second = found.cautions
    assert "nearly repeat another" in first
    assert "pairs: 10 items are few" in second


def test_forms_are_the_requested_ones() -> None:
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


def verdict(gains: dict[str, float], rng, labeled=("text-pairs",)):
    """Return the verdict if forms gain this much on average, with some noise."""
    base = rng.random(400)
    forms = {
        "original": Form("original", 8),
        "gentle": Form("gentle", 8),
        "cn": Form("cn", 8),
        "gentle int8": Form("gentle", 8, "int8"),
        "gentle 4 int8": Form("gentle", 4, "int8", cut=True),
    }
    evaluations = {}
    for name, gain in ({"original": 0.0} | gains).items():
        scores = Mean(base + gain / 100 + 0.02 * rng.standard_normal(400))
        families = [*labeled, "text-neighbors"]
        outcomes = [Outcome(family, family, "m", 400, 400, scores) for family in families]
        evaluations[name] = Evaluation(name, outcomes, {})
    return TextComparison(
        "x",
        evaluations,
        resamples=500,
        forms=forms,
        strongest={"original": 0.3},
        labeled=labeled,
    ).verdict


def test_doing_nothing_is_the_answer_if_nothing_is_better(rng) -> None:
    for gains in ({"gentle": 0.0, "cn": -5}, {"gentle": -3, "cn": -3}):
        found = verdict(gains | {"gentle int8": -0.1, "gentle 4 int8": -9}, rng)
        assert found.method == "original"
        assert found.lines[0].startswith("Leave them as they are: ")
        assert found.smaller == "gentle int8"


def test_the_best_method_that_is_significantly_better_is_used(rng) -> None:
    found = verdict({"gentle": 1.0, "cn": 3, "gentle int8": 1, "gentle 4 int8": 0.1}, rng)
    assert found.method == "cn"
    assert found.lines[0].startswith("Use cn: your scored pairs +")
    assert found.smaller == "gentle 4 int8"
    assert "8 bytes per row instead of 32" in found.lines[1]


def test_without_labels_nothing_is_better(rng, rows) -> None:
    gains = {"gentle": 5, "cn": 5, "gentle int8": -1, "gentle 4 int8": -50}
    found = verdict(gains, rng, labeled=())
    assert found.method == "original"
    assert found.smaller == "gentle int8"
    plain = compare_texts(rows, resamples=100)
    first = text_result(plain).first_screen()  # other neighbors are no loss
    assert "loss" not in first
    assert 'class="series s4 main"' in first  # the gate
    assert plain.verdict.method == "original"
    assert "--pairs" in plain.summary[0]
    assert "without resamples" in compare_texts(rows, ["cn"], resamples=0).summary[0]


def test_a_shared_direction_is_removed_if_labels_show_that_it_helps(rows, pairs) -> None:
    """The model puts one direction into all rows, by an amount that means nothing."""
    rng = np.random.default_rng(3)
    shared = 8 * rng.random((COUNT, 1)) * rng.standard_normal(DIMENSION)
    found = compare_texts(rows + shared, pairs=pairs, resamples=300)
    assert found.verdict.method != "original"
    assert found.gains("text-pairs")[found.verdict.method].low > 0


def test_shown_as_tables_csv_json_and_a_page(compared) -> None:
    json.dumps(compared.to_dict(), allow_nan=False)
    titles = [table.title for table in text_tables(compared)]
    assert titles[0].startswith("Your scored pairs")
    assert "Without labels" in titles
    assert text_result(compared).csv().count("\n") > len(compared.forms)
    page = text_result(compared).html()
    assert compared.summary[0] in page.replace("&#x27;", "'")
    assert "<summary>Methods</summary>" in page
    assert compared.summary[0] in repr(compared)
    assert compared.summary[0] in compared._repr_html_().replace("&#x27;", "'")


def test_one_function_for_words_and_texts(rows, texts) -> None:
    assert list(compare(rows, ["original"], texts=texts, **PLAIN).forms) == ["original"]
    assert list(compare((texts, rows), ["cn"], **PLAIN).forms) == ["original", "cn"]
    with pytest.raises(InvalidInputError, match="rows are texts, and --tasks is for words"):
        compare((texts, rows), tasks=["sts"])
    words = WordVectors([f"w{i}x" for i in range(COUNT)], rows)
    with pytest.raises(InvalidInputError, match="rows are words, and --queries is for texts"):
        compare(words, queries=rows)
    with pytest.raises(InvalidInputError, match="weights"):
        compare_texts(rows, ["cn"], FitOptions(weights="zipf"))


def test_labels_that_do_not_fit(rows, texts) -> None:
    pairs = [("a", "b", 1.0), ("c", "d", 2.0)]
    for message, call in {
        "--queries and --relevant belong": lambda: read_judgments(rows, None),
        "--queries and --relevant belong together": lambda: read_judgments(None, [[1]]),
        "no query has a relevant row": lambda: read_judgments(rows, [[], []]),
        "judgments for query 700": lambda: read_judgments(rows, {700: [1]}),
        "two rows and a score": lambda: read_text_pairs([("a", "b")]),
        "5 dimensions, the rows 24": lambda: compare_texts(
            rows, queries=rows[:, :5], relevant=[[1]]
        ),
        "no row '600' among 600": lambda: compare_texts(rows, queries=rows, relevant=[[600]]),
        "no pair has both": lambda: compare_texts(rows, texts=texts, pairs=pairs),
    }.items():
        with pytest.raises(InvalidInputError, match=message):
            call()


def test_files_of_judgments(rows, texts, tmp_path) -> None:
    path = tmp_path / "rel.tsv"
    for content in (
        "# comment\n1 1\n1 5\n2 10\n",
        "1\t1\t2\n1\t5\t1\n2\t10\t1\n2\t11\t0\n2\t12\t-1\n",
        "1 0 1 1\n1 0 5 1\n2 0 10 3\n",
        f"1\t{texts[0]}\n1\t{texts[4]}\n2\t{texts[9]}\n",
    ):
        path.write_text(content)
        judgments = read_judgments(rows[:2], path)
        requests = [row for each in judgments.relevant for row in each]
        some = read_some(as_texts(rows, texts), 0, requests)
        assert [each.tolist() for each in judgments.find(some, DIMENSION)] == [[0, 4], [9]]
    for content, message in {
        "1\n": "line 1: expected a query, a row",
        "1 2 x\n": "line 1: expected a query, a row",
        "1 2 nan\n": "line 1: expected",
        "1 2\n1 3 1_0\n": "line 2: expected",
        "1 2 3 4 5\n": "line 1: expected",
        "1 2\n3 4\n": "line 2: there is no query '3' among the 2",
        "1 2 0\n": "lists no relevant row",
    }.items():
        path.write_text(content)
        with pytest.raises(InvalidInputError, match=message):
            read_judgments(rows[:2], path)
    path.write_text("1 2\n1 601\n")
    with pytest.raises(InvalidInputError, match=r"rel\.tsv, line 2: there is no row '601'"):
        compare_texts(rows, queries=rows[:2], relevant=path)


def test_a_clear_gain_is_significant_among_many_methods(rows, pairs) -> None:
    rng = np.random.default_rng(3)
    shared = 8 * rng.random((COUNT, 1)) * rng.standard_normal(DIMENSION)
    methods = [f"abtt:n_directions={number}" for number in range(20)]
    methods += [f"abtt:n_directions={number}:n_components=22" for number in range(7)]
    found = compare_texts(rows + shared, methods, pairs=pairs, **PLAIN)
    assert found.resamples == 40 * 27
    assert found.verdict.method != "original"


def test_memory_does_not_grow_with_the_forms(monkeypatch, rows) -> None:
    """Forms are searched in several passes if the queries of all would take too much."""
    methods = ["original", "gentle", "cn"]
    whole = compare_texts(rows, methods, **PLAIN, resamples=0)
    monkeypatch.setattr(text_comparison, "_MOST_BYTES", 1)
    parts = compare_texts(rows, methods, **PLAIN, resamples=0)
    assert whole.to_dict() == parts.to_dict()


def test_few_rows() -> None:
    for count in (1, 2):
        with pytest.raises(InvalidInputError, match=rf"too few rows \({count}\)"):
            compare_texts(np.ones((count, 4)))
    for count in (3, 30):
        X = np.random.default_rng(count).standard_normal((count, 4))
        found = compare_texts(X, resamples=20)
        json.dumps(found.to_dict(), allow_nan=False)
        assert text_tables(found)


def test_the_row_itself_is_left_out(rng) -> None:
    near = np.array([[3, 1, 2], [9, 8, 7], [5, 4, 6]])
    np.testing.assert_array_equal(without_own(near, np.array([1, 0, 5])), [[3, 2], [9, 8], [4, 6]])


def test_the_share_of_neighbors_that_stay() -> None:
    before = np.array([[1, 2, 3, 4], [5, 6, -1, -1], [-1, -1, -1, -1]])
    now = np.array([[4, 3, 8, 9], [6, 5, 7, -1], [-1, -1, -1, -1]])
    np.testing.assert_array_equal(share_kept(now, before), [0.5, 1, 1])
