"""`attach`: its folder, its summary, and one line for bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conceptor import StaticModel
from tests.evaluation.test_attached import make_store
from tests.processes import assert_one_line, call

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("attach")
    texts, vectors = make_store()
    names = [f"d{i}" for i in range(len(texts))]
    table = pa.table({"doc_id": names, "text": texts, "vector": list(vectors)})
    pyarrow.parquet.write_table(table, folder / "store.parquet")
    (folder / "q.tsv").write_text("".join(f"{i}\t{texts[i].split('. ')[1]}\n" for i in range(30)))
    (folder / "r.tsv").write_text("".join(f"{i}\t{i + 1}\n" for i in range(30)))
    (folder / "ids.tsv").write_text("".join(f"{i}\td{i}\n" for i in range(30)))
    (folder / "wrong.tsv").write_text("0\td0\n1\td900\n")
    np.save(folder / "v.npy", vectors)
    (folder / "t.txt").write_text("\n".join(texts))
    return folder


def test_from_a_file_to_a_folder(folder):
    pytest.importorskip("bm25s")
    arguments = ("attach", "store.parquet", "out", "--questions", "q.tsv", "--relevant")
    done = call(*arguments, "r.tsv", "--id-column", "rows", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "out").rename(folder / "first")
    summary = json.loads(done.stdout)
    assert summary["documents"] == 300
    assert summary["verdict"]
    assert [row["name"] for row in summary["judged"]] == ["attached", "BM25", "attached + BM25"]
    by_id = call(*arguments, "ids.tsv", "--id-column", "doc_id", cwd=folder)
    assert by_id.returncode == 0, by_id.stderr
    best = max(summary["judged"], key=lambda row: row["nDCG@10"])
    assert f"{best['name']}: nDCG@10 {best['nDCG@10']:.1f}" in by_id.stderr  # the same documents
    assert StaticModel.load(folder / "out").dimension == 24
    assert "## Use" in (folder / "out" / "README.md").read_text()
    assert not list(folder.glob(".*unfinished"))
    assert_one_line(call("attach", "store.parquet", "out", cwd=folder), "out: exists; remove it")


def test_an_array_with_texts_and_lines_for_people(folder):
    done = call("attach", "v.npy", "other", "--texts", "t.txt", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "measured: for " in done.stderr
    assert "verdict: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["v.npy"], "name the file with one text per line with --text-file texts.txt"),
        (["store.parquet", "--questions", "q.tsv"], "--questions and --relevant belong together"),
        (["store.parquet", "--text-column", "x"], "x is not a column of text"),
        (["store.parquet", "--id-column", "doc_id"], "--id-column needs --relevant"),
        (
            ["store.parquet", "--questions", "q.tsv", "--relevant", "wrong.tsv"],
            "choose with --id-column rows or --id-column doc_id",
        ),
    ],
)
def test_bad_input_is_one_line(folder, arguments, message):
    assert_one_line(call("attach", arguments[0], "new", *arguments[1:], cwd=folder), message)
    assert not (folder / "new").exists()
