"""Own pairs, results on few items, and gains between files."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor import write_vectors
from conceptor.base.display import format_number
from conceptor.base.errors import InvalidInputError
from conceptor.evaluation import FAMILIES, load_battery
from conceptor.evaluation.battery import read_own
from conceptor.evaluation.labels import read_pairs
from conceptor.evaluation.word_tasks import LANGUAGES, WordSimilarity
from conceptor.vectors.table import WordVectors

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
def world(tmp_path, vectors, bare_call):
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
    return bare_call


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
    ("content", "message"),
    [
        (b"a\tb\n", "line 1: expected two texts and a score"),
        (b"a\tb\t1\nc\td\thigh\n", "line 2: .* last is 'high'"),
        (b"a\tb\t1\nc\t\t2\n", "line 2: a text is empty"),
        (b"a\tb\tinf\nc\td\t2\n", "not finite"),
        (b"word\tword\tscore\n", "no pairs"),
        (b"# nothing\n\n", "no pairs"),
        (b"a\tb\t1\nc\td\t1\n", "all scores are equal"),
        (b"\xff\xfe", "not UTF-8"),
        (b"l\tr\tscore\nc\td\t2\na\tb\t1\nb\ta\t3\n", "line 4: the same pair as on line 3"),
        (b"a\tb\t1\nc\td\t1_000\n", "line 2: expected two texts and a score"),
    ],
)
def test_a_bad_file_of_pairs_is_refused(tmp_path, content, message) -> None:
    path = tmp_path / "own.tsv"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_own([path])


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
    files[0].write_bytes(b"a,b,1\nc,d\re,2\n")
    with pytest.raises(InvalidInputError, match=r"own\.csv, line 2: not comma-separated fields"):
        read_own(files)


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
    shown = world("compare", "a.txt", "--sentence-pairs", "sentences.tsv", "--resamples", 20)
    assert "Your sentence pairs" in shown.stdout
    assert "70/70" in shown.stdout
    assert shown.stderr == ""


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
    verdict = r"(better than|worse than|not significantly different from)"
    assert re.search(rf"b\.txt is {verdict} a\.txt on your word pairs", shown)
