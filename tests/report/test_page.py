from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from conceptor.evaluation.statistics import Interval
from conceptor.report.charts import gain_chart, gate_chart, spectrum_chart, ticks
from conceptor.report.result import Result
from conceptor.report.tables import Cell, Line, Table, fit_width, latex, rich_table


def test_lines_are_drawn_at_their_values():
    gate = np.array([0.0, 0.25, 0.5, 1.0])
    drawing = ElementTree.fromstring(gate_chart({"cn": gate}))
    points = np.array([p.split(",") for p in drawing.find("polyline").get("points").split()], float)
    x, y = points.T
    np.testing.assert_allclose(np.diff(x), np.diff(x)[0], atol=0.2)
    np.testing.assert_allclose((y[0] - y) / (y[0] - y[-1]), gate, atol=0.01)
    shares = np.array([0.9, 0.09, 0.009, 0.0])
    drawing = ElementTree.fromstring(spectrum_chart({"a": shares, "b": shares[::-1]}))
    y = [float(p.split(",")[1]) for p in drawing.find("polyline").get("points").split()]
    assert np.diff(y[:3]) == pytest.approx([y[1] - y[0]] * 2, abs=0.2)  # a logarithmic scale
    assert len(drawing.findall("polyline")) == 2


def test_intervals_are_drawn_on_one_axis():
    gains = {"a": Interval(1.0, 0.5, 1.5), "b": Interval(*[float("nan")] * 3)}
    (drawing,) = ElementTree.fromstring(gain_chart(gains, "Gain"))
    (circle,) = drawing.findall("circle")
    (line,) = [each for each in drawing.findall("line") if "interval" in each.get("class")]
    ends = float(line.get("x1")), float(line.get("x2"))
    assert float(circle.get("cx")) == pytest.approx(np.mean(ends), abs=0.2)


@pytest.mark.parametrize(("low", "high"), [(-3, 9), (0, 1), (1, 50), (0, 1e-7), (-0.001, 2e4)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 3 <= len(found) <= 13
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert low > 0 or high < 0 or 0 in found or low == 0


def test_a_result_in_every_form():
    table = Table("A | B", ["x_1"], [Line("a", [Cell("1 & 2", best=True)])])
    result = Result({"a": 1}, [table], ["title"], ["The end."])
    assert "| a | **1 & 2** |" in result.markdown()
    assert r"\textbf{1 \& 2}" in result.latex()
    assert r"x\_1" in latex(table)
    assert result.csv() == "table,row,column,value\nA | B,a,x_1,1 & 2\n"
    html = result.html()
    assert "<h1>title</h1>" in html
    assert '<td class="best">1 &amp; 2</td>' in html
    assert "<li>The end.</li>" in html


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
