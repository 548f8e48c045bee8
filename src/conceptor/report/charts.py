"""SVG charts for the report and the page; style.css colours their classes."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conceptor.base.arrays import Float64
    from conceptor.evaluation.statistics import Interval


_WIDTH, _HEIGHT = 420, 210
_STYLES = 6  # colours and dashes of style.css
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 10, 24, 40


def spectrum_chart(shares: Mapping[str, Float64]) -> str:
    """Draw the share of the variance in each direction, on a logarithmic scale."""
    positive = [values[values > 0] for values in shares.values()]
    lowest = min((float(values.min()) for values in positive if len(values)), default=0.1)
    low, high = max(math.floor(math.log10(lowest)), -6), 0
    if low >= high:
        low = -1

    def scale(value: float) -> float:
        return max(math.log10(value), low) if value > 0 else low

    marks = {float(power): _percent(10.0**power) for power in range(low, high + 1)}
    return _line_chart(
        shares, (low, high), scale, marks, "share of the variance", "Spectrum of running text"
    )


def gate_chart(gates: Mapping[str, Float64]) -> str:
    """Draw how much of each direction is kept."""
    most = max((float(gate.max(initial=0.0)) for gate in gates.values()), default=1.0)
    high = 1.0 if most <= 1 else most
    marks = {tick: f"{tick:g}" for tick in (0.0, *ticks(0.0, high))}
    return _line_chart(gates, (0.0, high), lambda value: value, marks, "kept", "Gate")


def _line_chart(
    series: Mapping[str, Float64],
    limits: tuple[float, float],
    scale: Callable[[float], float],
    marks: Mapping[float, str],
    label: str,
    title: str,
) -> str:
    """Draw one line per series over the directions, strongest first."""
    low, high = limits
    count = max((len(values) for values in series.values()), default=1)
    inner = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(position: float) -> float:
        return round(_LEFT + inner[0] * (position - 1) / max(count - 1, 1), 1)

    def y(value: float) -> float:
        return round(_TOP + inner[1] * (high - value) / (high - low), 1)

    shapes = []
    for mark, text in marks.items():
        at = y(mark)
        shapes.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>'
            f'<text class="faint" x="{_LEFT - 6}" y="{at + 4}" text-anchor="end">{text}</text>'
        )
    for position in sorted({1, *(int(tick) for tick in ticks(1, count) if tick >= 1), count}):
        if position in (1, count) or count - position > count / 12:
            shapes.append(
                f'<text class="faint" x="{x(position)}" y="{_HEIGHT - 24}" '
                f'text-anchor="middle">{position}</text>'
            )
    for number, (name, values) in enumerate(series.items()):
        style = f"series s{number % _STYLES}"
        points = " ".join(
            f"{x(place)},{y(scale(float(value)))}" for place, value in enumerate(values, start=1)
        )
        shapes.append(f'<polyline class="{style}" points="{points}"/>')
        if len(series) > 1:
            at = _LEFT + 8 + 90 * number
            shapes.append(
                f'<line class="{style}" x1="{at}" x2="{at + 22}" y1="10" y2="10"/>'
                f'<text x="{at + 28}" y="14">{escape(name)}</text>'
            )
    shapes.append(
        f'<text class="faint" x="{_LEFT + inner[0] / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
        "direction, strongest first</text>"
        f'<text class="faint" transform="translate(10 {_TOP + inner[1] / 2}) rotate(-90)" '
        f'text-anchor="middle">{label}</text>'
    )
    if len(series) == 1:
        return _svg(_WIDTH, _HEIGHT, title, shapes, "chart single")
    return _svg(_WIDTH, _HEIGHT, f"{title}: {', '.join(series)}", shapes)


def gain_chart(gains: Mapping[str, Interval], title: str, unit: str = "points") -> str:
    """Draw each method's gain over the baseline with its interval, on one axis through zero."""
    ends = [0.0, *(end for i in gains.values() for end in (i.low, i.high, i.difference))]
    ends = [end for end in ends if not math.isnan(end)]
    low, high = min(ends), max(ends)
    margin = 0.06 * (high - low) or 1.0
    low, high = low - margin, high + margin
    left, width, row, top = 130, 450, 26, 8
    height = top + row * len(gains) + 44

    def x(value: float) -> float:
        return round(left + width * (value - low) / (high - low), 1)

    shapes = []
    for tick in ticks(low, high):
        shapes.append(
            f'<line class="{"zero" if tick == 0 else "grid"}" x1="{x(tick)}" x2="{x(tick)}" '
            f'y1="{top}" y2="{height - 42}"/>'
            f'<text class="faint" x="{x(tick)}" y="{height - 26}" text-anchor="middle">'
            f"{_signed(tick)}</text>"
        )
    for position, (method, interval) in enumerate(gains.items()):
        y = top + row * position + row / 2
        kind = {1: "gain", -1: "loss", 0: "level"}[interval.sign]
        shapes.append(f'<text x="0" y="{y + 4}">{escape(method)}</text>')
        if math.isnan(interval.low) or math.isnan(interval.difference):
            continue
        shapes.append(
            f'<line class="interval {kind}" x1="{x(interval.low)}" x2="{x(interval.high)}" '
            f'y1="{y}" y2="{y}"/>'
            f'<circle class="{kind}" cx="{x(interval.difference)}" cy="{y}" r="4.5">'
            f"<title>{escape(method)}: {interval.difference:+.2f} "
            f"[{interval.low:+.2f}, {interval.high:+.2f}]</title></circle>"
        )
    shapes.append(
        f'<text class="faint" x="{left + width / 2}" y="{height - 6}" text-anchor="middle">'
        f"gain in {unit}, with its 95% interval</text>"
    )
    return _svg(left + width + 20, height, f"{title}, with 95% intervals", shapes)


def _svg(
    width: float, height: float, label: str, shapes: Sequence[str], kind: str = "chart"
) -> str:
    return (
        f'<svg class="{kind}" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:g} {height:g}">{"".join(shapes)}</svg>'
    )


def _percent(share: float) -> str:
    return f"{100 * share:g}%"


def _signed(number: float) -> str:
    return f"{number:+g}".replace("-", "−") if number else "0"


def ticks(low: float, high: float) -> list[float]:
    """Return about six round numbers between the ends, including zero."""
    if not high > low:
        return [low]
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first = int(np.floor(low / step)) + 1
    return [round(step * k, 10) for k in range(first, int(np.floor(high / step + 1e-9)) + 1)]
