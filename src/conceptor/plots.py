"""Figures: the gating coefficients of the paper, and spectra (needs the `plots` extra)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from conceptor.arrays import Float64
    from conceptor.spectral import SpectralMethod


def plot_gates(estimators: Mapping[str, SpectralMethod], ax: Axes | None = None) -> Axes:
    """Draw how much of each direction fitted estimators keep, side by side.

    This is the paper's figure of variance gating coefficients, for any methods.

    Parameters
    ----------
    estimators : mapping of label to fitted estimator
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.
    """
    ax = _axes(ax)
    _draw(ax, {label: estimator.gate_ for label, estimator in estimators.items()})
    ax.set(xlabel="direction, strongest first", ylabel="gating coefficient")
    ax.set_ylim(bottom=-0.03)
    return ax


def plot_spectrum(estimators: Mapping[str, SpectralMethod], ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues that fitted estimators found, on a logarithmic scale.

    Each estimator looks at its own moment (covariance, second moment, ...), so two on the same
    vectors need not agree. Eigenvalues of zero cannot be drawn and are left out.
    """
    ax = _axes(ax)
    spectra = {label: estimator.spectrum_.values for label, estimator in estimators.items()}
    _draw(ax, {label: np.where(values > 0, values, np.nan) for label, values in spectra.items()})
    ax.set(xlabel="direction, strongest first", ylabel="eigenvalue", yscale="log")
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("drawing", "plots") from error
    return pyplot.figure(figsize=(6, 3.5), layout="constrained").add_subplot()


def _draw(ax: Axes, lines: Mapping[str, Float64]) -> None:
    if not lines:
        raise InvalidInputError("nothing to draw: no estimators were given")
    for label, values in lines.items():
        ax.plot(np.arange(1, len(values) + 1), values, label=label, drawstyle="steps-mid")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
