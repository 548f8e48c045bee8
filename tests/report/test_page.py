from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from conceptor.evaluation.statistics import Interval
from conceptor.report.charts import color_places, gains_chart, gate_chart, palette, ticks
from conceptor.report.result import Result
from conceptor.report.tables import Cell, Line, Table, fit_width, latex, rich_table


def test_gates_are_steps_before_bars_of_variance():
    gate, shares = np.array([0.0, 0.25, 0.5, 1.0]), np.array([0.6, 0.3, 0.1, 0.0])
    drawing = ElementTree.fromstring(gate_chart(shares, {"cn": gate, "abtt": 1 - gate}, "cn"))
    last = drawing.findall("polyline")[-1]  # the main method is on top
    assert last.get("class") == "series s1 main"
    points = np.array([p.split(",") for p in last.get("points").split()], float)
    y = points[:, 1]
    np.testing.assert_allclose((y[0] - y) / (y[0] - y[-1]), np.repeat(gate, 2), atol=0.01)
    assert (points[1:-1:2, 0] == points[2::2, 0]).all()
    heights = [float(bar.get("height")) for bar in drawing.findall("rect")]
    np.testing.assert_allclose(np.array(heights) / heights[0], shares / 0.6, atol=0.01)


def test_gains_of_all_families_are_on_one_axis():
    gains = {
        "one": {"cn": Interval(1.0, 0.5, 1.5), "abtt": Interval(*[float("nan")] * 3)},
        "two": {"cn": Interval(-1.0, -1.5, -0.5), "abtt": Interval(0.1, -0.2, 0.4)},
    }
    drawing = ElementTree.fromstring(gains_chart(gains, "cn"))
    marks = {mark[0].text: mark for mark in drawing.iter() if "mark" in mark.get("class", "")}
    for family, style in (("one", "mark m1 full"), ("two", "mark m1 loss")):
        (title,) = [each for each in marks if each and each.startswith(f"cn, {family}")]
        assert marks[title].get("class") == style
    assert marks["abtt, two: +0.1 [−0.2, +0.4]"].get("class") == "mark m3 hollow"
    unjudged = gains_chart({"kept": gains["two"]}, "cn", is_judged=False)
    assert "loss" not in unjudged
    assert "change in points" in unjudged
    centers = [float(mark.get("cx")) for title, mark in marks.items() if title and "cn," in title]
    lines = [each for each in drawing.findall("line") if "interval" in each.get("class")]
    ends = [(float(each.get("x1")) + float(each.get("x2"))) / 2 for each in lines]
    assert centers == pytest.approx([ends[0], ends[1]], abs=0.2)


def test_a_method_has_one_color_everywhere_and_none_is_that_of_a_loss():
    assert color_places(["abtt:n_directions=3", "cn"]) == {"abtt:n_directions=3": 3, "cn": 1}
    assert color_places(["cn", "pvn", "hsr"]) == {"cn": 1, "pvn": 2, "hsr": 3}
    for one in (["gentle", "cn"], ["abtt", "renormalization", "gentle"]):
        assert {color_places(one)["gentle"], color_places(["gentle"])["gentle"]} == {4}
    assert len(set(color_places(["gentle", "cn-paper", "cn", "cn:aperture=2"]).values())) == 4
    colors = palette()
    assert colors["loss"] not in [colors[f"s{place}"] for place in range(6)]
    assert len({colors[f"s{place}"] for place in range(6)}) == 6


@pytest.mark.parametrize(("low", "high"), [(-3, 9), (0, 1), (1, 50), (0, 1e-7), (-0.001, 2e4)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 3 <= len(found) <= 13
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert low > 0 or high < 0 or 0 in found or low == 0


def test_a_result_in_every_form():
    table = Table("A | B", ["x_1"], [Line("a", [Cell("1 & 2", best=True)])])
    csv = "name,x\na,1\n"
    result = Result({"a": 1}, [table], ["title"], ["The end; see --help."], csv=lambda: csv)
    assert "| a | **1 & 2** |" in result.markdown()
    assert r"\textbf{1 \& 2}" in result.latex()
    assert r"x\_1" in latex(table)
    assert result.csv() == csv
    html = result.html()
    assert "<h1>title</h1>" in html
    assert 'role="region" aria-label="A | B"' in html
    assert '<td class="best">1 &amp; 2</td>' in html
    assert "<li>The end; see --help.</li>" in html
    assert "<details open>" in html


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
