"""SVG charts for the report; the colors of methods are those of style.css."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources

import numpy as np

from conceptor.base.arrays import Float64
from conceptor.evaluation.statistics import Interval

# The place of a method in the palette of style.css; others take the places that are left.
_PLACES = {"original": 0, "cn": 1, "whitening": 2, "abtt": 3, "cn-paper": 4, "zipf-whitening": 5}
_PLACES |= {"before": 0, "after": 1, "": 1, "gentle": 4, "renormalization": 5}
_COLORS = 6
_WIDTH, _LEFT, _RIGHT = 420, 40, 8
# The most methods in a chart of gains, and directions in a chart of gates.
_METHODS, _DIRECTIONS = 5, 60


@cache
def style_sheet() -> str:
    """Return the style of the report and the page."""
    return resources.files("conceptor.report").joinpath("style.css").read_text(encoding="utf-8")


@cache
def palette() -> dict[str, tuple[str, str]]:
    """Return the colors of style.css by name (`s0`, ..., `gain`, `loss`), for light and dark."""
    pattern = r"--([\w-]+): light-dark\((#\w+), (#\w+)\)"
    return {name: (light, dark) for name, light, dark in re.findall(pattern, style_sheet())}


def color_places(methods: Iterable[str]) -> dict[str, int]:
    """Return the place of each method in the palette: the same in every chart of the usual ones."""
    names, places = list(methods), dict[str, int]()
    for name in names:
        place = _PLACES.get(name.split(":")[0])
        if place is not None and place not in places.values():
            places[name] = place
    free = [place for place in range(1, _COLORS) if place not in places.values()] or [0]
    others = [name for name in names if name not in places]
    return places | {name: free[i % len(free)] for i, name in enumerate(others)}


def gains_chart(
    families: Mapping[str, Mapping[str, Interval]], main: str, *, is_judged: bool = True
) -> str:
    """Draw gains of all families on one axis; hollow if not significant, orange for losses.

    Changes that are neither gains nor losses, such as of the neighbors kept, are not judged.
    """
    names = list(dict.fromkeys(name for gains in families.values() for name in gains))
    names = [main, *[name for name in names if name != main][: _METHODS - 1]]
    places = color_places(names)
    drawn = [each for gains in families.values() for name, each in gains.items() if name in names]
    ends = [0.0, *(end for i in drawn for end in (i.low, i.high, i.difference))]
    ends = [end for end in ends if not math.isnan(end)]
    margin = 0.04 * (max(ends) - min(ends)) or 1.0
    low, high = min(ends) - margin, max(ends) + margin
    step, top = 12, 26
    height = top + len(families) * (22 + step * len(names)) + 38

    def x(value: float) -> float:
        return round(_WIDTH * (value - low) / (high - low), 1)

    shapes, across = [], 0.0
    for name in names:
        shapes.append(_mark(places[name], "full", across + 6, 8))
        shapes.append(_text(across + 16, 12, name, "start", "strong" if name == main else ""))
        across += 30 + 7 * len(name)
    for tick in ticks(low, high):
        shapes.append(_line("grid" if tick else "zero", (x(tick),) * 2, (top, height - 36)))
        sign = f"{tick:+g}".replace("-", "−") if tick else "0"
        shapes.append(_text(x(tick), height - 20, sign))
    change = "gain" if is_judged else "change"
    shapes.append(_text(_WIDTH / 2, height - 4, f"{change} in points, with its 95% interval"))
    y = top
    for family, gains in families.items():
        shapes.append(_text(0, y + 13, family, "start", "strong"))
        if main in gains:
            kind = {1: "gain", -1: "loss", 0: "faint"}[gains[main].sign] if is_judged else ""
            shapes.append(_text(_WIDTH, y + 13, str(gains[main]), "end", f"{kind} strong"))
        y += 18
        for name in names:
            gain, y = gains.get(name), y + step
            if gain is None or math.isnan(gain.low) or math.isnan(gain.difference):
                continue
            kind = {1: "full", -1: "loss", 0: "hollow"}[gain.sign] if is_judged else "full"
            style = f"interval s{places[name]}" + (" loss" if kind == "loss" else "")
            style += " main" if name == main else ""
            shapes.append(_line(style, (x(gain.low), x(gain.high)), (y - 4, y - 4)))
            title = f"{name}, {family}: {gain}"
            shapes.append(_mark(places[name], kind, x(gain.difference), y - 4, title))
        y += 4
    return _svg(height, f"Gains with 95% intervals: {', '.join(families)}", shapes)


def gate_chart(shares: Float64, gates: Mapping[str, Float64], main: str) -> str:
    """Draw how much of each direction methods keep, before the variance of each as bars."""
    count = min(len(shares), _DIRECTIONS)
    places, top, bottom = color_places(gates), 26, 190
    width = (_WIDTH - _LEFT - _RIGHT) / count
    most = max([1.0, *(float(gate.max(initial=0.0)) for gate in gates.values())])

    def y(value: float) -> float:
        return round(bottom - (bottom - top) * value / most, 1)

    shapes, largest = [], float(shares.max(initial=0.0)) or 1.0
    for place, share in enumerate(shares[:count]):
        size = (bottom - top) * float(share) / largest
        shapes.append(
            f'<rect class="bar" x="{_LEFT + place * width:.1f}" y="{bottom - size:.1f}" '
            f'width="{max(width - 1, 0.5):.1f}" height="{size:.1f}"/>'
        )
    for tick in (0.0, 0.5, 1.0):
        shapes.append(_line("grid", (_LEFT, _WIDTH - _RIGHT), (y(tick), y(tick))))
        shapes.append(_text(_LEFT - 6, y(tick) + 4, f"{tick:.0%}", "end"))
    across = float(_LEFT)
    for name in sorted(gates, key=lambda each: each == main):  # the main one is on top
        style = f"series s{places[name]}" + (" main" if name == main else "")
        points = " ".join(
            f"{_LEFT + (place + side) * width:.1f},{y(float(value))}"
            for place, value in enumerate(gates[name][:count])
            for side in (0, 1)
        )
        shapes.append(f'<polyline class="{style}" points="{points}"><title>{escape(name)}</title>'
                      "</polyline>")  # fmt: skip
        shapes.append(_line(style, (across, across + 20), (8, 8)))
        shapes.append(_text(across + 25, 12, name, "start", "strong" if name == main else ""))
        across += 42 + 7 * len(name)
    for place in dict.fromkeys((1, count)):
        shapes.append(_text(_LEFT + (place - 0.5) * width, bottom + 16, str(place)))
    whole = "" if count == len(shares) else f" (the first {count} of {len(shares)})"
    shapes.append(
        _text(
            (_LEFT + _WIDTH) / 2, bottom + 32, f"direction, strongest first{whole}; bars: variance"
        )
    )
    return _svg(bottom + 38, f"Share of each direction that is kept: {', '.join(gates)}", shapes)


def _line(kind: str, x: Sequence[float], y: Sequence[float]) -> str:
    return f'<line class="{kind}" x1="{x[0]}" x2="{x[1]}" y1="{y[0]}" y2="{y[1]}"/>'


def _mark(place: int, kind: str, x: float, y: float, title: str = "") -> str:
    """Return the mark of a method: shapes differ, so that colors need not be told apart."""
    style, inner = f'class="mark m{place} {kind}"', f"<title>{escape(title)}</title>"
    if place in (0, 3):
        return f'<rect {style} x="{x - 3.5}" y="{y - 3.5}" width="7" height="7">{inner}</rect>'
    if place == 1:
        return f'<circle {style} cx="{x}" cy="{y}" r="4">{inner}</circle>'
    outline = "5l5 5l-5 5l-5 -5z" if place == 4 else "4.5l4.5 8h-9z"
    return f'<path {style} d="M{x} {y}m0 -{outline}">{inner}</path>'


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "faint") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _svg(height: float, label: str, shapes: Iterable[str]) -> str:
    return (
        f'<svg class="chart" role="img" aria-label="{escape(label)}" '
        f'viewBox="-4 0 {_WIDTH + 8} {height:g}">{"".join(shapes)}</svg>'
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
