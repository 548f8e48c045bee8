from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from conceptor.evaluation.statistics import Interval
from conceptor.paper.report import reproduction_page
from conceptor.paper.tables import PaperCell, Part, Reproduction
from conceptor.report.charts import gate_chart, spectrum_chart, ticks
from conceptor.report.page import main_method, verdict


class Balanced(HTMLParser):
    """Raises unless every element that is opened is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def reproduction() -> Reproduction:
    cells = [
        PaperCell("glove", "word_similarity", "RG<65>", method, 70.0 + i, 70.5 + i, 65, 65, 1.0)
        for i, method in enumerate(("original", "abtt", "cn-paper"))
    ]
    cells.append(PaperCell("glove", "categorization", "AP", "abtt", 60.0))
    part = Part("my vectors", False, cells, {"cn-paper": [0.1, 0.5, 0.9]}, ["a note & more"])
    return Reproduction(cells, {"glove": part}, {"lexicon": "not found"})


def test_reproduce_has_the_layout_of_the_paper(reproduction):
    html = reproduction_page(reproduction)
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert not re.search(r"https?://|<script|<link|@import|url\(", html)
    tables = [ElementTree.fromstring(t) for t in re.findall(r"<table>.*?</table>", html)]
    head = [cell.text for cell in tables[0].findall("thead/tr/th")]
    assert head == [f"{m} {w}" for m in ("original", "abtt", "cn-paper") for w in ("paper", "here")]
    (row,) = tables[0].findall("tbody/tr")
    assert [cell.text for cell in row] == [
        "RG<65>",
        "70.00",
        "70.50",
        "71.00",
        "71.50",
        "72.00",
        "72.50",
    ]
    assert tables[1].find("tbody/tr/td[2]").text == "—"
    assert escape(reproduction.summary[0]) in html
    assert "a note &amp; more" in html


def test_lines_stand_where_their_values_are():
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


def test_nothing_to_draw_is_still_a_chart():
    for chart in (spectrum_chart({"a": np.zeros(3)}), gate_chart({"a": np.ones(1)})):
        ElementTree.fromstring(chart)


@pytest.mark.parametrize(("low", "high"), [(-3, 9), (0, 1), (1, 50), (0, 1e-7), (-0.001, 2e4)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 3 <= len(found) <= 13
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert low > 0 or high < 0 or 0 in found or low == 0


def test_the_report_is_about_cn_or_else_the_last():
    assert main_method(["original", "cn:aperture=2.0", "abtt"]) == "cn:aperture=2.0"
    assert main_method(["original", "abtt", "pvn"]) == "pvn"
    assert main_method(["original"]) is None


class Gains:
    """A comparison of which only the gains of `cn` are known."""

    methods = ("original", "cn", "abtt")
    baseline = "original"

    def __init__(self, **gains: tuple[float, float, float]) -> None:
        self._gains = {name: Interval(*ends) for name, ends in gains.items()}
        self.families = list(gains)

    def gains(self, family):
        return {"cn": self._gains[family]}


@pytest.mark.parametrize(
    ("gains", "answer"),
    [
        (
            {"similarity": (3.1, 1.0, 5.2), "sts": (0.2, -0.5, 0.9)},
            "Yes, it helps: similarity +3.1 [1.0, 5.2]; not clear: sentences +0.2 [−0.5, 0.9].",
        ),
        (
            {"similarity": (3.1, 1.0, 5.2), "analogy": (-2.0, -3.0, -1.0)},
            "It helps and it costs: better similarity +3.1 [1.0, 5.2]; "
            "worse analogies −2.0 [−3.0, −1.0].",
        ),
        (
            {"similarity": (-3.1, -5.2, -1.0)},
            "Not on these vectors: similarity −3.1 [−5.2, −1.0].",
        ),
        (
            {"similarity": (0.1, -1.0, 1.2)},
            "Not on these vectors: no difference is clear (similarity +0.1 [−1.0, 1.2]).",
        ),
    ],
)
def test_the_report_opens_with_an_answer(gains, answer):
    assert verdict(Gains(**gains)) == [
        answer,
        "cn against original: points × 100, 95% intervals.",
    ]


def test_without_a_baseline_there_is_no_answer():
    assert verdict(Gains()) == []
    nothing = float("nan")
    assert verdict(Gains(similarity=(nothing, nothing, nothing))) == []
