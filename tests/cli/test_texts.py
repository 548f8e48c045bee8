"""compare, neighbors and explore on rows of texts."""

from __future__ import annotations

import json
import re
from functools import partial

import numpy as np
import pytest

import conceptor
from tests import processes
from tests.processes import assert_one_line

COUNT = 400
TEXTS = [f"How do I solve problem{i // 2} with tool{i // 2} on day{i}?" for i in range(COUNT)]


@pytest.fixture
def world(tmp_path):
    rng = np.random.default_rng(2)
    rows = np.repeat(rng.standard_normal((COUNT // 2, 16)), 2, axis=0)
    rows = (rows + 0.4 * rng.standard_normal((COUNT, 16))).astype(np.float32)
    np.save(tmp_path / "emb.npy", rows)
    np.save(tmp_path / "queries.npy", rows[:40:2] + 0.1)
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    related = [(TEXTS[i], TEXTS[i + 1], 5) for i in range(0, 100, 2)]
    others = [(TEXTS[i], TEXTS[i + 101], 1) for i in range(0, 100, 2)]
    lines = [f"{a}\t{b}\t{c}" for a, b, c in related + others]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    (tmp_path / "rel.tsv").write_text("".join(f"{i + 1}\t{2 * i + 1}\n" for i in range(20)))
    bare = processes.bare_machine(tmp_path / "cache", COLUMNS="120")

    return partial(processes.call, cwd=tmp_path, env=bare)


def test_compare_from_the_texts_to_a_decision(world, tmp_path) -> None:
    shown = world(
        "compare", "emb.npy", "--texts", "lines.txt", "--pairs", "pairs.tsv", "--queries",
        "queries.npy", "--relevant", "rel.tsv", "--resamples", 100,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert "few" in shown.stderr  # 20 queries
    for part in (
        "Your scored pairs", "Your queries", "Without labels", "strongest direction",
        "Smaller: gain on your scored pairs", "Smaller: neighbors kept",
    ):  # fmt: skip
        assert part in shown.stdout
    assert shown.stdout.splitlines()[1].startswith(("Leave them as they are", "Use "))


def test_compare_without_labels_and_in_every_format(world, tmp_path) -> None:
    options = "--methods original,gentle --sizes 16,4 --dtypes int8"
    plain = ("compare", "emb.npy", *options.split())
    shown = world(*plain)
    assert shown.returncode == 0, shown.stderr
    assert "--pairs" in shown.stdout.splitlines()[1]
    found = json.loads(world(*plain, "--json").stdout)
    assert [form["name"] for form in found["forms"]] == [
        "original", "gentle", "original int8", "gentle int8",
        "original 4", "gentle 4", "original 4 int8", "gentle 4 int8",
    ]  # fmt: skip
    assert found["method"] == "original"
    assert world(*plain, "-o", "page.csv").returncode == 0
    assert (tmp_path / "page.csv").read_text().startswith("method,task,dataset,metric,score,used,")
    assert world(*plain, "-o", "page.md").returncode == 0
    assert (tmp_path / "page.md").read_text().count("### ") == 2
    assert world(*plain, "-o", "page.html").returncode == 0
    assert "<h1>conceptor compare: emb.npy</h1>" in (tmp_path / "page.html").read_text()


def test_neighbors_shows_texts_and_how_rare_their_cosines_are(world, tmp_path) -> None:
    shown = world("neighbors", "emb.npy", TEXTS[10], "--texts", "lines.txt", "-n", 3)
    assert shown.returncode == 0, shown.stderr
    assert TEXTS[11] in shown.stdout
    assert re.search(r"99\.\d+%", shown.stdout)
    assert "random pairs below" in shown.stdout
    assert world("postprocess", "emb.npy", "b.npy", "--save-map", "m.safetensors").returncode == 0
    for methods, code in (("original", 0), ("original,cn", 2)):
        kept = ("--methods", methods, "--background", "m.safetensors")
        assert world("neighbors", "b.npy", "11", *kept).returncode == code
    assert world("fit", "emb.npy", "f.safetensors").returncode == 0
    kept = world(
        "neighbors", "b.npy", "11", "--methods", "original", "--background", "f.safetensors"
    )
    assert kept.returncode == 0, kept.stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("compare", "emb.npy", "--texts", "pairs.tsv"), "pairs.tsv: 100 texts for the 400 rows"),
        (("compare", "emb.npy", "--texts", "no.txt"), "no.txt: no such file of texts"),
        (("compare", "emb.npy", "--queries", "queries.npy"), "and --relevant belong together"),
        (("compare", "emb.npy", "--relevant", "rel.tsv"), "and --relevant belong together"),
        (("compare", "emb.npy", "--pairs", "pairs.tsv"), "no pair has both of its texts"),
        (("compare", "emb.npy", "--tasks", "sts"), "--tasks is for words"),
        (("compare", "emb.npy", "--sizes", "17"), "a size is 17, but the rows have 16 dimensions"),
        (("compare", "emb.npy", "--sizes", "few"), "--sizes is 'few'"),
        (("compare", "emb.npy", "--dtypes", "int4"), "unknown number type 'int4'"),
        (("compare", "emb.npy", "--methods", "hsr"), "rows have no words"),
        (("compare", "emb.npy", "-o", "emb.npy"), "is the input"),
        (("neighbors", "emb.npy", "401"), "there is no text or row '401'"),
        (("neighbors", "emb.npy", "1", "--without", "2"), "--without is for words"),
        (("neighbors", "emb.npy", "1", "--prior", "0.1"), "--prior is for words"),
    ],
)  # fmt: skip
def test_an_error_is_one_line(world, arguments, what) -> None:
    shown = world(*arguments)
    assert_one_line(shown, what)
    assert shown.stdout == ""


def test_benchmarks_of_words_refuse_texts(world, tmp_path) -> None:
    rows = np.random.default_rng(0).standard_normal((60, 4))
    texts = [f"a text with the number {i}" for i in range(60)]
    conceptor.write_vectors(tmp_path / "texts.parquet", [(texts, rows)])
    shown = world("evaluate", tmp_path / "texts.parquet", "--tasks", "similarity")
    assert shown.returncode == 2
    assert "its rows are texts" in shown.stderr
    assert "use compare" in shown.stderr
    said = world("evaluate", tmp_path / "texts.parquet", "--rows", "words")
    assert "its rows are texts" not in said.stderr
