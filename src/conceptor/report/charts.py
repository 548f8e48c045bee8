"""SVG charts for the report; style.css colors their classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape

import numpy as np

from conceptor.base.arrays import Float64
from conceptor.evaluation.statistics import Interval

_WIDTH, _HEIGHT = 420, 210
_STYLES = 6  # colors and dashes of style.css
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 10, 24, 40


def spectrum_chart(shares: Mapping[str, Float64]) -> str:
    """Draw the share of the variance in each direction, on a logarithmic scale."""
    positive = [float(value) for values in shares.values() for value in values if value > 0]
    low = min(max(math.floor(math.log10(min(positive, default=0.1))), -6), -1)
    logs = {name: np.log10(np.maximum(each, 10.0**low)) for name, each in shares.items()}
    marks = {float(power): f"{100 * 10.0**power:g}%" for power in range(low, 1)}
    return _line_chart(logs, marks, "share of the variance", "Spectrum of running text")


def gate_chart(gates: Mapping[str, Float64]) -> str:
    """Draw how much of each direction is kept."""
    high = max([1.0, *(float(gate.max(initial=0.0)) for gate in gates.values())])
    marks = {tick: f"{tick:g}" for tick in (0.0, *ticks(0.0, high), high)}
    return _line_chart(gates, marks, "kept", "Gate")


def _line_chart(
    series: Mapping[str, Float64], marks: Mapping[float, str], label: str, title: str
) -> str:
    """Draw one line per series over the directions, strongest first; marks span the axis."""
    low, high = min(marks), max(marks)
    count = max((len(values) for values in series.values()), default=1)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(position: float) -> float:
        return round(_LEFT + width * (position - 1) / max(count - 1, 1), 1)

    def y(value: float) -> float:
        return round(_TOP + height * (high - value) / (high - low), 1)

    shapes = []
    for mark, text in marks.items():
        shapes.append(_line("grid", (_LEFT, _WIDTH - _RIGHT), (y(mark), y(mark))))
        shapes.append(_text(_LEFT - 6, y(mark) + 4, text, "end"))
    for position in sorted({1, *(int(tick) for tick in ticks(1, count) if tick >= 1), count}):
        if position in (1, count) or count - position > count / 12:
            shapes.append(_text(x(position), _HEIGHT - 24, str(position)))
    for number, (name, values) in enumerate(series.items()):
        style = f"series s{number % _STYLES}"
        points = " ".join(f"{x(place)},{y(float(v))}" for place, v in enumerate(values, start=1))
        shapes.append(f'<polyline class="{style}" points="{points}"/>')
        if len(series) > 1:
            at = _LEFT + 8 + 90 * number
            shapes.append(_line(style, (at, at + 22), (10, 10)))
            shapes.append(f'<text x="{at + 28}" y="14">{escape(name)}</text>')
    shapes.append(_text(_LEFT + width / 2, _HEIGHT - 6, "direction, strongest first"))
    shapes.append(
        f'<text class="faint" transform="translate(10 {_TOP + height / 2}) rotate(-90)" '
        f'text-anchor="middle">{label}</text>'
    )
    if len(series) == 1:
        return _svg(_WIDTH, _HEIGHT, title, shapes, "chart single")
    return _svg(_WIDTH, _HEIGHT, f"{title}: {', '.join(series)}", shapes)


def gain_chart(gains: Mapping[str, Interval], title: str) -> str:
    """Draw each method's gain over the baseline with its interval, on one axis through zero."""
    ends = [0.0, *(end for i in gains.values() for end in (i.low, i.high, i.difference))]
    ends = [end for end in ends if not math.isnan(end)]
    margin = 0.06 * (max(ends) - min(ends)) or 1.0
    low, high = min(ends) - margin, max(ends) + margin
    left, width, row, top = 130, 450, 26, 8
    height = top + row * len(gains) + 44

    def x(value: float) -> float:
        return round(left + width * (value - low) / (high - low), 1)

    shapes = []
    for tick in ticks(low, high):
        sign = f"{tick:+g}".replace("-", "−") if tick else "0"
        kind = "grid" if tick else "zero"
        shapes.append(_line(kind, (x(tick), x(tick)), (top, height - 42)))
        shapes.append(_text(x(tick), height - 26, sign))
    for position, (method, interval) in enumerate(gains.items()):
        y = top + row * position + row / 2
        kind = {1: "gain", -1: "loss", 0: "level"}[interval.sign]
        shapes.append(f'<text x="0" y="{y + 4}">{escape(method)}</text>')
        if math.isnan(interval.low) or math.isnan(interval.difference):
            continue
        shapes.append(_line(f"interval {kind}", (x(interval.low), x(interval.high)), (y, y)))
        shapes.append(
            f'<circle class="{kind}" cx="{x(interval.difference)}" cy="{y}" r="4.5">'
            f"<title>{escape(method)}: {interval.difference:+.2f} "
            f"[{interval.low:+.2f}, {interval.high:+.2f}]</title></circle>"
        )
    label = "gain in points × 100, with its 95% interval"
    shapes.append(_text(left + width / 2, height - 6, label))
    drawn = _svg(left + width + 20, height, f"{title}, with 95% intervals", shapes)
    return f'<div class="forest">{drawn}</div>'


def _line(kind: str, x: tuple[float, float], y: tuple[float, float]) -> str:
    return f'<line class="{kind}" x1="{x[0]}" x2="{x[1]}" y1="{y[0]}" y2="{y[1]}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text class="faint" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _svg(
    width: float, height: float, label: str, shapes: Iterable[str], kind: str = "chart"
) -> str:
    return (
        f'<svg class="{kind}" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:g} {height:g}">{"".join(shapes)}</svg>'
    )


def ticks(low: float, high: float) -> list[float]:
    """Return about six round numbers between the ends, including zero."""
    if not high > low:
        return [low]
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first = int(np.floor(low / step)) + 1
    return [round(step * k, 10) for k in range(first, int(np.floor(high / step + 1e-9)) + 1)]
