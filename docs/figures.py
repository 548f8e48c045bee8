"""Draw the README's figure from GloVe 6B 50d: python docs/figures.py docs/gates.svg."""

from __future__ import annotations

import sys

import matplotlib as mpl
from matplotlib import pyplot

from conceptor import AllButTheTop, ConceptorNegation
from conceptor.data.registry import demo_vectors
from conceptor.report.plots import plot_gates, plot_spectrum

# Drawn without a screen, small, and the same bytes each time.
mpl.rcParams |= {"backend": "agg", "svg.hashsalt": "conceptor", "svg.fonttype": "none"}


def main(target: str) -> None:
    """Fit three post-processors and draw what each keeps of which direction."""
    _, X = demo_vectors()
    common = X[:50_000]
    estimators = {
        "ABTT, d = 2": AllButTheTop(2).fit(common),
        "CN, as in the paper": ConceptorNegation(2.0, power=1, unit=False).fit(common),
        "CN, the default here": ConceptorNegation(weights="zipf").fit(X),
    }
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    plot_spectrum(estimators, left).set_title("what the vectors share", loc="left", fontsize=10)
    plot_gates(estimators, right).set_title("how much of it is kept", loc="left", fontsize=10)
    right.get_legend().remove()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
