"""Measure usage-weighted and sentence conceptors and write the tables into the documentation.

    python benchmarks/flagship.py docs [NAME=FILE ...]

The means go into docs/method.md, differences with their intervals and the choice of the defaults
into docs/claims.md; what stands there between two markers is replaced. NAME=FILE adds vectors,
sorted by frequency. Needs the demo and wordfreq extras and $CONCEPTOR_DATA with the benchmark
files and vectors/googlenews-13k.bin.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from held_out import PARTS
from threadpoolctl import threadpool_limits

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.aperture import suggested_aperture
from conceptor.algebra.gates import negated_conceptor
from conceptor.algebra.methods import ORIGINAL, Words, spectral_methods
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.files import replace_atomically
from conceptor.comparing.sentences import compare_sentences
from conceptor.comparing.words import Comparison, compare
from conceptor.data import registry as datasets
from conceptor.evaluation import Battery, load_battery
from conceptor.evaluation.statistics import Differences, Interval
from conceptor.fitting import FitOptions, gather
from conceptor.vectors import open_vectors
from conceptor.vectors.chunks import read_chunks
from conceptor.weights import Share, Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
OURS, PAPER = "cn", "cn-paper"
METHODS = spectral_methods()
GLOVE, NEWS = "GloVe 6B 50d", "Google News subset"
ENCODERS = ("average", "sif", "usif", "sif-spelling", "conceptor-known", "conceptor")
# Our encoder as it comes against others as published; and each of its two parts alone.
AGAINST = (
    ("conceptor", "sif"),
    ("conceptor", "usif"),
    ("conceptor-known", "sif"),
    ("conceptor", "sif-spelling"),
)
POWERS = (0.7, 0.85, 1.0, 1.15, 1.3)
CHOOSING = (
    "Conceptor negation with the aperture of `auto`, on the benchmarks used to choose:\n"
    "similarity / STS / categorisation.\n"
)
FAMILIES = {"similarity": "similarity", "sts": "STS 2012–2015", "categorization": "categorisation"}


def main(docs: str, more: list[str]) -> None:
    battery = load_battery()
    if battery.missing:
        sys.exit(f"these files are missing: {', '.join(battery.missing)}")
    news = open_vectors(datasets.fetch("googlenews-13k.bin"))
    # Vectors, and where their words' frequencies are from; None: as `compare` chooses.
    sources = {GLOVE: (datasets.demo_vectors(), None), NEWS: (news, None)}
    sources[f"{NEWS}, wordfreq"] = (news, "wordfreq:en")
    for name, _, file in (each.partition("=") for each in more):
        sources[name] = (open_vectors(file), None)
    words, sentences, choices = {}, {}, []
    for name, (source, usage) in sources.items():
        options = FitOptions(weights=usage)
        words[name] = compare(source, [ORIGINAL, *METHODS], battery, options, name=name)
        print(name, "words", flush=True)
        sentences[name] = compare_sentences(source, battery, ENCODERS, options, name=name)
        print(name, "sentences", flush=True)
        choices += [f"### {name}\n", *variants(source, battery, options)]
    write(
        Path(docs, "method.md"),
        ["### Words\n", *word_table(words), "### Sentences\n", *sentence_table(sentences)],
    )
    found = ["## Claims\n", *claims(words, sentences)]
    found += ["## Choosing weights and centring\n", CHOOSING, *choices]
    write(Path(docs, "claims.md"), found)


def write(page: Path, found: list[str]) -> None:
    """Replace what stands between the markers of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    with replace_atomically(page) as beside:
        beside.write_text("\n".join([before + BEGIN, *found, END]) + after, encoding="utf-8")


def over(comparison: Comparison, family: str, part: str) -> list[str]:
    outcomes = comparison.evaluations[comparison.baseline].mean_outcomes(family)
    return [outcome.dataset for outcome in outcomes if PARTS[part](outcome.dataset)]


def mean(comparison: Comparison, method: str, family: str, part: str = "all") -> float:
    names = set(over(comparison, family, part))
    outcomes = comparison.evaluations[method].outcomes
    return fmean(o.score for o in outcomes if o.dataset in names)


def word_table(words: dict[str, Comparison]) -> list[str]:
    """Means of similarity / STS / categorisation, by method."""
    lines = ["Similarity (7 sets) / STS 2012–2015 (19 tasks) / categorisation (3 sets), × 100.\n"]
    lines.append("| | " + " | ".join(words) + " |\n|---" + "|---:" * len(words) + "|")
    for method in next(iter(words.values())).methods:
        cells = [
            " / ".join(f"{mean(comparison, method, family):.2f}" for family in FAMILIES)
            for comparison in words.values()
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    used = [f"{name}: " + "; ".join(comparison.notes) for name, comparison in words.items()]
    return [*lines, "", *(f"- {each}." for each in used), ""]


def sentence_table(sentences: dict[str, Comparison]) -> list[str]:
    lines = ["STS 2012–2015 mean / SICK, Pearson × 100. (own): the map after the average was"]
    lines.append("fitted on the test set's own sentences; (other): on those of the other sets.\n")
    lines.append("| | " + " | ".join(sentences) + " |\n|---" + "|---:" * len(sentences) + "|")
    for method in next(iter(sentences.values())).methods:
        cells = [
            f"{mean(c, method, 'sts'):.2f} / {c.evaluations[method]['SICK'].score:.2f}"
            for c in sentences.values()
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    # What is said of regimes stands above; the notes on words differ by vectors.
    used = [f"{name}: {comparison.notes[-1]}" for name, comparison in sentences.items()]
    return [*lines, "", *(f"- {each}." for each in used), ""]


def claims(words: dict[str, Comparison], sentences: dict[str, Comparison]) -> list[str]:
    lines = [
        "Differences of means in points, with the 95% interval of the paired bootstrap (1,000",
        "resamples). `yes`: the interval is above zero; `no`: it is below; `open`: it holds zero",
        "and nothing is claimed.\n",
        "| claim | all | | used to choose | | held out | |",
        "|---|---:|---|---:|---|---:|---|",
    ]

    def add(label: str, difference: Callable[[str], Differences | None]) -> None:
        cells = []
        for part in PARTS:
            found = difference(part)
            cells += _cells(None if found is None else found.interval(0))
        lines.append(f"| {label} | " + " | ".join(cells) + " |")

    def on(comparison: Comparison, family: str, ours: str, theirs: str) -> Callable:
        return lambda part: comparison.differences(ours, over(comparison, family, part), theirs)

    def on_sick(comparison: Comparison, ours: str, theirs: str) -> Callable:
        return lambda part: comparison.differences(
            ours, ["SICK"] if PARTS[part]("SICK") else [], theirs
        )

    for name, comparison in words.items():
        for family, title in FAMILIES.items():
            label = f"{name}, {title}: {OURS} − {PAPER}"
            add(label, on(comparison, family, OURS, PAPER))
    others = [m for m in METHODS if m != OURS]
    # Google News once: with the counts that `compare` takes.
    every = [name for name in words if not name.startswith(f"{NEWS}, ")]
    for label, names in (
        ("GloVe and Google News", [GLOVE, NEWS]),
        ("all sets of vectors", every),
    ):
        for other in [ORIGINAL, *others]:
            add(
                f"mean over {label}, similarity: {OURS} − {other}",
                lambda part, names=names, other=other: Differences.mean(
                    [
                        words[name].differences(OURS, over(words[name], "similarity", part), other)
                        for name in names
                    ]
                ),
            )
    for name, comparison in words.items():
        for other in [ORIGINAL, *others]:
            if other != PAPER:
                label = f"{name}, similarity: {OURS} − {other}"
                add(label, on(comparison, "similarity", OURS, other))
    for name, comparison in sentences.items():
        for regime in ("own", "other"):
            for one, other in AGAINST:
                ours, theirs = f"{one} ({regime})", f"{other} ({regime})"
                add(f"{name}, STS: {ours} − {theirs}", on(comparison, "sts", ours, theirs))
            for one, other in AGAINST:
                ours, theirs = f"{one} ({regime})", f"{other} ({regime})"
                add(f"{name}, SICK: {ours} − {theirs}", on_sick(comparison, ours, theirs))
    return [*lines, ""]


def _cells(interval: Interval | None) -> list[str]:
    if interval is None:
        return ["—", ""]
    numbers = f"{interval.difference:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"
    verdict = "yes" if interval.low > 0 else "no" if interval.high < 0 else "open"
    return [numbers.replace("-", "−"), verdict]


@dataclass(frozen=True, eq=False)
class UsageToPower(Weights):
    """Weights by usage, raised to a power: 0 is types, 1 tokens."""

    power: float = 1.0

    def shares(self, words: Sequence[str], before: int) -> Share:
        """Return the share of consecutive words, as `Weights` does."""
        rows, weights = super().shares(words, before)
        return Share(rows, None if weights is None else weights**self.power)


def variants(source: object, battery: Battery, options: FitOptions) -> list[str]:
    """Return a table of the means by weights and centring, over the benchmarks used to choose."""
    usage = options.weights_for(Words.USAGE, source)
    kinds = {
        "all words the same": Weights(),
        "the paper's list, all the same": options.weights_for(Words.TYPES, source),
    }
    for power in POWERS:
        powered = UsageToPower(usage.kind, usage.counts, power=power)
        kinds[f"usage^{power}" if power != 1 else "**usage**"] = powered
    gathered = gather(read_chunks(source), list(kinds.values()), battery.words)
    lines = ["| weights | uncentred | centred |\n|---|---:|---:|"]
    for kind, weights in kinds.items():
        moments = gathered.moments[weights]
        cells = []
        for matrix, offset in (
            (moments.second_moment, None),
            (moments.covariance, moments.mean),
        ):
            spectrum = Spectrum.from_matrix(matrix)
            alpha = suggested_aperture(spectrum.values, moments.count, moments.effective_count)
            map_ = AffineMap(spectrum.matrix(negated_conceptor(spectrum.values, alpha)), offset)
            vectors = gathered.rows.with_vectors(map_(gathered.rows.vectors))
            evaluation = battery.run(vectors)
            scores = [
                np.mean(
                    [
                        o.score
                        for o in evaluation.mean_outcomes(family)
                        if PARTS["used to choose"](o.dataset)
                    ]
                )
                for family in FAMILIES
            ]
            cells.append(" / ".join(f"{score:.2f}" for score in scores))
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return [*lines, ""]


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main(sys.argv[1], sys.argv[2:])
