from __future__ import annotations

import sys

import matplotlib as mpl
import pytest

mpl.use("agg")

from conceptor import AllButTheTop, ConceptorNegation, InvalidInputError, MissingExtraError
from conceptor.report import plots


@pytest.fixture
def fitted(vectors):
    return {"ABTT": AllButTheTop(2).fit(vectors), "CN": ConceptorNegation().fit(vectors)}


def test_the_lines_are_the_gates(fitted, tmp_path) -> None:
    ax = plots.plot_gates(fitted)
    for line, estimator in zip(ax.lines, fitted.values(), strict=True):
        assert (line.get_ydata() == estimator.gate_).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ABTT", "CN"]
    ax.figure.savefig(tmp_path / "gates.png")
    assert (tmp_path / "gates.png").stat().st_size > 1000


def test_the_lines_are_the_spectra(fitted) -> None:
    ax = plots.plot_spectrum(fitted, plots.plot_gates(fitted).figure.subplots())
    for line, estimator in zip(ax.lines, fitted.values(), strict=True):
        assert (line.get_ydata() == estimator.spectrum_.values).all()
    assert ax.get_yscale() == "log"


def test_one_estimator_or_solution_will_do(fitted) -> None:
    cn = fitted["CN"]
    for alone in (cn, cn.solution_, [cn]):
        ax = plots.plot_gates(alone)
        assert (ax.lines[0].get_ydata() == cn.gate_).all()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cn"]


def test_nothing_to_draw() -> None:
    with pytest.raises(InvalidInputError, match="nothing to draw"):
        plots.plot_gates({})


def test_without_matplotlib_it_says_how_to_get_it(fitted, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'conceptor\[plots\]'"):
        plots.plot_gates(fitted)
