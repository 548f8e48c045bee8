"""Own pairs, results on few items, gains between files, and tables that fit the terminal."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from conceptor import InvalidInputError, WordVectors, write_vectors
from conceptor.base.numbers import format_number, format_signed
from conceptor.evaluation import FAMILIES, Battery, load_battery
from conceptor.evaluation.compare.words import Comparison, compare
from conceptor.evaluation.own import LANGUAGES, read_own, read_pairs
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.statistics import value
from conceptor.evaluation.task import is_thin
from conceptor.paper.tables import PaperCell, file_note
from conceptor.report.forms import Cell, Line, Table, fit_width, rich_table
from tests import processes

# Not in alphabetical order, so that their ranks may say something.
WORDS = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(200)]


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(3)
    return (rng.standard_normal((200, 10)) + 0.5).astype(np.float32)


def similarity(name: str, pairs: list[tuple[str, str, float]]) -> WordSimilarity:
    return WordSimilarity(name, [(a, b) for a, b, _ in pairs], [score for *_, score in pairs])


def pairs_of(words, number: int, seed: int = 0) -> list[tuple[str, str, float]]:
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(words), (number, 2))
    return [
        (words[i], words[j], float(s)) for (i, j), s in zip(chosen, rng.random(number), strict=True)
    ]


@pytest.fixture
def world(tmp_path, vectors):
    write_vectors(tmp_path / "a.txt", [(WORDS, vectors)])
    write_vectors(tmp_path / "b.txt", [(WORDS[:150], vectors[:150] ** 3)])
    (tmp_path / "own.tsv").write_text(
        "left\tright\tscore\n" + "".join(f"{a}\t{b}\t{s}\n" for a, b, s in pairs_of(WORDS, 120))
    )
    (tmp_path / "few.tsv").write_text(
        "".join(f"{a}\t{b}x\t{s}\n" for a, b, s in pairs_of(WORDS, 60))
        + "".join(f"{a}\t{b}\t{s}\n" for a, b, s in pairs_of(WORDS, 5, 1))
    )
    (tmp_path / "sentences.tsv").write_text(
        "".join(f"{a} {b} {a}\t{b} {b}\t{s}\n" for a, b, s in pairs_of(WORDS, 70))
    )

    def call(*arguments: object):
        bare = processes.bare_machine(tmp_path / "cache")
        return processes.call(*arguments, cwd=tmp_path, env=bare)

    return call


text = st.text(
    st.characters(exclude_characters='\t#"', exclude_categories=["C", "Z"]), min_size=1, max_size=9
)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(text, text, st.floats(allow_nan=False, allow_infinity=False)),
        min_size=2,
        max_size=20,
    ).filter(lambda pairs: len({score for *_, score in pairs}) > 1),
    st.sampled_from(["\t", " "]),
)
def test_pairs_are_read_as_they_were_written(tmp_path_factory, pairs, separator) -> None:
    path = tmp_path_factory.mktemp("own") / "pairs.tsv"
    lines = [separator.join((left, right, repr(score))) for left, right, score in pairs]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [tuple(pair) for pair in read_pairs(path)] == pairs


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\tb\n", "line 1: expected two texts and a score"),
        (b"a\tb\t1\nc\td\thigh\n", "line 2: .* last is 'high'"),
        (b"a\tb\t1\nc\t\t2\n", "line 2: a text is empty"),
        (b"a\tb\tinf\nc\td\t2\n", "not finite"),
        (b"word\tword\tscore\n", "no pairs"),
        (b"# nothing\n\n", "no pairs"),
        (b"a\tb\t1\nc\td\t1\n", "all scores are equal"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file_of_pairs_is_said(tmp_path, content, said) -> None:
    path = tmp_path / "own.tsv"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=said):
        read_pairs(path)


def test_commas_in_csv_files_and_files_of_one_name(tmp_path) -> None:
    for directory in ("x", "y"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "own.csv").write_text('"a, b",c,1\nd,e,2\n')
    files = [tmp_path / "x" / "own.csv", tmp_path / "y" / "own.csv"]
    tasks = read_own(files)
    assert tasks[0].pairs[0] == ("a, b", "c")
    assert [task.dataset for task in tasks] == [str(file) for file in files]
    with pytest.raises(InvalidInputError, match="named twice"):
        read_own(files, files[:1])


def test_sets_in_other_languages_go_by_name(tmp_path, monkeypatch) -> None:
    """Of files like the public ones, which have a heading and lines that end in returns only."""
    directory = tmp_path / "word-similarity"
    directory.mkdir()
    for name in ("DE-SIMLEX-999.txt", "DE-WS-353.txt"):
        (directory / name).write_bytes(b"word 1\tword 2\tscore\rein\tzwei\t3\rdrei\tvier\t0\r")
    monkeypatch.setattr("conceptor.data.registry.matches", lambda *_: True)
    battery = load_battery(["similarity-de"], tmp_path, offline=True)
    assert [(task.dataset, task.task) for task in battery.tasks] == [
        ("SimLex de", "similarity-de"),
        ("WS de", "similarity-de"),
    ]
    assert list(battery.tasks[0].pairs) == [("ein", "zwei"), ("drei", "vier")]
    assert not set(LANGUAGES) & set(FAMILIES)


def test_own_pairs_run_alone_and_are_scored_as_any_others(world, vectors, tmp_path) -> None:
    shown = world("evaluate", "a.txt", "--pairs", "own.tsv", "--json")
    (row,) = json.loads(shown.stdout)["results"]
    task = similarity("own.tsv", pairs_of(WORDS, 120))
    expected = task.score(WordVectors(WORDS, vectors))
    assert row["score"] == pytest.approx(expected.score)
    assert (row["task"], row["used"], row["total"]) == ("pairs", 120, 120)
    shown = world("compare", "a.txt", "--sentences-pairs", "sentences.tsv", "--resamples", 20)
    assert "Your sentence pairs" in shown.stdout
    assert "70/70" in shown.stdout
    assert shown.stderr == ""


@pytest.mark.parametrize(
    ("used", "total", "thin"),
    [(3, 65, True), (49, 65, True), (50, 65, False), (45, 45, False), (41, 45, False),
     (40, 45, True), (460, 2034, True), (611, 2034, False), (0, 100, True)],
)  # fmt: skip
def test_fewer_than_fifty_items_or_three_tenths_are_thin(used, total, thin) -> None:
    assert is_thin(used, total) == thin


def test_thin_results_are_in_brackets_and_out_of_the_mean(world) -> None:
    arguments = ("a.txt", "--pairs", "own.tsv", "--pairs", "few.tsv")
    found = json.loads(world("evaluate", *arguments, "--json").stdout)
    scores = {row["dataset"]: row["score"] for row in found["results"]}
    assert found["left_out"] == {"few.tsv": "5 of 65 items"}
    assert found["means"] == {"pairs": scores["own.tsv"]}
    shown = world("evaluate", *arguments).stdout
    assert f"({format_number(scores['few.tsv'])})" in shown
    assert "mean of 1" in shown
    assert "few.tsv 5 of 65 items" in " ".join(shown.split())


def test_two_files_are_compared_on_the_items_that_both_cover(world, vectors) -> None:
    found = json.loads(world("evaluate", "a.txt", "b.txt", "--pairs", "own.tsv", "--json").stdout)
    assert found[0]["gains"] == {}
    gain = found[1]["gains"]["pairs"]
    assert found[1]["against"] == "a.txt"
    # The same with the pairs that both cover, and nothing else.
    both = [pair for pair in pairs_of(WORDS, 120) if {*pair[:2]} <= set(WORDS[:150])]
    assert 50 < len(both) < 120
    task = similarity("both", both)
    scores = [task.score(WordVectors(WORDS, each)).score for each in (vectors, vectors**3)]
    assert gain["difference"] == pytest.approx(scores[1] - scores[0])
    assert gain["low"] <= gain["difference"] <= gain["high"]
    shown = world("evaluate", "a.txt", "b.txt", "--pairs", "own.tsv").stdout
    assert re.search(r"gain +[+−]\d", shown)
    assert re.search(r"b\.txt is (better than|worse than|level with) a\.txt on pairs", shown)
    twice = world("evaluate", "a.txt", "a.txt", "--pairs", "own.tsv")
    assert twice.returncode == 2


def test_a_statistic_can_be_had_on_some_items() -> None:
    task = WordSimilarity("x", [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], [1, 2, 3, 4])
    table = WordVectors(["a", "b", "c", "d"], np.random.default_rng(0).normal(size=(4, 3)))
    whole = task.score(table).statistic
    kept = np.array([True, True, False, True])
    part = WordSimilarity("x", [task.pairs[i] for i in (0, 1, 3)], [1, 2, 4])
    assert value(whole, kept) == pytest.approx(value(part.score(table).statistic))


def test_the_sentence_at_the_end_says_what_the_table_says(vectors) -> None:
    battery = Battery([similarity(f"{k}", pairs_of(WORDS, 90, k)) for k in range(2)])
    found = compare((WORDS, vectors), ["original", "cn"], battery, resamples=50)
    gain = found.gains("similarity")["cn"]
    (sentence,) = found.summary
    verdict = "better" if gain.low > 0 else "worse" if gain.high < 0 else "level"
    assert sentence.startswith(f"cn is {verdict}")
    assert (format_signed(gain.difference, 1) in sentence) == (verdict != "level")
    level = Comparison("x", dict(found.evaluations), resamples=50, baseline="cn")
    assert level.summary[0].startswith("original is ")


def test_examples_have_the_neighbours_that_the_command_shows(world) -> None:
    found = json.loads(
        world("compare", "a.txt", "--pairs", "own.tsv", "--methods", "original,abtt,cn",
              "--examples", 4, "--resamples", 0, "--json").stdout
    )["examples"]  # fmt: skip
    assert list(found) == ["original", "cn"]
    words = list(found["cn"])
    assert len(words) == 4
    neighbours = json.loads(world("neighbors", "a.txt", *words, "-n", 5, "--json").stdout)
    for method in found:
        for word in words:
            listed = [each["word"] for each in neighbours[method][word]]
            assert [each["word"] for each in found[method][word]] == listed
    shown = world("compare", "a.txt", "--pairs", "own.tsv", "--examples", 0, "--resamples", 0)
    assert "Nearest words" not in shown.stdout


@settings(max_examples=60)
@given(
    st.lists(st.text("abcdefgh-", min_size=1, max_size=40), min_size=1, max_size=12, unique=True),
    st.integers(1, 30),
    st.integers(60, 120),
)
def test_tables_fit_the_terminal_and_lose_nothing(names, label, width) -> None:
    cells = [Cell(f"{i}12.34") for i, _ in enumerate(names)]
    table = Table("Title", [*names, "used"], [Line("x" * label, [*cells, Cell("10/10")])] * 2)
    parts = fit_width(table, width)
    assert [name for part in parts for name in part.columns] == [*names, "used"]
    for part in parts:
        console = Console(width=500, record=True, file=io.StringIO())
        console.print(rich_table(part), width=width)
        shown = console.export_text().splitlines()
        assert max(map(len, shown)) <= width
        for line in part.lines:
            assert any(all(cell.text in row for cell in line.cells) for row in shown)


def test_many_methods_fit_80_columns(world) -> None:
    methods = "original,cn,cn-paper,abtt,whitening,zipf-whitening,pvn,ppa,ew"
    options = ("--pairs", "own.tsv", "--methods", methods, "--resamples", 10)
    shown = world("compare", "a.txt", *options)
    assert shown.returncode == 0, shown.stderr
    table = shown.stdout[shown.stdout.index("Your word pairs") : shown.stdout.index("Nearest")]
    assert max(map(len, table.splitlines())) <= 80
    assert ", continued" in table


def test_one_minus_sign() -> None:
    assert format_number(-1.234) == "−1.23"
    assert format_signed(-0.5, 1) == "−0.5"
    assert format_signed(0.5, 1) == "+0.5"
    assert format_number(float("nan")) == format_signed(float("nan")) == "—"


def test_negative_scores_have_it_too(world, tmp_path) -> None:
    """One of two files of scores, one the other turned round, agrees less than not at all."""
    for name, sign in (("plain.tsv", 1), ("turned.tsv", -1)):
        lines = (f"{a}\t{b}\t{sign * s}\n" for a, b, s in pairs_of(WORDS, 120))
        (tmp_path / name).write_text("".join(lines))
    shown = world("evaluate", "a.txt", "--pairs", "plain.tsv", "--pairs", "turned.tsv").stdout
    assert re.search(r"(plain|turned)\.tsv +−\d", shown)
    assert not re.search(r" -\d", shown)


def cell(table: str, used: int, total: int) -> PaperCell:
    return PaperCell("glove", table, "RG65", "cn-paper", 70.0, 60.0, used, total)


def test_files_that_are_not_the_papers_are_told() -> None:
    assert file_note("word2vec", 3_000_000, 300, []) is None
    assert file_note("glove", 2_196_008, 300, []) is None
    note = file_note("glove", 400_000, 50, [cell("word_similarity", 30, 60), cell("sts", 1, 1)])
    assert "400,000 words instead of 2,196,017" in note
    assert "50 dimensions instead of 300" in note
    assert "50% of the word pairs" in note


def test_equal_words_have_no_correlation(world, tmp_path) -> None:
    rng = np.random.default_rng(1)
    lines = (
        f"{word}\t{word}\t{score}\n" for word, score in zip(WORDS, rng.random(200), strict=True)
    )
    (tmp_path / "equal.tsv").write_text("".join(lines))
    run = world("evaluate", "a.txt", "--pairs", "equal.tsv", "--json")
    assert run.returncode == 0, run.stderr
    (result,) = json.loads(run.stdout)["results"]
    assert result["score"] is None
    shown = world("evaluate", "a.txt", "--pairs", "equal.tsv")
    assert shown.returncode == 0, shown.stderr
    compared = world("compare", "a.txt", "--pairs", "equal.tsv", "--methods", "cn,abtt", "--json")
    assert compared.returncode == 0, compared.stderr
    assert all(
        each["score"] is None
        for method in json.loads(compared.stdout)["methods"]
        for each in method["results"]
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a\tb\t1\nc\td\t2\na\tb\t3\n", "line 3: the same pair as on line 1"),
        ("left\tright\tscore\nc\td\t2\na\tb\t1\nb\ta\t3\n", "line 4: the same pair as on line 3"),
        ("a\tb\t1\nc\td\t1_000\n", "line 2: expected two texts and a score"),
        ("a\tb\t1\nc\td\t\uff11\n", "line 2: expected two texts and a score"),
    ],
)
def test_pairs_listed_twice_and_odd_scores_are_refused(tmp_path, content, said) -> None:
    (tmp_path / "own.tsv").write_text(content, encoding="utf-8")
    for how in ("pairs", "sentence_pairs"):
        with pytest.raises(InvalidInputError, match=said):
            read_own(**{how: [tmp_path / "own.tsv"]})
