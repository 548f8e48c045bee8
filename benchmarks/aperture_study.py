"""Every criterion for the aperture against the best fixed one, on every set of vectors.

    python benchmarks/aperture_study.py docs/aperture-study.md [NAME=FILE ...]

Writes the tables that docs/method.md speaks of. NAME=FILE adds vectors of one's own, sorted by
frequency. Needs the demo and wordfreq extras and $CONCEPTOR_DATA with the benchmark files and
vectors/googlenews-13k.bin.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import aperture_rules
import numpy as np
from held_out import PARTS
from threadpoolctl import threadpool_limits

from conceptor.algebra import aperture
from conceptor.algebra.gates import negated_conceptor
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.files import replace_atomically
from conceptor.data import registry as datasets
from conceptor.evaluation import Battery, Evaluation, WordVectors, load_battery
from conceptor.fitting import gather
from conceptor.vectors import open_vectors
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.table import as_word_vectors
from conceptor.weights import Weights, parse_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GRID = np.exp(np.linspace(np.log(0.15), np.log(6), 17))
# Spearman's ρ of fewer pairs says nothing about half a point.
FEWEST_PAIRS = 50


@dataclass
class Case:
    """A spectrum, how many words are behind it, and what to score."""

    name: str
    spectrum: Spectrum
    count: int
    effective: float
    rows: WordVectors
    variances: np.ndarray

    @property
    def scaled(self) -> np.ndarray:
        """Eigenvalues at mean 1."""
        return self.spectrum.values / self.spectrum.values.mean()

    def at_quota(self, quota: float) -> float:
        """α of a quota, held below the largest that "auto" allows."""
        return aperture.quota_aperture(self.spectrum.values, min(quota, aperture.LARGEST_QUOTA))

    def between(self, product: float) -> float:
        """Take the geometric mean of two apertures, held below the largest that "auto" allows."""
        second = aperture.second_aperture(self.spectrum.values, product)
        noise = aperture.noise_aperture(self.spectrum.values, self.effective)
        return min((second * noise) ** 0.5, self.at_quota(aperture.LARGEST_QUOTA))

    @property
    def unit(self) -> float:
        """α on the vectors' scale for α = 1 at mean eigenvalue 1."""
        return aperture.scale_free_aperture(self.spectrum.values, 1.0)

    def scores(self, battery: Battery, alpha: float) -> Evaluation:
        """Score the vectors after negation at this aperture."""
        gate = negated_conceptor(self.spectrum.values, alpha)
        vectors = self.rows.vectors.astype(np.float64) @ self.spectrum.matrix(gate)
        return battery.run(self.rows.with_vectors(vectors))


CRITERIA: dict[str, Callable[[Case], float]] = {
    "α = 2, unscaled": lambda case: 2.0,
    "α = 0.5 at mean λ 1": lambda case: 0.5 * case.unit,
    "α = 1 at mean λ 1": lambda case: case.unit,
    "∇ (Jaeger)": lambda case: aperture_rules.nabla_aperture(case.spectrum.values),
    "isotropy": lambda case: aperture_rules.isotropy_aperture(case.spectrum.values),
    "quota 0.2": lambda case: aperture.quota_aperture(case.spectrum.values, 0.2),
    "quota 0.4": lambda case: aperture.quota_aperture(case.spectrum.values, 0.4),
    "quota 0.7": lambda case: aperture.quota_aperture(case.spectrum.values, 0.7),
    "1/5 of λ₁ kept": lambda case: aperture.leading_aperture(case.spectrum.values, 0.2),
    "1/7 of λ₂ kept": lambda case: aperture.leading_aperture(case.spectrum.values[1:], 1 / 7),
    "quota = bulk": lambda case: aperture_rules.bulk_aperture(case.spectrum.values),
    # Tried and dropped on the way; kept so that the search can be seen whole.
    "quota 0.15": lambda case: case.at_quota(0.15),
    "quota 0.25": lambda case: case.at_quota(0.25),
    "quota 0.3": lambda case: case.at_quota(0.3),
    "α = 0.7 at mean λ 1": lambda case: 0.7 * case.unit,
    "1/3 of λ₂ kept": lambda case: aperture.leading_aperture(case.spectrum.values[1:], 1 / 3),
    "1/5 of λ₂ kept": lambda case: aperture.leading_aperture(case.spectrum.values[1:], 1 / 5),
    "1/9 of λ₂ kept": lambda case: aperture.leading_aperture(case.spectrum.values[1:], 1 / 9),
    "α² mean(λ₂..λ₄) = 4": lambda case: 2 / case.scaled[1:4].mean() ** 0.5 * case.unit,
    "α = 3.5 λ₂^−¾": lambda case: 3.5 / case.scaled[1] ** 0.75 * case.unit,
    "α² rms(bulk) = 2": lambda case: (2 / _rms(case.scaled[1:])) ** 0.5 * case.unit,
    "α² Σλ²/Σλ of bulk = 1": lambda case: _contraharmonic(case.scaled[1:]) ** -0.5 * case.unit,
    "quota = bulk / 2": lambda case: case.at_quota(aperture.isotropy(case.scaled[1:]) / 2),
    "quota = bulk^1.5": lambda case: case.at_quota(aperture.isotropy(case.scaled[1:]) ** 1.5),
    "quota = isotropy of covariance": lambda case: case.at_quota(aperture.isotropy(case.variances)),
    "quota = entropy": lambda case: case.at_quota(_entropy_rank(case.scaled)),
    "α = 2.5 / λ₂": lambda case: aperture.second_aperture(case.spectrum.values, 2.5),
    "α = 3 / λ₂": lambda case: aperture.second_aperture(case.spectrum.values, 3.0),
    "α = 3.5 / λ₂": lambda case: aperture.second_aperture(case.spectrum.values, 3.5),
    "α = 5.5 / λ₂": lambda case: aperture.second_aperture(case.spectrum.values, 5.5),
    "2 tr R / N": lambda case: aperture.noise_aperture(case.spectrum.values, case.effective / 2),
    "tr R / N": lambda case: aperture.noise_aperture(case.spectrum.values, case.effective),
    "tr R / N with 4.5 / λ₂": lambda case: case.between(4.5),
    "tr R / N with 6 / λ₂": lambda case: case.between(6.0),
    "tr R / N with 7 / λ₂": lambda case: case.between(7.0),
    "auto": lambda case: aperture.suggested_aperture(
        case.spectrum.values, case.count, case.effective
    ),
}


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _contraharmonic(values: np.ndarray) -> float:
    return float((values**2).sum() / values.sum())


def _entropy_rank(values: np.ndarray) -> float:
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()) / len(shares))


def cases(battery: Battery, more: list[str]) -> Iterator[Case]:
    counts = parse_weights(str(datasets.fetch("enwiki_vocab_min200.txt")))
    frequencies, ranks = parse_weights("wordfreq:en"), parse_weights("zipf")
    glove = as_word_vectors(_whole(datasets.demo_vectors()))
    news = as_word_vectors(_whole(open_vectors(datasets.fetch("googlenews-13k.bin"))))
    sets = [
        ("GloVe 50d", glove, ranks),
        ("GloVe 50d × 10", glove.with_vectors(10 * glove.vectors), ranks),
        ("GloVe, wordfreq", glove, frequencies),
        ("GloVe cut to 25d", _cut(glove, 25), ranks),
        ("News 300d", news, counts),
        ("News, wordfreq", news, frequencies),
        ("News cut to 100d", _cut(news, 100), counts),
        ("News cut to 50d", _cut(news, 50), counts),
    ]
    sets += [
        (name, as_word_vectors(_whole(open_vectors(file))), ranks)
        for name, _, file in (each.partition("=") for each in more)
    ]
    for name, vectors, weights in sets:
        yield _case(name, vectors, weights, battery)
    for name, vectors, _ in sets:
        if "×" not in name and "wordfreq" not in name:
            yield _case(f"{name}, uniform", vectors, Weights(), battery)


def _whole(source: object) -> tuple[list[str], np.ndarray]:
    parts = list(read_chunks(source))
    return [word for words, _ in parts for word in words], np.concatenate([v for _, v in parts])


def _cut(vectors: WordVectors, dimension: int) -> WordVectors:
    leading = Spectrum.from_matrix(Moments.from_vectors(vectors.vectors).second_moment).vectors[
        :, :dimension
    ]
    return vectors.with_vectors((vectors.vectors @ leading).astype(np.float32))


def _case(name: str, vectors: WordVectors, weights: Weights, battery: Battery) -> Case:
    found = gather(read_chunks(vectors), [weights], battery.words)
    moments = found.moments[weights]
    spectrum = Spectrum.from_matrix(moments.second_moment)
    variances = Spectrum.from_matrix(moments.covariance).values
    return Case(name, spectrum, moments.count, moments.effective_count, found.rows, variances)


def means(evaluation: Evaluation, part: Callable[[str], bool]) -> np.ndarray:
    """Similarity and STS, over the sets of a part that have enough pairs."""
    return np.array(
        [
            fmean(
                outcome.score
                for outcome in evaluation.mean_outcomes(family)
                if part(outcome.dataset) and outcome.used >= FEWEST_PAIRS
            )
            for family in ("similarity", "sts")
        ]
    )


def main(target: str, more: list[str]) -> None:
    battery = load_battery(("similarity", "sts"))
    if battery.missing:
        sys.exit(f"these files are missing: {', '.join(battery.missing)}")
    lines: dict[str, list[str]] = {part: [] for part in PARTS}
    summary: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for case in cases(battery, more):
        original = case.scores(battery, 0.0)
        fixed = [(alpha, case.scores(battery, alpha * case.unit)) for alpha in GRID]
        chosen = {name: rule(case) for name, rule in CRITERIA.items()}
        scored = {name: case.scores(battery, alpha) for name, alpha in chosen.items()}
        for part, member in PARTS.items():
            before = means(original, member)
            curve = np.array([means(evaluation, member) for _, evaluation in fixed])
            best = curve.max(axis=0)
            joint = curve.mean(axis=1)
            row = [case.name, f"{case.effective:,.0f}", _pair(before), _pair(best)]
            row.append(f"{GRID[joint.argmax()]:.2f}")
            for name, evaluation in scored.items():
                now = means(evaluation, member)
                worse = bool((now < before).any())
                lost = joint.max() - now.mean()
                apart = (curve[joint.argmax()] - now).max()
                kind = "uniform" if case.name.endswith("uniform") else "usage"
                summary.setdefault(f"{part}, {kind}", {}).setdefault(name, [])
                summary[f"{part}, {kind}"][name].append((lost, apart, (now - before).min()))
                row.append(f"{chosen[name] / case.unit:.2f}: {_pair(now - best)}{'!' * worse}")
            lines[part].append("| " + " | ".join(row) + " |")
        print(case.name, flush=True)
    with replace_atomically(target) as beside:
        beside.write_text(_page(lines, summary), encoding="utf-8")


def _pair(values: np.ndarray) -> str:
    return " / ".join(f"{value:.2f}".replace("-", "−") for value in values)


def _page(lines: dict[str, list[str]], summary: dict[str, dict[str, list]]) -> str:
    text = [
        "# The aperture without labels: the study\n",
        "Written by `python benchmarks/aperture_study.py`; not edited by hand.\n",
        "Apertures are for R scaled to mean eigenvalue 1. `best` is the best of "
        f"{len(GRID)} fixed ones from {GRID[0]:.2f} to {GRID[-1]:.0f}, for similarity and for STS "
        "each by itself; `at` is where the mean of both is highest. A criterion's cell reads "
        "aperture: difference from the best for similarity / STS; `!` marks one that is worse than "
        f"the original vectors. Sets with fewer than {FEWEST_PAIRS} usable pairs are left out "
        "(RG65 has 17 in the Google News subset). N is the effective number of words.\n",
        "## Summary\n",
        "How far similarity and STS fall short of the best fixed aperture, the one at which the "
        "mean of both is highest: the mean of both, worst and average over the sets of vectors; "
        "the one of the two that falls shorter, worst of all; how often one of the two is below "
        "that of the original vectors; and by how much at most.\n",
    ]
    for title, rules in summary.items():
        text.append(f"### {title} weights\n")
        head = ["criterion", "mean of both, worst", "average", "one of both, worst"]
        head += ["below original", "by"]
        text.append("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
        for name, found in rules.items():
            lost, apart, gained = zip(*found, strict=True)
            below = sum(gain < 0 for gain in gained)
            text.append(
                f"| {name} | {max(lost):.2f} | {fmean(lost):.2f} | {max(apart):.2f} "
                f"| {below} of {len(found)} | {max(0, -min(gained)):.2f} |"
            )
        text.append("")
    head = ["vectors", "N", "original", "best", "at", *CRITERIA]
    for part, rows in lines.items():
        text.append(f"## Benchmarks: {part}\n")
        text.append("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
        text += [*rows, ""]
    return "\n".join(text)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main(sys.argv[1], sys.argv[2:])
