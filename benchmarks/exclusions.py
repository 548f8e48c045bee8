"""Search with exclusions: how much of the wanted results remains when others are excluded.

    python benchmarks/exclusions.py words [--vectors FILE] [--others near]
    python benchmarks/exclusions.py words --others near --held-out 92 93
    python benchmarks/exclusions.py Cranfield [--held-out 69]

Words: a search gets five examples of a Battig category, and five of another category to exclude;
all other words are ranked. *Found* is the average precision of the rest of the category among all
words; *excluded* is the same among the words of the two categories alone. A method with a knob
gives a curve; methods are compared at equal exclusion, on the categories with an odd number. With
--held-out, the knobs of every method are chosen on one half of the categories (those that find the
most at the given exclusion) and reported on the other half.

Texts: documents of Cranfield or CISI, by `SentenceEncoder`. The search is for documents relevant to
a question, and excludes those relevant to a related one; it gets three examples of each.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from common import demo

from conceptor import SentenceEncoder
from conceptor.concepts.query import Criterion
from conceptor.data import registry
from conceptor.evaluation.text_tasks import RETRIEVAL_FILES, read_retrieval
from conceptor.evaluation.word_tasks import Categorization
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import collect_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Places = NDArray[np.intp]
    # From candidates, wanted examples and lists of unwanted ones to a score for each candidate.
    Ranker = Callable[[Array, Array, list[Array]], Array]

WORDS, EXAMPLES, TEXTS, NEAR, DRAWS = 50_000, 5, 3, 10, 3
LEVELS = (52, 54, 68, 70, 80, 88, 90, 92, 93, 94, 95, 96)
RESAMPLES = 1000


@dataclass(frozen=True)
class Trial:
    """Places of examples, of the wanted results, and of the unwanted ones."""

    group: int
    like: Places
    without: list[Places]
    wanted: Places
    unwanted: Places

    def measure(self, X: Array, rank: Ranker) -> tuple[float, float]:
        """Return the two average precisions of a ranking."""
        scores = rank(X, X[self.like], [X[rows] for rows in self.without])
        scores[np.concatenate([self.like, *self.without])] = -np.inf
        best = np.sort(scores[self.wanted])[::-1]
        hits = np.arange(1, len(best) + 1)
        above = np.sort(scores[scores > best[-1]])
        others = np.sort(scores[self.unwanted])
        ranks = 1 + len(above) - np.searchsorted(above, best, side="right")
        beaten_by = len(others) - np.searchsorted(others, best, side="right")
        return float((hits / ranks).mean()), float((hits / (hits + beaten_by)).mean())


def unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def center(rows: Array) -> Array:
    return unit(rows.mean(axis=0))


def mean(X: Array, like: Array, without: list[Array]) -> Array:
    return X @ center(like)


def subtraction(factor: float, X: Array, like: Array, without: list[Array]) -> Array:
    return X @ (center(like) - factor * center(np.concatenate(without)))


def orthogonal_negation(strength: float, X: Array, like: Array, without: list[Array]) -> Array:
    """Widdows (2003): the query less its projection onto the unwanted means; or more than that."""
    basis = np.linalg.qr(np.array([center(rows) for rows in without]).T)[0]
    query = center(like)
    return X @ (query - strength * (basis @ (basis.T @ query)))


def logistic_regression(C: float, X: Array, like: Array, without: list[Array]) -> Array:
    from sklearn.linear_model import LogisticRegression

    rows = np.concatenate([like, *without])
    model = LogisticRegression(C=C, class_weight="balanced")
    model.fit(rows, np.arange(len(rows)) < len(like))
    return X @ model.coef_[0].astype(X.dtype)


def behind_negation(aperture: float, X: Array, like: Array, without: list[Array]) -> Array:
    """Query and candidates compared after the negated conceptor: cos(¬C q, ¬C x)."""
    rows = np.concatenate(without)
    _, s, V = np.linalg.svd(rows, full_matrices=False)
    gate = 1 / (1 + aperture**2 * s**2 / len(rows))
    query, along = center(like), X @ V.T
    lengths = np.sqrt(np.maximum(1 - along**2 @ (1 - gate**2), 1e-12))
    return (X @ query - along @ ((1 - gate**2) * (V @ query))) / lengths


def nearer_mean(
    margin: float, X: Array, like: Array, without: list[Array], *, strength: float = 5.0
) -> Array:
    """Apply the same penalty, with means in place of conceptors."""
    wanted = X @ center(like)
    unwanted = np.max([X @ center(rows) for rows in without], axis=0)
    return wanted - strength * np.maximum(unwanted - margin * wanted, 0)


def query(
    margin: float, X: Array, like: Array, without: list[Array], *, strength: float = 5.0
) -> Array:
    criterion = Criterion.from_vectors(like, without, margin=margin, strength=strength)
    return X @ criterion.direction.astype(X.dtype) - criterion.penalty(X)


def curve(rank: Callable[..., Array], *knobs: float) -> dict[Any, Ranker]:
    """Return a ranking function for each value of the knob."""
    return {knob: partial(rank, knob) for knob in knobs}


MARGINS = (1.2, 1.0, 0.9, 0.8, 0.7, 0.6)
CURVES: dict[str, dict[Any, Ranker]] = {
    "mean of the examples": {0.0: mean},
    "subtraction": curve(subtraction, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    "orthogonal negation": curve(orthogonal_negation, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5),
    "logistic regression": curve(logistic_regression, 0.1, 1.0, 10.0),
    "behind the negated conceptor": curve(behind_negation, 0.5, 1.0, 2.0, 3.0, 6.0),
    "nearer to a mean": curve(nearer_mean, *MARGINS),
    "Query": curve(query, *MARGINS),
}
# With --held-out: finer knobs, and the strength of the penalty is one of them.
_PENALTIES = [(m, s) for m in (1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6) for s in (2.0, 5.0, 20.0)]
FINER: dict[str, dict[Any, Ranker]] = {
    "mean of the examples": {0.0: mean},
    "subtraction": curve(subtraction, *np.arange(0.05, 1.5, 0.05).round(2).tolist()),
    "orthogonal negation": curve(orthogonal_negation, *np.arange(0.25, 4.1, 0.25).tolist()),
    "logistic regression": CURVES["logistic regression"],
    "behind the negated conceptor": CURVES["behind the negated conceptor"],
    "nearer to a mean": {(m, s): partial(nearer_mean, m, strength=s) for m, s in _PENALTIES},
    "Query": {(m, s): partial(query, m, strength=s) for m, s in _PENALTIES},
}


def categories(vectors: WordVectors) -> list[Places]:
    """Return the words of each category of Battig that has enough words with vectors."""
    battig = Categorization.read("Battig", registry.fetch("categorization/battig.csv"))
    members = defaultdict(list)
    rows = vectors.rows(battig.concepts, lowercase=True)
    for label, row in zip(battig.labels, rows, strict=True):
        if row >= 0 and row not in members[label]:
            members[label].append(row)
    return [np.array(each) for each in members.values() if len(each) >= 3 * EXAMPLES]


def word_trials(vectors: WordVectors, others: str) -> Iterator[Trial]:
    rng = np.random.default_rng(0)
    groups = categories(vectors)
    centers = np.array([center(vectors.vectors[rows]) for rows in groups])
    for number, own in enumerate(groups):
        order = np.argsort(-(centers @ centers[number]))[1:]
        for _ in range(DRAWS):
            drawn = rng.choice(order[:NEAR] if others == "near" else order, 1, replace=False)
            rest = [np.setdiff1d(groups[i], own) for i in drawn]
            unique = np.setdiff1d(own, np.concatenate([groups[i] for i in drawn]))
            if min(map(len, [unique, *rest])) < 2 * EXAMPLES:
                continue
            like, *without = (rng.choice(rows, EXAMPLES, replace=False) for rows in [unique, *rest])
            unwanted = np.setdiff1d(np.concatenate(rest), np.concatenate(without))
            yield Trial(number, like, without, np.setdiff1d(unique, like), unwanted)


def text_trials(name: str, vectors: WordVectors) -> tuple[Array, list[Trial]]:
    """Return the documents' vectors, and searches among them."""
    paths = {file: registry.fetch(file) for file in RETRIEVAL_FILES[name]}
    collection = read_retrieval(name, paths)[0].collection
    encoder = SentenceEncoder(vectors).fit(collection.documents)
    documents = unit(encoder.transform(collection.documents))
    groups = [rows for rows in collection.relevant if len(rows) >= 2 * TEXTS]
    centers = np.array([center(documents[rows]) for rows in groups])
    rng, trials = np.random.default_rng(0), []
    for number, own in enumerate(groups):
        for other in np.argsort(-(centers @ centers[number]))[1 : 1 + DRAWS]:
            sides = np.setdiff1d(own, groups[other]), np.setdiff1d(groups[other], own)
            if min(map(len, sides)) < 2 * TEXTS:
                continue
            like, without = (rng.choice(rows, TEXTS, replace=False) for rows in sides)
            rest = [np.setdiff1d(*both) for both in zip(sides, (like, without), strict=True)]
            trials.append(Trial(number, like, [without], *rest))
    return documents, trials


def measure(
    X: Array, trials: list[Trial], curves: dict[str, dict[Any, Ranker]]
) -> dict[str, Array]:
    """Return trials × settings × (found, excluded) of each curve."""
    return {
        name: 100
        * np.array([[trial.measure(X, rank) for rank in settings.values()] for trial in trials])
        for name, settings in curves.items()
    }


def at_equal_exclusion(points: Array, level: float) -> float:
    """Return the found share of a curve at some exclusion, interpolated; nan if not reached."""
    found, excluded = points[np.argsort(points[:, 1])].T
    if not excluded[0] <= level <= excluded[-1]:
        return float("nan")
    return float(np.interp(level, excluded, found))


def resampled(groups: Places) -> Array:
    """Return weights of trials for resamples of their categories."""
    names = np.unique(groups)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    weights = counts[:, np.searchsorted(names, groups)].astype(float)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def report(scores: dict[str, Array], groups: Places) -> None:
    """Print all points, then Query's lead at equal exclusion with intervals over categories."""
    for name, each in scores.items():
        cells = " ".join(f"{found:5.2f}/{excluded:5.2f}" for found, excluded in each.mean(axis=0))
        print(f"{name:<30} {cells}")
    # The first row of weights gives the plain means.
    weights = np.vstack([np.full(len(groups), 1 / len(groups)), resampled(groups)])
    print("\nQuery's lead in what is found, at equal exclusion, with its 95% interval")
    for level in LEVELS:
        found = {
            name: [at_equal_exclusion(np.tensordot(w, each, 1), level) for w in weights]
            for name, each in scores.items()
        }
        for name in scores:
            leads = np.subtract(found["Query"], found[name])
            if name != "Query" and not np.isnan(leads[0]):
                low, high = np.nanpercentile(leads[1:], [2.5, 97.5])
                print(f"  at {level:.0f}  {name:<40} {leads[0]:+.2f} [{low:+.2f}, {high:+.2f}]")


def best_setting(points: Array, level: float) -> int:
    """Return the setting that finds the most at this exclusion or more, if there is one."""
    found, excluded = points.T
    is_enough = excluded >= level
    if not is_enough.any():
        return int(excluded.argmax())
    return int(np.where(is_enough, found, -np.inf).argmax())


def report_held_out(scores: dict[str, Array], groups: Places, level: float) -> None:
    """Print found and excluded for every method, with knobs chosen on the other half."""
    halves = [groups % 2 == half for half in (0, 1)]
    weights = resampled(np.concatenate([groups[half] for half in reversed(halves)]))
    settings = {
        name: [best_setting(each[half].mean(axis=0), level) for half in halves]
        for name, each in scores.items()
    }
    results = {
        name: np.concatenate([each[~h][:, s] for h, s in zip(halves, settings[name], strict=True)])
        for name, each in scores.items()
    }
    print(f"\nknobs that exclude {level:g} on other categories; Query over each, 95% intervals")
    for name, each in results.items():
        found, excluded = each.mean(axis=0)
        lead = results["Query"] - each
        low, high = np.percentile(weights @ lead, [2.5, 97.5], axis=0)
        cells = "  ".join(
            f"{value:+6.2f} [{a:+.2f}, {b:+.2f}]"
            for value, a, b in zip(lead.mean(axis=0), low, high, strict=True)
        )
        knobs = [list(FINER[name])[setting] for setting in settings[name]]
        print(f"{name:<30} {found:5.2f} / {excluded:5.2f}   {cells}   knobs {knobs}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["words", *RETRIEVAL_FILES])
    parser.add_argument("--vectors")
    parser.add_argument("--others", choices=["any", "near"], default="any")
    parser.add_argument("--held-out", type=float, nargs="+", metavar="EXCLUDED", default=[])
    options = parser.parse_args()
    vectors = collect_rows(as_vectors(options.vectors or demo()), (), first=WORDS)
    vectors = vectors.with_vectors(unit(vectors.vectors))
    X = vectors.vectors
    if options.what == "words":
        trials = list(word_trials(vectors, options.others))
        if not options.held_out:
            trials = [trial for trial in trials if trial.group % 2]
    else:
        X, trials = text_trials(options.what, vectors)
    groups = np.array([trial.group for trial in trials])
    print(f"{len(X):,} candidates, {len(groups)} searches in {len(np.unique(groups))} categories")
    scores = measure(X, trials, FINER if options.held_out else CURVES)
    for level in options.held_out:
        report_held_out(scores, groups, level)
    if not options.held_out:
        report(scores, groups)


if __name__ == "__main__":
    main()
