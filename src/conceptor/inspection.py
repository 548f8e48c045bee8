"""Statistics of vectors before and after post-processing, and a prediction of its effect."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.aperture import isotropy
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import Array, Float64, jsonable
from conceptor.base.notebook import html_grid
from conceptor.base.numbers import format_signed
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.fit import EVEN_ENOUGH, FitOptions, gather
from conceptor.integrations.reading import open_rows
from conceptor.methods import Lengths, Solution, default_method
from conceptor.report.tables import Cell, Line, Table
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.vectors import RowKind, keep, number_chunks
from conceptor.weights import Weights, WeightsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEADING = 5
# A direction follows log frequency if |r| is above this.
_FOLLOWS = 0.2
# Spreads below these may be rounding: relative to the vectors' length, and of log frequencies.
_ROUNDING = 1e-12
_SAME_LOGS = 1e-6
# The strongest direction is shared by all vectors if it has at least this share.
_SHARED = 0.1
_SIGNS = {1: "should gain", -1: "should lose", 0: "unclear"}


def isoscore(covariance: Float64) -> float:
    """Return IsoScore: 1 if all directions vary equally, 0 if only one varies.

    Rudman, Gillman, Rayne & Eickhoff (2022), IsoScore: Measuring the Uniformity of Embedding
    Space Utilization, Findings of ACL, Definition 3. The paper's steps reduce to this, since
    ‖√n v/‖v‖ − 1‖² = 2 (n − √n Σv/‖v‖) for the variances v, with Σv the trace and ‖v‖ the Frobenius
    norm.
    """
    n, largest = len(covariance), np.abs(covariance).max()
    if n == 1 or not largest > 0:
        return float("nan")
    scaled = covariance / largest
    participation = np.trace(scaled) ** 2 / np.sum(scaled**2)
    return float((participation - 1) / (n - 1))


@dataclass(frozen=True)
class Prediction:
    """The predicted sign of the change of a family (0 for no prediction), and the rule's record.

    The record counts measured sets of vectors: the interval of the change is on the predicted side
    of zero, contains zero, or is on the other side; or the rule makes no prediction for the set.
    """

    sign: int
    right: int = 0
    level: int = 0
    wrong: int = 0
    abstained: int = 0

    @property
    def record(self) -> str:
        """How often such predictions were right; empty without a prediction."""
        counts = f"{self.right} right, {self.level} undecided, {self.wrong} wrong"
        return counts if self.sign else ""


@cache
def read_record() -> dict[str, list[dict[str, Any]]]:
    """Return the measured sets of words and of rows; benchmarks/inspect_record.py writes them."""
    file = resources.files("conceptor.report").joinpath("record.json")
    record: dict[str, list[dict[str, Any]]] = json.loads(file.read_text(encoding="utf-8"))
    return record


def is_uneven(participation: float, share: float) -> bool:
    """Return whether vectors share a direction, so that removing it matters.

    `participation` is that of running text, and `share` that of the strongest direction of unit
    vectors. For rows of texts, every row counts once, at length 1.
    """
    return participation < EVEN_ENOUGH and share >= _SHARED


def predict(
    participation: float, share: float, method: str = "cn", *, kind: str = "words"
) -> dict[str, Prediction]:
    """Predict a method's effect on each family, from two traits of the vectors: see `is_uneven`.

    For uneven vectors, the prediction is the usual sign of the change of the uneven sets in the
    record; for others there is none. `kind` is `words` or `rows`.
    """
    sets = [each for each in read_record()[kind] if method in each["changes"]]
    predictions = {}
    for family in dict.fromkeys(name for each in sets for name in each["changes"][method]):
        measured = [each for each in sets if family in each["changes"][method]]
        uneven = [each for each in measured if is_uneven(**each["traits"])]
        intervals = [each["changes"][method][family][1:] for each in uneven]
        signs = [int(low > 0) - int(high < 0) for low, high in intervals]
        usual = int(np.sign(sum(signs))) if is_uneven(participation, share) else 0
        right, level, wrong = (signs.count(sign) * bool(usual) for sign in (usual, 0, -usual))
        abstained = len(measured) - len(uneven)
        predictions[family] = Prediction(usual, right, level, wrong, abstained)
    return predictions


def describe(predictions: dict[str, Prediction]) -> str:
    """Return the predictions in a sentence or two."""
    gain, lose, unclear = (
        ", ".join(family for family, each in predictions.items() if each.sign == sign)
        for sign in (1, -1, 0)
    )
    parts = [f"gain on {gain}"] * bool(gain) + [f"lose on {lose}"] * bool(lose)
    if not parts:
        return "The vectors alone do not show whether this helps; measure it with compare."
    rest = f" There is no prediction for {unclear}." if unclear else ""
    return f"It should {' and '.join(parts)}.{rest} Measure it with compare."


@dataclass(frozen=True)
class Side:
    """Statistics before or after the method; only the lengths depend on `lengths=usage`."""

    norms: tuple[float, float, float]  # mean, smallest and largest length, as written
    eigenvalues: list[float]  # the leading ones of the second moment, as shares of the total
    frequency: list[float]  # correlation of these directions with log frequency; empty if unknown
    partition_ratio: float
    isoscore: float
    participation: float  # over running text (the R that CN negates)


@dataclass(frozen=True)
class Inspection:
    """The result of `inspect`; `predictions` by family are derived from the vectors alone."""

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
    advice: str
    predictions: dict[str, Prediction]
    spectrum: Float64 = field(repr=False)
    gate: Float64 = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with None for non-finite numbers."""
        return dict(jsonable(asdict(self)))

    def tables(self) -> list[Table]:
        """Return both sides, and the predictions if there are any."""
        is_text = self.rows == RowKind.TEXTS
        columns = []
        for side in (self.before, self.after):
            column = {
                "length: mean": f"{side.norms[0]:.4g}",
                "length: smallest to largest": f"{side.norms[1]:.4g} – {side.norms[2]:.4g}",
                "leading eigenvalues, % of total": " ".join(
                    f"{100 * value:.1f}" for value in side.eigenvalues
                ),
                "their correlation with log frequency": (
                    " ".join(map(format_signed, side.frequency)) or "unknown"
                ),
                "partition ratio (Mu & Viswanath)": f"{side.partition_ratio:.3g}",
                "IsoScore": f"{side.isoscore:.3f}",
                f"participation {'over all texts' if is_text else 'in running text'}": (
                    f"{side.participation:.3f}"
                ),
            }
            if is_text:
                del column["their correlation with log frequency"]
            columns.append(column)
        before, after = columns
        lines = [Line(label, [Cell(text), Cell(after[label])]) for label, text in before.items()]
        tables = [Table("Vectors", ["before", "after"], lines)]
        lines = [
            Line(family, [Cell(_SIGNS[each.sign]), Cell(each.record)])
            for family, each in self.predictions.items()
        ]
        if lines:
            tables.append(Table("Predictions", ["effect", "record on other vectors"], lines))
        return tables

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

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), a data frame, ...
    weights
        Word weights; by default the same as for `postprocess`.
    column, rows
        The column that holds the vectors, and the kind of rows, as for `improve`.
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
    table = (gathered.text.lengths(usage) if gathered.text else None) or {}
    solution = method.solve(gathered.of(usage))
    values, gate = solution.spectrum.values, solution.gate
    # An eigendecomposition of this size is not faster on several processors.
    with one_blas_thread():
        views = (
            _View(types, np.eye(types.dimension), _spectrum(gathered.of(plain))),
            _View(gathered.of(mapped), solution.map.matrix, gate**2 * values),
        )
    for before, words, chunk in number_chunks(opened.chunks()):
        indices, shares = usage.shares(words, before)
        factors = np.array([table.get(word, 1.0) for word in words])
        views[0].add(chunk, indices, shares, np.ones(len(words)))
        views[1].add(chunk, indices, shares, factors)
    side_before, side_after = (view.side() for view in views)
    # For texts, every row counts once, at length 1.
    shared = _spectrum(gathered.of(unit)) if is_text else values
    share = float(shared[0] / (shared.sum() or 1.0))
    predictions: dict[str, Prediction] = {}
    advice = _find_obstacle(solution, usage, is_text=is_text)
    if not advice and is_text:
        predictions = predict(isotropy(shared), share, str(method), kind="rows")
        strongest = f"The strongest direction holds {share:.0%} of the variance of the unit rows."
        advice = f"{strongest} {describe(predictions)}"
    elif not advice:
        if usage.kind != "uniform":  # the record is about running text
            predictions = predict(side_before.participation, share, str(method))
        advice = f"{_describe_shared(side_before, solution, usage)} {describe(predictions)}"
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
        after=side_after,
        advice=advice,
        predictions=predictions,
        spectrum=values,
        gate=gate,
    )


def _spectrum(moments: Moments) -> Float64:
    return Spectrum.from_matrix(moments.second_moment).values


class _View:
    """Statistics of mapped vectors along their own eigenvectors, accumulated chunk by chunk.

    `usage` is the spectrum of running text after the map.
    """

    def __init__(self, types: Moments, matrix: Float64, usage: Float64) -> None:
        spectrum = Spectrum.from_matrix(matrix.T @ types.second_moment @ matrix)
        self._values = spectrum.values
        # Scale rows to length 1 if the moments did.
        self._coordinates = AffineMap(matrix @ spectrum.vectors, unit=types.unit)
        covariance = matrix.T @ types.covariance @ matrix
        varies = np.trace(covariance) > _ROUNDING**2 * self._values.sum()
        self._isoscore = isoscore(covariance) if varies else float("nan")
        self._participation = isotropy(usage)
        # log Σ exp(cᵀ v) for each eigenvector c, and for its opposite.
        self._log_partitions = np.full((2, types.dimension), -np.inf)
        self._count, self._total, self._least, self._most = types.count, 0.0, np.inf, 0.0
        self._with_logs: Moments | None = None

    def add(
        self,
        rows: Array,
        which: NDArray[np.int64] | None,
        weights: Float64 | None,
        factors: Float64,
    ) -> None:
        coordinates = self._coordinates(rows.astype(np.float64))
        for sign, log_sums in zip((1, -1), self._log_partitions, strict=True):
            top = (sign * coordinates).max(axis=0)
            sums = np.exp(sign * coordinates - top).sum(axis=0)
            np.logaddexp(log_sums, top + np.log(sums), out=log_sums)
        lengths = factors * np.sqrt(np.einsum("ij,ij->i", coordinates, coordinates))
        self._total += float(lengths.sum())
        self._least = min(self._least, float(lengths.min()))
        self._most = max(self._most, float(lengths.max()))
        if weights is not None and len(weights):
            leading = coordinates[slice(None) if which is None else which, :_LEADING]
            moments = Moments.from_vectors(np.column_stack([leading, np.log(weights)]))
            self._with_logs = moments if self._with_logs is None else self._with_logs + moments

    def side(self) -> Side:
        partitions, moments = self._log_partitions, self._with_logs
        frequency: list[float] = []
        if moments is not None and moments.count >= 3:
            spread = np.sqrt(np.maximum(np.diag(moments.covariance), 0.0))
            if spread[-1] > _SAME_LOGS:
                varies = spread > _ROUNDING * np.sqrt(self._values[0])
                scale, zeros = spread * spread[-1], np.zeros_like(spread)
                every = np.divide(moments.covariance[-1], scale, out=zeros, where=varies)
                frequency = every[:-1].tolist()
        return Side(
            norms=(self._total / self._count, self._least, self._most),
            eigenvalues=(self._values[:_LEADING] / (self._values.sum() or 1.0)).tolist(),
            frequency=frequency,
            # Mu & Viswanath (2018), equation 2 and below; it depends on the vectors' length.
            partition_ratio=float(np.exp(partitions.min() - partitions.max())),
            isoscore=self._isoscore,
            participation=self._participation,
        )


def _find_obstacle(solution: Solution, usage: Weights, *, is_text: bool) -> str:
    """Return the reason why nothing can be predicted, or an empty string."""
    values, count = solution.spectrum.values, solution.moments.count
    n = len(values)
    if not values.any():
        return "This will not help: all vectors are zero."
    if count <= n:
        need = f"{n} dimensions need more than {n} vectors; there are {count}."
        return f"Too few vectors to judge: {need}"
    if solution.spectrum.rank == 1:
        return "This will not help: all vectors are multiples of a single vector."
    if not is_text and usage.caution and usage.kind != "counts":
        return (
            f"Find word frequencies first: {usage.caution}. They are needed to find the directions "
            "that running text shares."
        )
    return ""


def _describe_shared(before: Side, solution: Solution, usage: Weights) -> str:
    """Describe the directions that running text shares, and the variance removed."""
    values, gate, count = solution.spectrum.values, solution.gate, solution.moments.count
    correlations = [abs(each) for each in before.frequency]
    strongest = max(correlations, default=0.0)
    # A correlation within three standard errors of zero may be due to chance.
    follow = strongest > max(_FOLLOWS, 3 / np.sqrt(count))
    place = correlations.index(strongest) + 1 if correlations else 0
    frequent = f", and direction {place} follows word frequency (|r| = {strongest:.2f})"
    what = "the words" if usage.kind == "uniform" else "running text"
    half = int(np.searchsorted(values.cumsum(), values.sum() / 2)) + 1
    removed = 1 - gate**2 @ values / values.sum()
    return (
        f"Half of the variance of {what} lies in {half} of {len(values)} directions"
        f"{frequent if follow else ''}; postprocess removes {removed:.0%} of the variance."
    )
