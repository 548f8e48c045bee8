"""What a file of vectors looks like, before and after, and whether post-processing will help."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.aperture import isotropy
from conceptor.errors import InvalidInputError
from conceptor.estimators import ConceptorNegation
from conceptor.evaluation.rows import chunks_of
from conceptor.moments import Moments
from conceptor.progress import Progress, silent
from conceptor.spectrum import Spectrum
from conceptor.usage import Usage, unsorted

if TYPE_CHECKING:
    import os

    from conceptor.arrays import Float64
    from conceptor.linear_map import LinearMap

__all__ = ["Inspection", "Side", "inspect", "isoscore", "partition_ratio"]

LEADING = 5
# Participation ratio of R beyond which there is nothing much that vectors share.
EVEN_ENOUGH = 0.5


def isoscore(covariance: Float64) -> float:
    """Return IsoScore: 1 where every direction varies the same, 0 where only one does.

    References
    ----------
    Rudman, Gillman, Rayne & Eickhoff (2022), IsoScore: Measuring the Uniformity of Embedding
    Space Utilization, Findings of ACL, Definition 3.
    """
    variances = Spectrum.of(covariance).values
    n = len(variances)
    size = np.linalg.norm(variances)
    if n == 1 or not size > 0:
        return float("nan")
    defect = np.linalg.norm(np.sqrt(n) * variances / size - 1) / np.sqrt(2 * (n - np.sqrt(n)))
    used = (n - defect**2 * (n - np.sqrt(n))) ** 2 / n**2
    return float((n * used - 1) / (n - 1))


def partition_ratio(log_partitions: Float64) -> float:
    """Return ``min Z(c) / max Z(c)`` from ``log Z(c)``, with ``Z(c) = Σ_w exp(cᵀ v_w)``.

    Mu & Viswanath (2018), equation 2 and after: c runs over the eigenvectors of VᵀV; 1 is
    isotropic. It depends on the vectors' length, as theirs does.
    """
    return float(np.exp(log_partitions.min() - log_partitions.max()))


@dataclass(frozen=True)
class Side:
    """The vectors before or after.

    Attributes
    ----------
    norms
        Mean, smallest and largest length.
    eigenvalues
        The leading ones of the second moment over words, as shares of the total.
    frequency
        Correlation of the coordinate in each of these directions with log frequency; empty where
        frequencies are not known.
    partition_ratio, isoscore, participation
        Three measures of isotropy; the last over running text: the R that CN negates.
    """

    norms: tuple[float, float, float]
    eigenvalues: list[float]
    frequency: list[float]
    partition_ratio: float
    isoscore: float
    participation: float


@dataclass(frozen=True)
class Inspection:
    """What was found."""

    vectors: str
    count: int
    dimension: int
    weights: str
    aperture: float
    quota: float
    before: Side
    after: Side
    advice: str
    spectrum: Float64 = field(repr=False)
    gate: Float64 = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"spectrum": self.spectrum.tolist(), "gate": self.gate.tolist()}

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw spectrum and gate; the file's ending names its format."""
        from conceptor.plots import figure_format, save_figure

        path = Path(path)
        figure_format(path)
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        position = np.arange(1, self.dimension + 1)
        shares = self.spectrum / self.spectrum.sum()
        kept = self.gate**2 * self.spectrum
        left.plot(position, shares, label="before", drawstyle="steps-mid")
        left.plot(position, kept / kept.sum(), label="after", drawstyle="steps-mid")
        left.set(yscale="log", xlabel="direction, strongest first", ylabel="share of running text")
        left.legend(frameon=False)
        right.plot(position, self.gate, drawstyle="steps-mid")
        right.set(ylim=(-0.03, 1.03), xlabel="direction, strongest first", ylabel="kept")
        right.set_title(f"aperture {self.aperture:.3g}, quota {self.quota:.2f}", fontsize="medium")
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        save_figure(figure, path)


def inspect(
    vectors: object,
    usage: Usage | None = None,
    *,
    name: str = "vectors",
    progress: Progress = silent,
) -> Inspection:
    """Look at vectors in two streaming passes: moments, then what depends on directions.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    usage : Usage, optional
        What words weigh; by default ranks, or nothing where the file is not sorted by frequency.
    """
    usage, trouble = _usage_of(vectors, usage)
    types, tokens, count = [], [], 0
    for packed, rows in chunks_of(vectors, progress):
        words = list(packed)
        taken, weights = usage.of(words, count)
        types.append(Moments.of(rows))
        if taken is None or len(taken):
            tokens.append(Moments.of(rows if taken is None else rows[taken], weights))
        count += len(words)
    if not tokens:
        raise InvalidInputError("none of the words has a frequency; are the counts for these?")
    of_types, of_tokens = sum(types[1:], start=types[0]), sum(tokens[1:], start=tokens[0])
    negation = ConceptorNegation("auto").fit_moments(of_tokens)
    views = [_View(of_types, of_tokens, None), _View(of_types, of_tokens, negation.map_)]
    before = 0
    for packed, rows in chunks_of(vectors):
        words = list(packed)
        logs = _log_frequencies(usage, words, before)
        for view in views:
            view.add(rows, logs)
        before += len(words)
    sides = [view.side() for view in views]
    values = negation.spectrum_.values
    removed = 1 - (negation.gate_**2 @ values) / values.sum() if values.any() else 0.0
    return Inspection(
        vectors=name,
        count=count,
        dimension=of_types.dimension,
        weights=usage.name,
        aperture=negation.aperture_,
        quota=float((1 - negation.gate_).mean()),
        before=sides[0],
        after=sides[1],
        advice=_advice(sides[0], float(removed), trouble),
        spectrum=values,
        gate=negation.gate_,
    )


class _View:
    """Vectors through a map (or none), looked at chunk by chunk."""

    def __init__(self, types: Moments, tokens: Moments, map_: LinearMap | None) -> None:
        matrix = np.eye(types.dimension) if map_ is None else map_.matrix
        self._map = map_
        self._covariance = matrix.T @ types.covariance @ matrix
        self._spectrum = Spectrum.of(matrix.T @ types.second_moment @ matrix)
        self._participation = isotropy(Spectrum.of(matrix.T @ tokens.second_moment @ matrix).values)
        self._log_partitions = np.full(types.dimension, -np.inf)
        self._norms = [0.0, np.inf, 0.0]
        self._count = 0
        self._sums = np.zeros((LEADING + 1, LEADING + 1))

    def add(self, rows: Any, logs: Float64 | None) -> None:  # noqa: ANN401
        mapped = np.asarray(rows if self._map is None else self._map(rows), dtype=np.float64)
        coordinates = mapped @ self._spectrum.vectors
        top = coordinates.max(axis=0)
        more = top + np.log(np.exp(coordinates - top).sum(axis=0))
        self._log_partitions = np.logaddexp(self._log_partitions, more)
        lengths = np.sqrt(np.einsum("ij,ij->i", mapped, mapped))
        total, least, most = self._norms
        self._norms = [
            total + float(lengths.sum()),
            min(least, lengths.min()),
            max(most, lengths.max()),
        ]
        self._count += len(mapped)
        if logs is not None:
            known = np.isfinite(logs)
            both = np.column_stack([coordinates[known, :LEADING], logs[known]])
            augmented = np.column_stack([both, np.ones(len(both))])
            product = augmented.T @ augmented
            if self._sums.shape != product.shape:
                self._sums = np.zeros_like(product)
            self._sums += product

    def side(self) -> Side:
        total, least, most = self._norms
        values = self._spectrum.values
        return Side(
            norms=(total / self._count, float(least), float(most)),
            eigenvalues=(values[:LEADING] / (values.sum() or 1.0)).tolist(),
            frequency=self._correlations(),
            partition_ratio=partition_ratio(self._log_partitions),
            isoscore=isoscore(self._covariance),
            participation=self._participation,
        )

    def _correlations(self) -> list[float]:
        count = self._sums[-1, -1]
        if count < 3:
            return []
        means = self._sums[-1, :-1] / count
        covariance = self._sums[:-1, :-1] / count - np.outer(means, means)
        spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        if not spread[-1] > 0:
            return []
        found = covariance[:-1, -1] / np.where(spread[:-1] > 0, spread[:-1], 1.0) / spread[-1]
        return [float(value) for value in found]


def _usage_of(vectors: object, usage: Usage | None) -> tuple[Usage, str | None]:
    if usage is not None:
        return usage, None
    first = next(iter(chunks_of(vectors)))[0]
    trouble = unsorted(list(first[:2000]))
    return (Usage("zipf"), None) if trouble is None else (Usage(), trouble)


def _log_frequencies(usage: Usage, words: list[str], before: int) -> Float64 | None:
    """Return log frequencies, −∞ for words without; None where words weigh the same."""
    taken, weights = usage.of(words, before)
    if weights is None:
        return None
    logs = np.full(len(words), -np.inf)
    logs[slice(None) if taken is None else taken] = np.log(weights)
    return logs


def _advice(before: Side, removed: float, trouble: str | None) -> str:
    if not before.participation:
        return "This will not help you: all vectors are zero."
    if before.participation >= EVEN_ENOUGH:
        return (
            "This will not help you: the vectors already spread evenly over their directions "
            f"(participation {before.participation:.2f}, where {EVEN_ENOUGH} is even enough)."
        )
    if trouble is not None:
        return (
            f"Find frequencies first: {trouble}, so ranks say nothing; with --weights wordfreq:en "
            "or a file of counts what running text shares can be told from what words share."
        )
    known = [abs(value) for value in before.frequency]
    frequent = f", which follow word frequency (up to |r| = {max(known):.2f})" if known else ""
    return (
        f"This should help: few directions{frequent} hold most of what running text shares; "
        f"conceptor postprocess takes {removed:.0%} of it out. What that gains: conceptor compare."
    )
