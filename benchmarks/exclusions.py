"""Search with exclusions: how much of the wanted results remains when others are excluded.

    python benchmarks/exclusions.py words [--vectors FILE] [--others near] [--two] [--plot FILE]
    python benchmarks/exclusions.py words --within
    python benchmarks/exclusions.py Cranfield [--vectors FILE]
    python benchmarks/exclusions.py words --others near --held-out 92 93 [--test AP]

Words: a search gets five examples of a Battig category, and five of another category to exclude;
all other words are ranked. *Found* is the average precision of the rest of the category among all
words; *excluded* is the same among the words of the two categories alone. A method with a knob
gives a curve; methods are compared at equal exclusion. Knobs are chosen on the categories with an
even number (--dev); the reported results come from those with an odd number.

With --held-out, the knobs of every method are chosen on one half of the categories (those that find
the most at the given exclusion) and reported on the other half, and vice versa. With --test, they
are chosen on all categories of Battig and reported on those of another set.

Texts: documents of Cranfield or CISI, by `SentenceEncoder`. The search
is for documents relevant to a question, and excludes those relevant to a related one; it gets three
examples of each.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.concepts.query import Criterion, Region
from conceptor.data.registry import demo_vectors, fetch
from conceptor.evaluation.categorization import Categorization
from conceptor.evaluation.retrieval import FILES, read_retrieval
from conceptor.fitting import fit_methods
from conceptor.sentences import SentenceEncoder
from conceptor.vectors import WordVectors, open_vectors
from conceptor.vectors.chunks import read_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    # From candidates, wanted examples and lists of unwanted ones to a score for each candidate.
    Ranker = Callable[[Array, Array, list[Array]], Array]

WORDS, EXAMPLES, TEXTS, NEAR, DRAWS = 50_000, 5, 3, 10, 3
CATEGORIES = {"Battig": "categorization/battig.csv", "AP": "categorization/ap.csv"}
LEVELS = (52, 54, 68, 70, 80, 88, 90, 92, 93, 94, 95, 96)


@dataclass(frozen=True)
class Trial:
    """Rows of examples, of the wanted results, and of the unwanted ones."""

    group: int
    like: Array
    without: list[Array]
    wanted: Array
    unwanted: Array

    def measure(self, X: Array, rank: Ranker) -> tuple[float, float]:
        """Return the two average precisions of a ranking."""
        scores = rank(X, X[self.like], [X[rows] for rows in self.without])
        scores[np.concatenate([self.like, *self.without])] = -np.inf
        best = np.sort(scores[self.wanted])[::-1]
        hits = np.arange(1, len(best) + 1)
        above = np.sort(scores[scores > best[-1]])
        rivals = np.sort(scores[self.unwanted])
        ranks = 1 + len(above) - np.searchsorted(above, best, side="right")
        beaten_by = len(rivals) - np.searchsorted(rivals, best, side="right")
        return float((hits / ranks).mean()), float((hits / (hits + beaten_by)).mean())


def unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def centre(rows: Array) -> Array:
    return unit(rows.mean(axis=0))


def mean(X: Array, like: Array, without: list[Array]) -> Array:
    return X @ centre(like)


def subtraction(factor: float) -> Ranker:
    def rank(X: Array, like: Array, without: list[Array]) -> Array:
        return X @ (centre(like) - factor * centre(np.concatenate(without)))

    return rank


def orthogonal_negation(strength: float) -> Ranker:
    """Widdows (2003): the query less its projection onto the unwanted means; or more than that."""

    def rank(X: Array, like: Array, without: list[Array]) -> Array:
        basis = np.linalg.qr(np.array([centre(rows) for rows in without]).T)[0]
        query = centre(like)
        return X @ (query - strength * (basis @ (basis.T @ query)))

    return rank


def logistic_regression(C: float) -> Ranker:
    from sklearn.linear_model import LogisticRegression

    def rank(X: Array, like: Array, without: list[Array]) -> Array:
        rows = np.concatenate([like, *without])
        model = LogisticRegression(C=C, class_weight="balanced")
        model.fit(rows, np.arange(len(rows)) < len(like))
        return X @ model.coef_[0].astype(X.dtype)

    return rank


def behind_negation(aperture: float) -> Ranker:
    """Query and candidates compared after the negated conceptor: cos(¬C q, ¬C x)."""

    def rank(X: Array, like: Array, without: list[Array]) -> Array:
        rows = np.concatenate(without)
        _, s, V = np.linalg.svd(rows, full_matrices=False)
        gate = 1 / (1 + aperture**2 * s**2 / len(rows))
        query, along = centre(like), X @ V.T
        lengths = np.sqrt(np.maximum(1 - along**2 @ (1 - gate**2), 1e-12))
        return (X @ query - along @ ((1 - gate**2) * (V @ query))) / lengths

    return rank


def nearer_mean(margin: float, strength: float = 5.0) -> Ranker:
    """Brake in the same way, with means in place of conceptors."""

    def rank(X: Array, like: Array, without: list[Array]) -> Array:
        wanted = X @ centre(like)
        unwanted = np.max([X @ centre(rows) for rows in without], axis=0)
        return wanted - strength * np.maximum(unwanted - margin * wanted, 0)

    return rank


# The criterion of the last search, for all margins.
_LAST: dict[tuple[object, ...], Criterion] = {}


def query(
    margin: float,
    strength: float = 5.0,
    *,
    joined: bool = False,
    within: bool = False,
    **knobs: float,
) -> Ranker:
    def rank(X: Array, like: Array, lists: list[Array]) -> Array:
        groups = [np.concatenate(lists)] if joined else lists
        key = like.tobytes(), *(rows.tobytes() for rows in groups), within, *knobs.items()
        if key not in _LAST:
            _LAST.clear()
            _LAST[key] = Criterion.from_vectors(
                like, () if within else groups, groups if within else (), **knobs
            )
        criterion = replace(_LAST[key], margin=margin, strength=strength)
        return X @ criterion.direction.astype(X.dtype) - criterion.penalty(X)

    return rank


def evidence(X: Array, like: Array, without: list[Array]) -> Array:
    """Return nearness to the conceptor of the examples: set expansion without a mean."""
    return Region.from_vectors([like]).nearness(X)


CURVES: dict[str, dict[float, Ranker]] = {
    "mean of the examples": {0.0: mean},
    "evidence of the examples": {0.0: evidence},
    "subtraction": {f: subtraction(f) for f in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)},
    "orthogonal negation": {
        f: orthogonal_negation(f) for f in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5)
    },
    "logistic regression": {c: logistic_regression(c) for c in (0.1, 1.0, 10.0)},
    "behind the negated conceptor": {a: behind_negation(a) for a in (0.5, 1.0, 2.0, 3.0, 6.0)},
    "nearer to a mean": {m: nearer_mean(m) for m in (1.2, 1.0, 0.9, 0.8, 0.7, 0.6)},
    "Query": {m: query(m) for m in (1.2, 1.0, 0.9, 0.8, 0.7, 0.6)},
}


# With --held-out: finer knobs, and the strength of the brake is one of them.
_BRAKES = [(m, s) for m in (1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6) for s in (2.0, 5.0, 20.0)]
FINER: dict[str, dict[Any, Ranker]] = {
    "mean of the examples": {0.0: mean},
    "subtraction": {f: subtraction(f) for f in np.arange(0.05, 1.5, 0.05).round(2).tolist()},
    "orthogonal negation": {f: orthogonal_negation(f) for f in np.arange(0.25, 4.1, 0.25).tolist()},
    "logistic regression": CURVES["logistic regression"],
    "behind the negated conceptor": CURVES["behind the negated conceptor"],
    "nearer to a mean": {knobs: nearer_mean(*knobs) for knobs in _BRAKES},
    "Query": {knobs: query(*knobs) for knobs in _BRAKES},
}


# With --within: the lists are examples of the field.
WITHIN: dict[str, dict[float, Ranker]] = {
    "mean of the examples": {0.0: mean},
    "mean of the field": {0.0: lambda X, like, within: mean(X, within[0], [])},
    "mean of all": {0.0: lambda X, like, within: mean(X, np.vstack([like, *within]), [])},
    "Query": {m: query(m, within=True) for m in (0.6, 0.8, 0.9, 1.0, 1.2)},
}


def load(name: str | None, method: str) -> WordVectors:
    """Return the first words of some vectors, post-processed, at length 1."""
    source = WordVectors(*demo_vectors()) if name is None else open_vectors(name)
    words, rows = [], []
    fitted = fit_methods(source, [method]).methods[method]
    for names, part in read_chunks(source):
        words += list(names)
        rows.append(fitted(names, part))
        if len(words) >= WORDS:
            break
    return WordVectors(words[:WORDS], unit(np.concatenate(rows)[:WORDS]))


def categories(vectors: WordVectors, name: str) -> list[NDArray[np.intp]]:
    """Return the known words of each category of a set that has enough of them."""
    listed = Categorization.read(name, fetch(CATEGORIES[name]))
    members = defaultdict(list)
    rows = vectors.rows(listed.concepts, lowercase=True)
    for label, row in zip(listed.labels, rows, strict=True):
        if row >= 0 and row not in members[label]:
            members[label].append(row)
    return [np.array(found) for found in members.values() if len(found) >= 3 * EXAMPLES]


def word_trials(
    vectors: WordVectors, others: str, count: int, name: str = "Battig"
) -> Iterator[Trial]:
    rng = np.random.default_rng(0)
    groups = categories(vectors, name)
    centres = np.array([centre(vectors.vectors[rows]) for rows in groups])
    for number, own in enumerate(groups):
        order = np.argsort(-(centres @ centres[number]))[1:]
        for _ in range(DRAWS):
            chosen = rng.choice(order[:NEAR] if others == "near" else order, count, replace=False)
            rest = [np.setdiff1d(groups[i], own) for i in chosen]
            unique = np.setdiff1d(own, np.concatenate([groups[i] for i in chosen]))
            if min(map(len, [unique, *rest])) < 2 * EXAMPLES:
                continue
            like, *without = (rng.choice(rows, EXAMPLES, replace=False) for rows in [unique, *rest])
            unwanted = np.setdiff1d(np.concatenate(rest), np.concatenate(without))
            yield Trial(number, like, without, np.setdiff1d(unique, like), unwanted)


def with_field(trial: Trial) -> Trial:
    """Search for both categories within a field, given by further examples of the first."""
    members = np.random.default_rng(trial.group).permutation(trial.wanted)
    field, wanted = members[:EXAMPLES], members[EXAMPLES:]
    like = np.concatenate([trial.like, *trial.without])
    return Trial(trial.group, like, [field], wanted, trial.unwanted)


def text_trials(name: str, vectors: WordVectors) -> tuple[Array, list[Trial]]:
    """Return the documents' vectors, and searches among them."""
    paths = {file: fetch(file) for file in FILES[name]}
    collection = read_retrieval(name, paths)[0].collection
    encoder = SentenceEncoder(vectors).fit(collection.documents)
    made = unit(encoder.transform(collection.documents))
    groups = [rows for rows in collection.relevant if len(rows) >= 2 * TEXTS]
    centres = np.array([centre(made[rows]) for rows in groups])
    rng, trials = np.random.default_rng(0), []
    for number, own in enumerate(groups):
        for other in np.argsort(-(centres @ centres[number]))[1 : 1 + DRAWS]:
            sides = np.setdiff1d(own, groups[other]), np.setdiff1d(groups[other], own)
            if min(map(len, sides)) < 2 * TEXTS:
                continue
            like, without = (rng.choice(rows, TEXTS, replace=False) for rows in sides)
            rest = [np.setdiff1d(*both) for both in zip(sides, (like, without), strict=True)]
            trials.append(Trial(number, like, [without], *rest))
    return made, trials


def draw(scores: dict[str, Array], target: str) -> None:
    """Plot found against excluded."""
    import matplotlib as mpl

    mpl.rcParams |= {"backend": "agg", "svg.hashsalt": "conceptor", "svg.fonttype": "none"}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, each in scores.items():
        found, excluded = each.mean(axis=0).T
        style = {"linewidth": 2.5, "color": "black"} if name == "Query" else {}
        axes.plot(excluded, found, marker=".", label=name, **style)
    axes.set(xlabel="excluded (wanted against unwanted, AP)", ylabel="found (AP among all words)")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(target, metadata={"Date": None} if target.endswith("svg") else None)


def measure(
    X: Array, trials: list[Trial], curves: dict[str, dict[float, Ranker]]
) -> dict[str, Array]:
    """Return trials × settings × (found, excluded) of each curve."""
    return {
        name: 100
        * np.array([[trial.measure(X, rank) for rank in settings.values()] for trial in trials])
        for name, settings in curves.items()
    }


def at_equal_exclusion(points: Array, level: float) -> float:
    """Return the found share of a curve at some exclusion, interpolated; nan if not reached."""
    order = np.argsort(points[:, 1])
    found, excluded = points[order].T
    if not excluded[0] <= level <= excluded[-1]:
        return float("nan")
    return float(np.interp(level, excluded, found))


def resampled(groups: NDArray[np.intp], resamples: int = 1000) -> Array:
    """Return weights of trials for resamples of their categories."""
    names = np.unique(groups)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), resamples)
    weights = counts[:, np.searchsorted(names, groups)].astype(float)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def chosen(points: Array, level: float) -> int:
    """Return the setting that finds the most at this exclusion or more, if there is one."""
    found, excluded = points.T
    enough = excluded >= level
    return int(np.where(enough, found, -np.inf).argmax() if enough.any() else excluded.argmax())


def report_held_out(
    choosing: list[dict[str, Array]],
    reported: list[dict[str, Array]],
    groups: NDArray[np.intp],
    level: float,
) -> None:
    """Print found and excluded for every method, with knobs chosen on other trials."""
    weights = resampled(groups)
    results = {
        name: np.concatenate(
            [
                theirs[name][:, chosen(own[name].mean(axis=0), level)]
                for own, theirs in zip(choosing, reported, strict=True)
            ]
        )
        for name in choosing[0]
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
        knobs = [list(FINER[name])[chosen(own[name].mean(axis=0), level)] for own in choosing]
        print(f"{name:<30} {found:5.2f} / {excluded:5.2f}   {cells}   knobs {knobs}")


def report(scores: dict[str, Array], groups: NDArray[np.intp], resamples: int = 1000) -> None:
    """Print all points, then Query's lead at equal exclusion with intervals over categories."""
    for name, each in scores.items():
        cells = " ".join(f"{found:5.2f}/{excluded:5.2f}" for found, excluded in each.mean(axis=0))
        print(f"{name:<30} {cells}")
    weights = resampled(groups, resamples)
    print("\nQuery's lead in what is found, at equal exclusion, with its 95% interval")
    for level in LEVELS:
        for rival, theirs in scores.items():

            def lead(means: Callable[[Array], Array], theirs: Array = theirs) -> float:
                ours = at_equal_exclusion(means(scores["Query"]), level)  # noqa: B023
                return ours - at_equal_exclusion(means(theirs), level)  # noqa: B023

            value = lead(lambda each: each.mean(axis=0))
            if rival == "Query" or np.isnan(value):
                continue
            sampled = [lead(lambda each, w=w: np.tensordot(w, each, 1)) for w in weights]
            low, high = np.nanpercentile(sampled, [2.5, 97.5])
            print(f"  at {level:.0f}  {rival:<40} {value:+.2f} [{low:+.2f}, {high:+.2f}]")


def held_out(options: argparse.Namespace, vectors: WordVectors) -> None:
    """Choose knobs on some categories, or questions, and report on others."""
    X = vectors.vectors
    if options.what == "words":
        trials = list(word_trials(vectors, options.others, 1 + options.two))
    else:
        X, trials = text_trials(options.what, vectors)
    groups = np.array([trial.group for trial in trials])
    scores = measure(X, trials, FINER)
    if options.test:
        others = list(word_trials(vectors, options.others, 1 + options.two, options.test))
        choosing, reported = [scores], [measure(X, others, FINER)]
        groups = np.array([trial.group for trial in others])
    else:
        halves = [
            {name: each[groups % 2 == half] for name, each in scores.items()} for half in (0, 1)
        ]
        choosing, reported = halves, halves[::-1]
        groups = np.concatenate([groups[groups % 2 == half] for half in (1, 0)])
    print(f"{len(X):,} candidates, {len(groups)} searches in {len(np.unique(groups))} categories")
    for level in options.held_out:
        report_held_out(choosing, reported, groups, level)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["words", *FILES])
    parser.add_argument("--vectors")
    parser.add_argument("--method", default="original")
    parser.add_argument("--others", choices=["any", "near"], default="any")
    parser.add_argument("--two", action="store_true", help="exclude two categories at once")
    parser.add_argument("--dev", action="store_true", help="the categories for choosing knobs")
    parser.add_argument("--within", action="store_true", help="keep to a field instead")
    parser.add_argument("--held-out", type=float, nargs="+", metavar="EXCLUDED")
    parser.add_argument("--test", choices=[name for name in CATEGORIES if name != "Battig"])
    parser.add_argument("--plot")
    options = parser.parse_args(arguments)
    vectors = load(options.vectors, options.method)
    X = vectors.vectors
    if options.held_out:
        held_out(options, vectors)
        return
    if options.what == "words":
        found = word_trials(vectors, options.others, 1 + options.two)
        trials = [trial for trial in found if trial.group % 2 != options.dev]
    else:
        X, trials = text_trials(options.what, vectors)
    curves = dict(CURVES)
    if options.within:
        trials, curves = [with_field(trial) for trial in trials], WITHIN
    if options.two:
        curves["Query, one list"] = {m: query(m, joined=True) for m in CURVES["Query"]}
    if options.dev:
        for strength, aperture in ((1, 1), (2, 1), (20, 1), (5, 0.3), (5, 2), (5, 4)):
            curves[f"Query, strength {strength}, aperture {aperture}"] = {
                m: query(m, strength=strength, aperture=aperture) for m in (1.0, 0.8, 0.6)
            }
    print(f"{len(X):,} candidates, {len(trials)} searches", flush=True)
    scores = measure(X, trials, curves)
    report(scores, np.array([trial.group for trial in trials]))
    if options.plot:
        draw(scores, options.plot)


if __name__ == "__main__":
    main(sys.argv[1:])
