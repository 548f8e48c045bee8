"""Figures of several panels, such as gating coefficients and spectra (needs the `plots` extra)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import replace_atomically
from conceptor.report.charts import color_places, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def figure_format(path: Path) -> str:
    """Return the format given by a file's extension; raise if it cannot be drawn."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing", "plots") from None
    form = path.suffix.removeprefix(".") or "svg"
    if form not in Figure().canvas.get_supported_filetypes():
        raise InvalidInputError(f"{path}: unrecognized figure format; use svg, pdf or png")
    return form


def draw_panels(
    path: Path, names: Sequence[str], draw: Callable[[str, Axes], object], width: float
) -> None:
    """Write a figure with one panel per name, side by side; the extension gives the format."""
    form = figure_format(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * len(names), 3.5), layout="constrained")
    for number, name in enumerate(names, 1):
        draw(name, figure.add_subplot(1, len(names), number))
    with replace_atomically(path) as beside:
        figure.savefig(beside, format=form)


def plot_directions(lines: Mapping[str, Float64], ax: Axes, **properties: Any) -> Axes:  # noqa: ANN401
    """Draw a number for each direction, strongest first, as a line per label."""
    places, colors = color_places(lines), palette()
    for label, values in lines.items():
        color = colors[f"s{places[label]}"][0]
        x = np.arange(1, len(values) + 1)
        ax.plot(x, values, label=label, color=color, drawstyle="steps-mid")
    ax.set(xlabel="direction, strongest first", **properties)
    if len(ax.lines) > 1:
        ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
