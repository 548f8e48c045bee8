"""Figures: gating coefficients and spectra (needs the `plots` extra)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import replace_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from conceptor.algebra.recipes import Solution
    from conceptor.base.arrays import Float64


def plot_gates(fitted: object, ax: Axes | None = None) -> Axes:
    """Draw the share of each direction that fitted methods keep.

    This is the paper's figure of variance gating coefficients, for any method.

    Parameters
    ----------
    fitted : fitted estimator or Solution, a sequence of them, or a mapping of labels to them
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.
    """
    gates = {label: solution.gate for label, solution in _solutions(fitted).items()}
    return plot_coefficients(gates, ax)


def plot_coefficients(gates: Mapping[str, Float64], ax: Axes | None = None) -> Axes:
    """Draw gating coefficients, by label."""
    ax = axes_or_new(ax)
    _draw(ax, gates)
    ax.set(xlabel="direction, strongest first", ylabel="gating coefficient")
    ax.set_ylim(bottom=-0.03)
    return ax


def plot_spectrum(fitted: object, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues that fitted methods found, on a logarithmic scale.

    Each method uses its own moment (covariance, second moment, ...), so eigenvalues of two methods
    on the same vectors may differ. Zero eigenvalues are left out.
    """
    ax = axes_or_new(ax)
    spectra = {label: solution.spectrum.values for label, solution in _solutions(fitted).items()}
    _draw(ax, {label: np.where(values > 0, values, np.nan) for label, values in spectra.items()})
    ax.set(xlabel="direction, strongest first", ylabel="eigenvalue", yscale="log")
    return ax


def _solutions(fitted: Any) -> dict[str, Solution]:  # noqa: ANN401
    if isinstance(fitted, Mapping):
        return {label: _solution(each) for label, each in fitted.items()}
    several = fitted if isinstance(fitted, Sequence) else [fitted]
    return {solution.recipe.name: solution for solution in map(_solution, several)}


def _solution(fitted: Any) -> Solution:  # noqa: ANN401
    solution: Solution = fitted.solution_ if hasattr(fitted, "solution_") else fitted
    return solution


def figure_format(path: Path) -> str:
    """Return the format given by a file's extension; raise if it cannot be drawn."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing", "plots") from None
    form = path.suffix.removeprefix(".") or "svg"
    if form not in Figure().canvas.get_supported_filetypes():
        raise InvalidInputError(f"{path}: unrecognised figure format; use svg, pdf or png")
    return form


def draw_panels(
    path: Path, names: Sequence[str], draw: Callable[[str, Axes], object], width: float
) -> None:
    """Write a figure with one panel per name, side by side."""
    figure_format(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * len(names), 3.5), layout="constrained")
    for number, name in enumerate(names, 1):
        draw(name, figure.add_subplot(1, len(names), number))
    save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format given by the file's extension."""
    form = figure_format(path)
    with replace_atomically(path) as beside:
        figure.savefig(beside, format=form)


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes to draw on: those given, or a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("drawing", "plots") from error
    return pyplot.figure(figsize=(6, 3.5), layout="constrained").add_subplot()


def _draw(ax: Axes, lines: Mapping[str, Float64]) -> None:
    if not lines:
        raise InvalidInputError("nothing to draw; pass at least one fitted method")
    for label, values in lines.items():
        ax.plot(np.arange(1, len(values) + 1), values, label=label, drawstyle="steps-mid")
    finish_axes(ax)


def finish_axes(ax: Axes) -> Axes:
    """Add the legend and drop the frame."""
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
