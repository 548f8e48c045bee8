"""Every cell of the paper's tables, and how they are shown."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest

from conceptor.evaluation import load_battery
from conceptor.paper import reproduction as module
from conceptor.paper.reproduction import PaperVectors, reproduce
from conceptor.paper.tables import (
    PaperCell,
    Part,
    Reproduction,
    paper_tables,
    reproduction_result,
    reproduction_tables,
)
from conceptor.report.tables import markdown
from conceptor.vectors.table import WordVectors


@pytest.mark.slow
def test_reproduction_has_every_cell_of_the_papers_tables(data, glove, monkeypatch):
    pytest.importorskip("torch")
    from conceptor.paper.tracker import TrackerOptions

    monkeypatch.setattr("os.cpu_count", lambda: 1)  # trackers are trained in this process
    quick = TrackerOptions(epochs=1, batches=1, batch=8)
    common = (glove.words[:10_000], glove.vectors[:10_000])
    battery = load_battery(["similarity", "sts", "categorization"], data, offline=True)
    reproduced = reproduce(
        {"glove": common}, battery, dialogue=1, options=quick, data=data, offline=True
    )
    tables = paper_tables()
    printed = [row for t in tables if t != "settings" for row in tables[t]["rows"].values()]
    cells = reproduced.cells
    assert 2 * len(cells) == sum(map(len, printed)) == 2 * (3 * (7 + 5 + 20 + 3 + 4) + 4)
    cell = next(c for c in cells if (c.dataset, c.method) == ("SimLex", "cn-paper"))
    assert cell.paper == 48.53
    assert cell.difference == pytest.approx(cell.measured - 48.53)
    assert all(np.isfinite(c.measured) for c in cells)
    supervised = {c.method: c for c in cells if c.table == "supervised_simlex"}
    assert supervised["counterfit"].paper == 50
    assert supervised["counterfit"].measured > cell.measured
    assert supervised["cn-paper"].measured == cell.measured
    goals = [c for c in cells if (c.table, c.method) == ("dialogue", "cn-paper")]
    assert [(c.dataset, c.paper) for c in goals][::3] == [("Food", 88.8), ("Average", 92.4)]
    assert goals[3].measured == pytest.approx(np.mean([c.measured for c in goals[:3]]))
    assert [c.used for c in goals] == [1246, 1115, 1149, 1246 + 1115 + 1149]
    gates = reproduced.parts["glove"].gates
    assert gates["abtt:n_directions=2"] == [0.0] * 2 + [1.0] * 48
    assert all(0 < g < 1 for g in gates["cn-paper"])
    assert json.dumps(reproduced.to_dict(), allow_nan=False)


def test_part_of_glove_is_measured_and_marked(data, glove, monkeypatch):
    monkeypatch.setattr(module, "SUPERVISED", {})
    battery = load_battery(["similarity"], data, offline=True)
    few = WordVectors(glove.words[:20_000], glove.vectors[:20_000])
    part = PaperVectors(few, "a part of GloVe", stand_in=True)
    reproduced = reproduce({"glove": part}, battery, data=data, offline=True)
    # 999 of SimLex's pairs are covered well, RW's are not: half of the words are too rare.
    by_set = {(c.dataset, c.method): c for c in reproduced.cells if c.table == "word_similarity"}
    assert by_set["SimLex", "original"].comparable
    assert not by_set["RW", "original"].comparable
    assert "†" in reproduced.notes[-2]
    assert "a part of GloVe" in reproduced.notes[1]
    shown = markdown(reproduction_tables(reproduced)[0])
    assert "(stand-in)" in shown
    assert "/2034 †" in shown
    assert reproduced.summary == []  # stand-ins are not counted
    assert reproduced.remarks == []
    (remark,) = reproduce({"glove": few}, battery, data=data, offline=True).remarks
    assert remark.startswith(
        "glove: not the paper's file (20,000 words × 50 instead of 2,196,017 × 300), so "
    )


@pytest.mark.slow
def test_reproduction_on_all_of_glove_is_as_measured(data, glove, monkeypatch):
    # By synonyms or antonyms alone takes as long again.
    supervised = {"counterfit": module.SUPERVISED["counterfit"]}
    monkeypatch.setattr(module, "SUPERVISED", supervised)
    battery = load_battery(["similarity"], data, offline=True)
    reproduced = reproduce({"glove": glove}, battery, data=data, offline=True)
    simlex = {c.method: c.measured for c in reproduced.cells if c.table == "supervised_simlex"}
    assert simlex["cn-paper"] == pytest.approx(30.13, abs=0.05)
    assert simlex["counterfit"] == pytest.approx(38.33, abs=0.05)


@pytest.fixture
def made() -> Reproduction:
    cells = [
        PaperCell("glove", "word_similarity", "RG<65>", method, 70.0 + i, 70.5 + i, 65, 65, 1.0)
        for i, method in enumerate(("original", "abtt", "cn-paper"))
    ]
    cells.append(PaperCell("glove", "categorization", "AP", "abtt", 60.0))
    part = Part("my vectors", False, {"cn-paper": [0.1, 0.5, 0.9]}, ["a note & more"])
    return Reproduction(cells, {"glove": part}, {"lexicon": "not found"}, remarks=["a remark"])


def test_every_form_has_every_cell_and_note(made):
    result = reproduction_result(made)
    assert result.notes[1:] == ["a remark", *made.summary]  # the verdict is before the tables
    latex = result.latex()
    assert r" & cn-paper & 72.00 & 72.50 & +0.50 & 65/65 \\" in latex
    assert r"AP & abtt & 60.00 & — & — & 0/0 \\" in latex
    html = result.html()
    assert not re.search(r"https?://|<script|<link|@import|url\(", html)
    assert result.verdict == "a remark"  # before a count of close cells
    for line in (made.summary[0], "RG<65>", "a note & more", "a remark"):
        assert escape(line) in html
    assert made.summary == ["glove: 3 of 3 comparable cells are within 1.5 points of the paper's"]


def test_csv_is_data(made):
    third = 72.0 - 1 / 3
    cell = PaperCell("glove", "word_similarity", "MEN", "cn-paper", 72.0, third, 9, 10, 0.9)
    text = reproduction_result(replace(made, cells=[*made.cells, cell])).csv()
    assert text.isascii()
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(made.cells) + 1
    labels = ("vectors", "table", "dataset", "method")
    assert all(row[label] for row in rows for label in labels)
    numbers = [{k: float(v or "nan") for k, v in row.items() if k not in labels} for row in rows]
    assert numbers[-1]["measured"] == third
    assert numbers[-1]["difference"] == third - 72.0
    assert rows[-2]["measured"] == ""  # its data is missing
