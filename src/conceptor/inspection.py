"""Statistics of vectors before and after post-processing, and a prediction of its effect."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.aperture import isotropy
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import Array, Float64, jsonable
from conceptor.base.errors import Message
from conceptor.base.notebook import html_grid
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.fitting import FitOptions, Request, gather, solve
from conceptor.integrations.reading import open_rows
from conceptor.methods import Method
from conceptor.report.prediction import Prediction, describe, predict
from conceptor.vectors.chunks import keep_vectors, number_chunks, read_chunks
from conceptor.vectors.vectors import RowKind
from conceptor.weights import Weights

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from conceptor.algebra.recipes import Solution
    from conceptor.vectors.columns import Asked
    from conceptor.weights import Share, WeightsLike

LEADING = 5
# A direction follows log frequency if |r| is above this.
FOLLOWS = 0.2
# Spreads below these may be rounding: relative to the vectors' length, and of log frequencies.
_ROUNDING = 1e-12
_SAME_LOGS = 1e-6


def isoscore(covariance: Float64) -> float:
    """Return IsoScore: 1 if all directions vary equally, 0 if only one varies.

    References
    ----------
    Rudman, Gillman, Rayne & Eickhoff (2022), IsoScore: Measuring the Uniformity of Embedding
    Space Utilization, Findings of ACL, Definition 3.
    """
    n, largest = len(covariance), np.abs(covariance).max()
    if n == 1 or not largest > 0:
        return float("nan")
    scaled = covariance / largest
    # The paper's steps reduce to this, since ‖√n v/‖v‖ − 1‖² = 2 (n − √n Σv/‖v‖) for the
    # variances v, with Σv the trace and ‖v‖ the Frobenius norm.
    participation = np.trace(scaled) ** 2 / np.sum(scaled**2)
    return float((participation - 1) / (n - 1))


def partition_ratio(log_partitions: Float64) -> float:
    """Return ``min Z(c) / max Z(c)`` from ``log Z(c)``, with ``Z(c) = Σ_w exp(cᵀ v_w)``.

    Mu & Viswanath (2018), equation 2 and below: c runs over the eigenvectors of VᵀV (and their
    opposites −c); 1 is isotropic. Like theirs, it depends on the vectors' length.
    """
    return float(np.exp(log_partitions.min() - log_partitions.max()))


@dataclass(frozen=True)
class Side:
    """Statistics before or after the map; lengths by usage come later and are not included.

    Attributes
    ----------
    norms
        Mean, smallest and largest length.
    eigenvalues
        The leading eigenvalues of the second moment over words, as shares of the total.
    frequency
        Correlation of the coordinate in each of these directions with log frequency; empty if
        frequencies are unknown.
    partition_ratio, isoscore, participation
        Three measures of isotropy; the last is over running text (the R that CN negates).
    """

    norms: tuple[float, float, float]
    eigenvalues: list[float]
    frequency: list[float]
    partition_ratio: float
    isoscore: float
    participation: float


@dataclass(frozen=True)
class Inspection:
    """The result of `inspect`.

    Attributes
    ----------
    predictions
        The expected effect of the default on each family of benchmarks, derived from the vectors
        alone, and how often such predictions were right: `conceptor.report.prediction`.
    """

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
        found: dict[str, Any] = jsonable(asdict(self))
        return found

    def _repr_html_(self) -> str:
        """Show both sides and the advice in a notebook."""
        from conceptor.report.small_tables import inspection_table

        table = inspection_table(self)
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
    column: Asked = None,
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
    opened = keep_vectors(open_rows(vectors, column=column, rows=rows))
    method = Method.default_for(opened)
    recipe = method.recipe
    assert recipe is not None
    chosen = FitOptions(weights).weights_for(recipe.words, opened, unit=recipe.unit)
    usage = replace(chosen, single=recipe.bears_rounding)
    every, mapped, plain = Weights(), Weights(unit=recipe.unit), replace(usage, unit=False)
    alike = mapped if recipe.unit else Weights(unit=True)
    weightings = dict.fromkeys((every, mapped, usage, plain, alike))
    gathered = gather(read_chunks(opened, progress), Request(weightings))
    types = gathered.of(every)
    solution = solve(recipe, gathered.of(usage))
    values, gate = solution.spectrum.values, solution.gate
    # An eigendecomposition of this size is not faster on several processors.
    with one_blas_thread():
        views = (
            _View(types, np.eye(types.dimension), _spectrum(gathered.of(plain))),
            _View(gathered.of(mapped), solution.map.matrix, gate**2 * values),
        )
    for before, words, chunk in number_chunks(read_chunks(opened)):
        share = usage.shares(list(words) if usage.by_word else words, before)
        for view in views:
            view.add(chunk, share)
    side_before, side_after = (view.side() for view in views)
    alike_moments = gathered.of(alike)
    predictions = _predict(opened.kind, str(method), side_before, solution, usage, alike_moments)
    if obstacle := _obstacle(side_before, solution, usage, opened.kind):
        predictions, advice = {}, obstacle
    elif opened.kind is RowKind.TEXTS:
        advice = f"{_shared_by_texts(alike_moments)}. {describe(predictions)}"
    else:
        advice = f"{_shared_by_words(side_before, solution, usage)}. {describe(predictions)}"
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

    `values` is the spectrum of running text after the map.
    """

    def __init__(self, types: Moments, matrix: Float64, values: Float64) -> None:
        spectrum = Spectrum.from_matrix(matrix.T @ types.second_moment @ matrix)
        self._values = spectrum.values
        # Scale rows to length 1 if the moments did.
        self._coordinates = AffineMap(matrix @ spectrum.vectors, unit=types.unit)
        covariance = matrix.T @ types.covariance @ matrix
        varies = np.trace(covariance) > _ROUNDING**2 * self._values.sum()
        self._isoscore = isoscore(covariance) if varies else float("nan")
        self._participation = isotropy(values)
        # One row for the eigenvectors and one for their opposites.
        self._log_partitions = np.full((2, types.dimension), -np.inf)
        self._count, self._total, self._least, self._most = types.count, 0.0, np.inf, 0.0
        self._with_logs: Moments | None = None

    def add(self, rows: Array, share: Share) -> None:
        coordinates = self._coordinates(rows.astype(np.float64))
        more = np.stack([_log_sums(coordinates), _log_sums(-coordinates)])
        self._log_partitions = np.logaddexp(self._log_partitions, more)
        lengths = np.sqrt(np.einsum("ij,ij->i", coordinates, coordinates))
        self._total += float(lengths.sum())
        self._least = min(self._least, float(lengths.min()))
        self._most = max(self._most, float(lengths.max()))
        taken, weights = share
        if weights is not None and len(weights):
            leading = coordinates[slice(None) if taken is None else taken, :LEADING]
            found = Moments.from_vectors(np.column_stack([leading, np.log(weights)]))
            self._with_logs = found if self._with_logs is None else self._with_logs + found

    def side(self) -> Side:
        return Side(
            norms=(self._total / self._count, self._least, self._most),
            eigenvalues=(self._values[:LEADING] / (self._values.sum() or 1.0)).tolist(),
            frequency=self._correlations(),
            partition_ratio=partition_ratio(self._log_partitions),
            isoscore=self._isoscore,
            participation=self._participation,
        )

    def _correlations(self) -> list[float]:
        found = self._with_logs
        if found is None or found.count < 3:
            return []
        spread = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
        if not spread[-1] > _SAME_LOGS:
            return []
        varies = spread > _ROUNDING * np.sqrt(self._values[0])
        none = np.zeros_like(spread)
        every = np.divide(found.covariance[-1], spread * spread[-1], out=none, where=varies)
        return [float(r) for r in every[:-1]]


def _log_sums(coordinates: Float64) -> Float64:
    """Return the logarithm of each column's sum of exponentials, without overflow."""
    top = coordinates.max(axis=0)
    return np.asarray(top + np.log(np.exp(coordinates - top).sum(axis=0)))


def _predict(
    kind: RowKind, method: str, before: Side, solution: Solution, usage: Weights, rows: Moments
) -> dict[str, Prediction]:
    """Return the predicted effect of the default on each family; nothing without a record."""
    if kind is RowKind.TEXTS:
        values = _spectrum(rows)
        return predict(_traits(isotropy(values), values), method, kind="rows")
    if usage.kind == "uniform":  # the record is about running text
        return {}
    return predict(_traits(before.participation, solution.spectrum.values), method)


def _traits(participation: float, values: Float64) -> dict[str, float]:
    return {"participation": participation, "share": float(values[0] / (values.sum() or 1.0))}


def _obstacle(before: Side, solution: Solution, usage: Weights, kind: RowKind) -> str:
    """Return the reason why nothing can be predicted, or an empty string."""
    values, count = solution.spectrum.values, solution.moments.count
    n = len(values)
    if values.any() and count <= n:
        return (
            f"Too few vectors to judge: {n} dimensions need more than {n} vectors; there are "
            f"{count}."
        )
    if not values.any():
        return "This will not help: all vectors are zero."
    if solution.spectrum.rank == 1:
        return "This will not help: all vectors are multiples of a single vector."
    if kind is not RowKind.TEXTS and usage.caution and usage.kind != "counts":
        return Message(
            "Find word frequencies first: ",
            usage.caution,
            ". They are needed to find the directions that running text shares.",
        )
    return ""


def _shared_by_texts(rows: Moments) -> str:
    values = _spectrum(rows)
    share = values[0] / (values.sum() or 1.0)
    return f"The strongest direction holds {share:.0%} of the variance of the rows at length 1"


def _shared_by_words(before: Side, solution: Solution, usage: Weights) -> str:
    """Describe the directions that running text shares, and the variance removed."""
    values, gate, count = solution.spectrum.values, solution.gate, solution.moments.count
    strongest = max(map(abs, before.frequency), default=0.0)
    # A correlation within three standard errors of zero may be due to chance.
    follow = strongest > max(FOLLOWS, 3 / np.sqrt(count))
    frequent = f", and the leading ones follow word frequency (up to |r| = {strongest:.2f})"
    what = "the words" if usage.kind == "uniform" else "running text"
    half = int(np.searchsorted(values.cumsum(), values.sum() / 2)) + 1
    removed = 1 - gate**2 @ values / values.sum()
    return (
        f"Half of the variance of {what} lies in {half} of {len(values)} directions"
        f"{frequent if follow else ''}; postprocess removes {removed:.0%} of the variance"
    )
