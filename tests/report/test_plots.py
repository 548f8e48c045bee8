from __future__ import annotations

import sys

import pytest
from matplotlib.figure import Figure

from conceptor import ConceptorNegation, estimator
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.report import plots


@pytest.fixture
def gates(vectors):
    fitted = {
        "ABTT": estimator("abtt:n_directions=2").fit(vectors),
        "CN": ConceptorNegation().fit(vectors),
    }
    return {label: each.gate_ for label, each in fitted.items()}


def test_the_lines_are_the_gates(gates) -> None:
    ax = plots.plot_directions(gates, Figure().subplots(), ylabel="kept")
    for line, gate in zip(ax.lines, gates.values(), strict=True):
        assert (line.get_ydata() == gate).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ABTT", "CN"]
    assert ax.get_ylabel() == "kept"


def test_one_panel_per_name(gates, tmp_path) -> None:
    drawn = []

    def draw(name, ax) -> None:
        drawn.append(name)
        plots.plot_directions({name: gates[name]}, ax)

    plots.draw_panels(tmp_path / "gates.png", list(gates), draw, width=3)
    assert drawn == list(gates)
    assert (tmp_path / "gates.png").stat().st_size > 1000


def test_a_format_that_cannot_be_drawn(tmp_path) -> None:
    with pytest.raises(InvalidInputError, match="use svg, pdf or png"):
        plots.draw_panels(tmp_path / "gates.doc", [], lambda name, ax: None, width=3)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_it_says_how_to_get_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'conceptor\[plots\]'"):
        plots.figure_format(tmp_path / "gates.svg")
