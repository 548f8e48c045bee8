"""ConceptorClassifier against nearest centroids, LDA and logistic regression.

    pip install aeon                         # contains the Japanese Vowels
    python benchmarks/classifier.py

Data: digits, wine and breast cancer of scikit-learn in five folds; the text classification sets as
averages of GloVe 6B 50d, in their own parts or ten folds; Japanese Vowels in its own parts, as four
interpolated points of each utterance, alone and with the states of ten random neurons as in Jaeger
(2014, section 3.12), over 50 draws of the neurons. Parameters are the defaults; logistic regression
and the aperture of `tuned` are chosen by cross-validation within the training part.
Intervals are percentile bootstrap intervals over test items.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conceptor import ConceptorClassifier, WordVectors
from conceptor.data.registry import demo_vectors
from conceptor.evaluation import load_battery
from conceptor.evaluation.classification import TextClassification
from conceptor.evaluation.statistics import Mean, paired_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DRAWS = 50
POINTS = 4
NEURONS = 10


def models() -> dict[str, Callable[[], object]]:
    grid = {"aperture": [0.1, 0.3, 1, 3, 10, 30, 100]}
    return {
        "nearest centroid": NearestCentroid,
        "LDA": LinearDiscriminantAnalysis,
        "logistic regression": lambda: make_pipeline(
            StandardScaler(), LogisticRegressionCV(Cs=5, cv=3, max_iter=2000)
        ),
        "conceptors": ConceptorClassifier,
        "conceptors, positive": lambda: ConceptorClassifier(negative=False),
        "conceptors, tuned": lambda: GridSearchCV(ConceptorClassifier(), grid, cv=3),
    }


def read_utterances(part: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Read the utterances of aeon's file: 12 channels each, separated by colons."""
    package = importlib.util.find_spec("aeon")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / f"datasets/data/JapaneseVowels/JapaneseVowels_{part}.ts"
    lines = [line for line in path.read_text().splitlines() if line and line[0] not in "#@"]
    fields = [line.split(":") for line in lines]
    series = [
        np.array([[float(x) for x in each.split(",")] for each in row[:-1]]).T for row in fields
    ]
    return series, np.array([row[-1] for row in fields])


def resample(series: np.ndarray) -> np.ndarray:
    """Return the points of a series at equal distances, concatenated."""
    at = np.linspace(0, len(series) - 1, POINTS)
    return np.concatenate([np.interp(at, np.arange(len(series)), c) for c in series.T])


def run_reservoir(series: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the inputs beside the states of a random recurrent network driven by them."""
    W = rng.standard_normal((NEURONS, NEURONS))
    W *= 1.2 / np.abs(np.linalg.eigvals(W)).max()
    inputs = 0.2 * rng.standard_normal((NEURONS, series.shape[1]))
    bias, state, states = rng.standard_normal(NEURONS), np.zeros(NEURONS), []
    for point in series:
        state = np.tanh(W @ state + inputs @ point + bias)
        states.append(state)
    return np.hstack([series, states])


def japanese_vowels() -> Iterator[tuple[str, dict[str, np.ndarray], float]]:
    """Yield results without and with the network, and the number of draws."""
    (train, y), (test, z) = read_utterances("TRAIN"), read_utterances("TEST")
    for name, draws in (("Japanese Vowels", 1), ("Japanese Vowels, reservoir", DRAWS)):
        right: dict[str, np.ndarray] = {}
        for seed in range(draws):
            if draws == 1:
                X, Z = (np.stack([resample(s) for s in part]) for part in (train, test))
            else:
                X, Z = (
                    np.stack(
                        [resample(run_reservoir(s, np.random.default_rng(seed))) for s in part]
                    )
                    for part in (train, test)
                )
            for model, make in models().items():
                if draws > 1 and model == "conceptors, tuned":
                    continue
                found = make().fit(X, y).predict(Z) == z
                right[model] = right.get(model, 0.0) + found / draws
        yield name, right, len(z)


def of_tables() -> Iterator[tuple[str, dict[str, np.ndarray], float]]:
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, load in (
        ("digits", load_digits),
        ("wine", load_wine),
        ("breast cancer", load_breast_cancer),
    ):
        X, y = load(return_X_y=True)
        if name != "digits":
            X = StandardScaler().fit_transform(X)
        right = {
            model: cross_val_predict(make(), X, y, cv=folds) == y
            for model, make in models().items()
        }
        yield name, right, len(y)


def of_texts() -> Iterator[tuple[str, dict[str, np.ndarray], float]]:
    vectors = WordVectors(*demo_vectors())
    for task in load_battery(["classification"]).tasks:
        assert isinstance(task, TextClassification)
        made, _ = task.texts.averages(vectors)
        right: dict[str, np.ndarray] = {}
        tested = np.zeros(len(made), dtype=bool)
        for train, choose, test in task._splits():
            tested |= test
            for model, make in models().items():
                fitted = make().fit(made[train | choose], task.labels[train | choose])
                found = right.setdefault(model, np.zeros(len(made)))
                found[test] = fitted.predict(made[test]) == task.labels[test]
        yield task.dataset, {m: each[tested] for m, each in right.items()}, int(tested.sum())


def main() -> None:
    names = list(models())
    print(f"| accuracy % | items | {' | '.join(names)} | conceptors over logistic regression |")
    print(f"|---|---|{'---|' * len(names)}---|")
    sources = [of_tables, of_texts]
    if importlib.util.find_spec("aeon") is not None:
        sources.insert(1, japanese_vowels)
    for source in sources:
        for name, right, items in source():
            scores = [f"{100 * right[m].mean():.1f}" if m in right else "" for m in names]
            gain = paired_differences(
                {name: Mean(right["logistic regression"])}, [{name: Mean(right["conceptors"])}]
            )[name].interval(0)
            against = f"{gain.difference:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"
            print(f"| {name} | {items:,} | {' | '.join(scores)} | {against} |", flush=True)


if __name__ == "__main__":
    main()
