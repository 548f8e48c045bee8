"""Statistics of vectors before and after post-processing, and a prediction of its effect."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum, isotropy
from conceptor.base.arrays import Array, Float64, jsonable
from conceptor.base.display import format_signed, html_grid
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.fit import EVEN_ENOUGH, FitOptions, gather
from conceptor.integrations.objects import open_rows
from conceptor.methods import Lengths, Solution, default_method
from conceptor.report.tables import Cell, Line, Table
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.vectors import RowKind, even_chunks, keep
from conceptor.weights import Weights, WeightsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# How many of the leading directions are shown.
_LEADING, _SHOWN = 5, 4
# A direction follows log frequency if |r| is above this.
_FOLLOWS = 0.2
# Spreads below these may be rounding: relative to the vectors' length, and of log frequencies.
_ROUNDING, _SAME_LOGS = 1e-12, 1e-6
# The strongest direction is shared by all vectors if it has at least this share.
_SHARED = 0.1
# The usual effect of a method on uneven vectors, from benchmarks/inspect_record.py.
_GAINS = dict.fromkeys(("similarity", "sts", "categorization", "synonyms", "retrieval"), "gain")
_EFFECTS = {"cn": _GAINS | {"analogy": "loss"}, "gentle": {"sts": "gain"}}
# Of `cn`, on six sets of vectors that were not used to find the rule.
_RECORD = (
    "On vectors that were not used for this rule, 14 predictions were right, 2 wrong and 2 within "
    "chance; 26 of 44 cases had no answer."
)


def predict(participation: float, share: float, method: str = "cn") -> dict[str, str]:
    """Predict `gain` or `loss` for each family of benchmarks, for uneven vectors only.

    These have a participation of running text below 0.5, and a strongest direction of unit vectors
    with a share of at least 0.1. Rows of texts are normalized and count once each.
    """
    is_uneven = participation < EVEN_ENOUGH and share >= _SHARED
    return dict(_EFFECTS.get(method, {})) if is_uneven else {}


def isoscore(covariance: Float64) -> float:
    """Return IsoScore: 1 if all directions vary equally, 0 if only one varies.

    Rudman, Gillman, Rayne & Eickhoff (2022), IsoScore: Measuring the Uniformity of Embedding Space
    Utilization, Findings of ACL, Definition 3. The paper's steps reduce to the participation ratio.
    """
    n = len(covariance)
    if n == 1 or not covariance.any():
        return float("nan")
    return (n * isotropy(covariance) - 1) / (n - 1)


@dataclass(frozen=True)
class Side:
    """Statistics before or after the method; only the lengths depend on `lengths=usage`."""

    norms: tuple[float, float, float]  # mean, smallest and largest length, as written
    eigenvalues: list[float]  # the leading ones of the second moment, as shares of the total
    frequency: list[float]  # correlation of these directions with log frequency; empty if unknown
    isoscore: float
    participation: float  # over running text (the R that CN negates)


@dataclass(frozen=True)
class Inspection:
    """The result of `inspect`; `predictions` are the expected effects, by family."""

    vectors: str
    count: int
    dimension: int
    rows: str
    weights: str
    fitted_on: str
    aperture: float
    quota: float
    before: Side
    after: Side
    verdict: str  # in one sentence
    reasons: str  # empty if something prevents a prediction
    predictions: dict[str, str]
    spectrum: Float64 = field(repr=False)
    gate: Float64 = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with None for non-finite numbers."""
        return dict(jsonable(asdict(self) | {"advice": self.advice}))

    @property
    def advice(self) -> str:
        """The verdict with its reasons."""
        return f"{self.verdict} {self.reasons}".strip()

    def tables(self) -> list[Table]:
        """Return one table with both sides."""
        columns = []
        for side in (self.before, self.after):
            shares = [f"{100 * value:.1f}" for value in side.eigenvalues[:_SHOWN]]
            frequency = map(format_signed, side.frequency[:_SHOWN])
            column = {
                "mean length": f"{side.norms[0]:.4g}",
                "smallest to largest": f"{side.norms[1]:.4g} – {side.norms[2]:.4g}",
                "leading eigenvalues, %": " ".join(shares),
                "their r with log frequency": " ".join(frequency) or "unknown",
                "IsoScore": f"{side.isoscore:.3f}",
                "participation": f"{side.participation:.3f}",
            }
            if self.rows == RowKind.TEXTS:
                del column["their r with log frequency"]
            columns.append(column)
        before, after = columns
        lines = [Line(label, [Cell(text), Cell(after[label])]) for label, text in before.items()]
        return [Table("Vectors", ["before", "after"], lines)]

    def _repr_html_(self) -> str:
        """Show both sides and the advice in a notebook."""
        table = self.tables()[0]
        rows = [(line.label, *(cell.text for cell in line.cells)) for line in table.lines]
        title = f"{self.vectors}: {self.count:,} vectors, dimension {self.dimension}"
        return html_grid(title, ["", *table.columns], rows) + f"<p>{escape(self.advice)}</p>"

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw spectrum and gate; the file's extension gives the format."""
        from conceptor.report.plots import draw_panels, plot_directions

        sides = {"before": self.spectrum, "after": self.gate**2 * self.spectrum}
        shares = {name: values / (values.sum() or 1.0) for name, values in sides.items()}
        scale = "log" if self.spectrum.any() else "linear"

        def draw(name: str, ax: Axes) -> None:
            if name == "spectrum":
                plot_directions(shares, ax, ylabel="share of running text", yscale=scale)
                return
            plot_directions({"": self.gate}, ax, ylabel="kept", ylim=(-0.03, 1.03))
            title = f"aperture {self.aperture:.3g}, quota {self.quota:.2f}"
            ax.set_title(title, fontsize="medium")

        draw_panels(Path(path), ["spectrum", "gate"], draw, width=4)


def inspect(
    vectors: object,
    weights: Weights | WeightsLike | None = None,
    *,
    name: str | None = None,
    column: Columns = None,
    rows: str | None = None,
    progress: Progress = silent,
) -> Inspection:
    """Inspect vectors in two streaming passes: one for moments, one along the directions.

    `vectors`, `column` and `rows` are as for `improve`, and `weights` as for `postprocess`.
    """
    opened = keep(open_rows(vectors, column=column, rows=rows))
    method = default_method(opened)
    usage = FitOptions(weights).weights_for(method.words, opened, unit=method.unit)
    every, mapped, plain = Weights(), Weights(unit=method.unit), replace(usage, unit=False)
    unit = Weights(unit=True)
    is_text = opened.kind is RowKind.TEXTS
    shortens = opened.has_words and not is_text and method.lengths is Lengths.USAGE
    gathered = gather(
        opened,
        dict.fromkeys((every, mapped, usage, plain, unit)),
        usage=usage if shortens else None,
        progress=progress,
    )
    types = gathered.of(every)
    lengths = gathered.lengths(usage) or {}
    solution = method.solve(gathered.of(usage))
    values, gate = solution.spectrum.values, solution.gate
    with one_blas_thread():
        before = _Along(types, np.eye(types.dimension))
        after = _Along(gathered.of(mapped), solution.map.matrix)
    for place, words, chunk in even_chunks(opened.chunks()):
        indices, shares = usage.shares(words, place)
        before.add(chunk, indices, shares, np.ones(len(words)))
        after.add(chunk, indices, shares, np.array([lengths.get(word, 1.0) for word in words]))
    side_before = before.side(isotropy(gathered.of(plain).second_moment))
    predictions: dict[str, str] = {}
    verdict, reasons = _find_obstacle(solution, usage, is_text=is_text), ""
    if not verdict:
        shared = values
        if is_text:  # every row counts once, at length 1
            shared = Spectrum.from_matrix(gathered.of(unit).second_moment).values
        share = float(shared[0] / shared.sum())
        if is_text:
            reasons = f"The strongest direction holds {share:.0%} of the variance of the unit rows."
            predictions = predict(isotropy(shared), share, str(method))
        else:
            reasons = _describe_shared(side_before, solution, usage)
            if usage.kind != "uniform":  # the rule is about running text
                predictions = predict(side_before.participation, share, str(method))
        verdict = _describe(predictions)
        if len(predictions) > 1:
            reasons += f" {_RECORD}"
    return Inspection(
        vectors=name or opened.name,
        count=gathered.count,
        dimension=types.dimension,
        rows=str(opened.kind),
        weights=usage.kind,
        fitted_on=usage.description,
        aperture=solution.aperture or 0.0,
        quota=float((1 - gate).mean()),
        before=side_before,
        after=after.side(isotropy(gate**2 * values)),
        verdict=verdict,
        reasons=reasons,
        predictions=predictions,
        spectrum=values,
        gate=gate,
    )


class _Along:
    """The mapped rows of a file along their own eigenvectors, chunk by chunk."""

    def __init__(self, moments: Moments, matrix: Float64) -> None:
        spectrum = Spectrum.from_matrix(matrix.T @ moments.second_moment @ matrix)
        self._values = spectrum.values
        # Scale rows to length 1 if the moments did.
        self._coordinates = AffineMap(matrix @ spectrum.vectors, unit=moments.unit)
        self._covariance = matrix.T @ moments.covariance @ matrix
        self._lengths: list[Float64] = []
        self._with_logs: list[Moments] = []

    def add(
        self, rows: Array, which: NDArray[Any] | None, weights: Float64 | None, factors: Float64
    ) -> None:
        """Take the next rows, the weights of those that have one, and the factors of lengths."""
        coordinates = self._coordinates(rows.astype(np.float64))
        self._lengths.append(factors * np.sqrt(np.einsum("ij,ij->i", coordinates, coordinates)))
        if weights is not None and len(weights):
            leading = coordinates[slice(None) if which is None else which, :_LEADING]
            with_logs = np.column_stack([leading, np.log(weights)])
            self._with_logs.append(Moments.from_vectors(with_logs))

    def side(self, participation: float) -> Side:
        """Return the statistics; `participation` is that of running text."""
        lengths, values = np.concatenate(self._lengths), self._values
        frequency: list[float] = []
        if self._with_logs:
            covariance = sum(self._with_logs[1:], start=self._with_logs[0]).covariance
            spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
            # Two words always correlate.
            if spread[-1] > _SAME_LOGS and sum(each.count for each in self._with_logs) > 2:
                varies = spread > _ROUNDING * np.sqrt(values[0])
                scale, zeros = spread * spread[-1], np.zeros_like(spread)
                every = np.divide(covariance[-1], scale, out=zeros, where=varies)
                frequency = every[:-1].tolist()
        varies = np.trace(self._covariance) > _ROUNDING**2 * values.sum()
        return Side(
            norms=(float(lengths.mean()), float(lengths.min()), float(lengths.max())),
            eigenvalues=(values[:_LEADING] / (values.sum() or 1.0)).tolist(),
            frequency=frequency,
            isoscore=isoscore(self._covariance) if varies else float("nan"),
            participation=participation,
        )


def _find_obstacle(solution: Solution, usage: Weights, *, is_text: bool) -> str:
    """Return the reason why nothing can be predicted, or an empty string."""
    n, count = len(solution.spectrum.values), solution.moments.count
    if not solution.spectrum.rank:
        return "This will not help: all vectors are zero."
    if count <= n:
        need = f"{n} dimensions need more than {n} vectors; there are {count}."
        return f"Too few vectors to judge: {need}"
    if solution.spectrum.rank == 1:
        return "This will not help: all vectors are multiples of a single vector."
    if not is_text and usage.caution and usage.kind != "counts":
        why = "They are needed to find the directions that running text shares."
        return f"Find word frequencies first: {usage.caution}. {why}"
    return ""


def _describe_shared(before: Side, solution: Solution, usage: Weights) -> str:
    """Describe the directions that running text shares, and the variance removed."""
    values, gate, count = solution.spectrum.values, solution.gate, solution.moments.count
    correlations = [abs(each) for each in before.frequency]
    strongest = max(correlations, default=0.0)
    frequent = ""
    # A correlation within three standard errors of zero may be due to chance.
    if strongest > max(_FOLLOWS, 3 / np.sqrt(count)):
        place = correlations.index(strongest) + 1
        frequent = f", and direction {place} follows word frequency (|r| = {strongest:.2f})"
    what = "the words" if usage.kind == "uniform" else "running text"
    half = int(np.searchsorted(values.cumsum(), values.sum() / 2)) + 1
    removed = 1 - gate**2 @ values / values.sum()
    return (
        f"Half of the variance of {what} lies in {half} of {len(values)} directions{frequent}; "
        f"postprocess removes {removed:.0%} of the variance."
    )


def _describe(predictions: dict[str, str]) -> str:
    """Return the verdict in a sentence."""
    if not predictions:
        return "The vectors alone do not show whether this helps; measure it with compare."
    from conceptor.evaluation.task import family_name

    effects = {family_name(family): effect for family, effect in predictions.items()}
    *others, last = (family for family, effect in effects.items() if effect == "gain")
    gains = f"{', '.join(others)} and {last}" if others else last
    losses = ", ".join(family for family, effect in effects.items() if effect == "loss")
    loss = f", and lose on {losses}" if losses else ""
    return f"It should gain on {gains}{loss}; measure it with compare."
