"""Charts of the docs in the report's style: dots with intervals, lines, bars; light and dark."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from conceptor.report.charts import color_places, palette, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LETTER = 7  # the width of a letter of 12 px, on the average
ROW = 24
# The colors of the report and the page; a loss has a color of its own.
# The methods behind names of series.
METHODS = {
    "cn, the default": "cn", "CN as in the paper": "cn-paper", "All-But-The-Top": "abtt",
    "Zipfian whitening": "zipf-whitening",
}  # fmt: skip
SERIES = [*(f"s{place}" for place in range(6)), "gain", "loss"]
LIGHT, DARK = (
    {name: colors[name][side] for name in ("ink", "faint", "grid", *SERIES)}
    | {"back": colors["card"][side]}
    for colors in [palette()]
    for side in (0, 1)
)
RULES = """
.chart { display: block; max-width: 100%; height: auto; }
.chart text { fill: var(--ink); font: 12px system-ui, "Segoe UI", Roboto, sans-serif; }
.chart text.faint { fill: var(--faint); }
.chart text.title { font-weight: 600; }
.chart .grid { stroke: var(--grid); }
.chart .zero { stroke: var(--faint); }
.chart .interval { stroke-width: 2.5; }
.chart .series { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .result { stroke-width: 4; }
""" + "".join(
    f".chart .{name} {{ stroke: var(--{name}); }}\n.chart .m-{name} {{ fill: var(--{name}); }}\n"
    for name in SERIES
)  # fmt: skip


def properties(colors: Mapping[str, str]) -> str:
    """Return colors as custom properties."""
    return " ".join(f"--{name}: {color};" for name, color in colors.items())


def style_sheet() -> str:
    """Return the style of charts within the site, which has a switch for light and dark."""
    dark = f'[data-md-color-scheme="slate"] .chart {{ {properties(DARK)} }}'
    return f"/* Written by docs/charts.py. */\n.chart {{ {properties(LIGHT)} }}\n{dark}\n{RULES}"


@dataclass(frozen=True)
class Dot:
    """A value, and its interval if there is one."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def ends(self) -> list[float]:
        """Return what an axis has to show."""
        return [each for each in (self.value, self.low, self.high) if not math.isnan(each)]

    @property
    def kind(self) -> str:
        """Return the style by whether the interval is above zero, below it, or holds it."""
        if math.isnan(self.low):
            return "s0"
        return "gain" if self.low > 0 else "loss" if self.high < 0 else "s0"


Rows = "Mapping[str, Dot | Mapping[str, Dot]]"


def dots(
    panels: Mapping[str, Rows],
    label: str,
    axis: str,
    *,
    columns: int = 1,
    zero: bool = True,
    width: int = 720,
) -> str:
    """Draw rows of dots on one axis per panel; several dots in a row are series with a legend."""
    first = next(iter(panels.values()))
    left = 12 + LETTER * max(len(row) for rows in panels.values() for row in rows)
    several = not isinstance(next(iter(first.values())), Dot)
    names = list(dict.fromkeys(n for rows in panels.values() for r in rows.values() for n in r)) \
        if several else []  # fmt: skip
    gap = 30
    inner = (width - left - gap * columns) / columns
    heights = [
        max(len(rows) for rows in list(panels.values())[k : k + columns])
        for k in range(0, len(panels), columns)
    ]
    shapes, y = _legend(names, left, width) if several else ([], 4)
    for k, height in enumerate(heights):
        line = list(panels.items())[k * columns : (k + 1) * columns]
        for place, (title, rows) in enumerate(line):
            x = left + place * (inner + gap)
            shapes += _panel(title, rows, names, (x, y, inner), zero=zero, named=place == 0)
        y += 24 + ROW * height + 26
    middle = min(left + (width - left) / 2, width - LETTER * len(axis) / 2)
    shapes.append(_text(middle, y + 8, axis, "faint", "middle"))
    return svg(width, y + 18, label, shapes)


def _panel(
    title: str,
    rows: Rows,
    names: Sequence[str],
    frame: tuple[float, float, float],
    *,
    zero: bool,
    named: bool,
) -> list[str]:
    left, top, width = frame
    found = [dot for row in rows.values() for dot in (row.values() if names else [row])]
    ends = [end for dot in found for end in dot.ends] + ([0.0] if zero else [])
    low, high = min(ends), max(ends)
    margin = 0.07 * (high - low) or 1.0
    low, high = low - margin, high + margin

    def x(value: float) -> float:
        return round(left + width * (value - low) / (high - low), 1)

    top += 24
    bottom = top + ROW * len(rows)
    shapes = [_text(left, top - 8, title, "title")] if title else []
    marks = ticks(low, high)
    if len(marks) > 4 and width < 260:  # every second one, zero among them
        marks = marks[(marks.index(0.0) if 0.0 in marks else 0) % 2 :: 2]
    for tick in marks:
        kind = "zero" if tick == 0 and zero else "grid"
        shapes.append(
            f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="{top}" y2="{bottom}"/>'
        )
        shown = (f"{tick:+g}" if tick else "0") if zero else f"{tick:g}"
        shapes.append(_text(x(tick), bottom + 15, shown.replace("-", "−"), "faint", "middle"))
    for place, (name, row) in enumerate(rows.items()):
        y = top + ROW * (place + 0.5)
        if named:
            shapes.append(_text(left - 10, y + 4, name, anchor="end"))
        if not names:
            shapes += _dot(row, name, row.kind if zero else "s1", x, y)
            continue
        for number, series in enumerate(names):
            if series in row:
                shift = 5 * (number - (len(names) - 1) / 2) if len(names) < 5 else 0
                shapes += _dot(
                    row[series], f"{name}, {series}", styles(names)[series], x, y + shift
                )
    return shapes


def _dot(dot: Dot, name: str, style: str, x: Callable[[float], float], y: float) -> list[str]:
    if math.isnan(dot.value):  # not measured: the row stays empty
        return []
    shapes, said = [], f"{name}: {dot.value:g}"
    if not math.isnan(dot.low):
        said += f" [{dot.low:g}, {dot.high:g}]"
        shapes.append(
            f'<line class="interval {style}" x1="{x(dot.low)}" x2="{x(dot.high)}" '
            f'y1="{y}" y2="{y}"/>'
        )
    shapes.append(_mark(style, x(dot.value), y, said.replace("-", "−")))
    return shapes


def styles(names: Sequence[str]) -> dict[str, str]:
    """Return the style of each series; a method has the same in all charts."""
    places = color_places([METHODS.get(name, name) for name in names])
    return {name: f"s{places[METHODS.get(name, name)]}" for name in names}


def _mark(style: str, x: float, y: float, title: str = "") -> str:
    """Return the mark of a series: shapes differ, so that colors need not be told apart."""
    said = f"<title>{escape(title)}</title>" if title else ""
    kind = f'class="m-{style}"'
    if style == "s3":
        return f'<rect {kind} x="{x - 4}" y="{y - 4}" width="8" height="8">{said}</rect>'
    if style in ("s2", "s5"):
        return f'<path {kind} d="M{x} {y - 5.5}l5.5 9.5h-11z">{said}</path>'
    if style == "s4":
        return f'<path {kind} d="M{x} {y - 6}l6 6l-6 6l-6 -6z">{said}</path>'
    return f'<circle {kind} cx="{x}" cy="{y}" r="4.5">{said}</circle>'


def _legend(names: Sequence[str], left: float, width: float) -> tuple[list[str], float]:
    """Return the marks and names of the series, in as many lines as they need, and the height."""
    shapes, x, y = [], left, 10
    for name, style in styles(names).items():
        size = 36 + LETTER * len(name)
        if x + size > width and x > left:
            x, y = left, y + 20
        shapes += [_mark(style, x + 5, y), _text(x + 15, y + 4, name)]
        x += size
    return shapes, y + 16


def lines(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]],
    label: str,
    axes: tuple[str, str],
    *,
    width: int = 720,
    height: int = 300,
    marks: bool = True,
) -> str:
    """Draw curves, with a mark at each point if they are few, panels side by side."""
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    shapes, top = _legend(names, 50, width)
    top += 18
    each = (width - 50) / len(panels)
    for place, (title, curves) in enumerate(panels.items()):
        frame = (50 + place * each, top, each - 26, height - top - 44)
        shapes += _curves(title, curves, names, frame, marks=marks)
    shapes.append(_text(50 + (width - 50) / 2, height - 6, axes[0], "faint", "middle"))
    middle = top + (height - top - 44) / 2
    shapes.append(
        f'<text class="faint" transform="translate(12 {middle}) rotate(-90)" '
        f'text-anchor="middle">{escape(axes[1])}</text>'
    )
    return svg(width, height, label, shapes)


def _curves(
    title: str,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    names: Sequence[str],
    frame: tuple[float, float, float, float],
    *,
    marks: bool,
) -> list[str]:
    left, top, width, height = frame
    xs = [x for curve in curves.values() for x, _ in curve]
    ys = [y for curve in curves.values() for _, y in curve]
    pad_x, pad_y = 0.05 * (max(xs) - min(xs)) or 1, 0.08 * (max(ys) - min(ys)) or 1
    low_x, high_x, low_y, high_y = (
        min(xs) - pad_x,
        max(xs) + pad_x,
        min(ys) - pad_y,
        max(ys) + pad_y,
    )

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            round(left + width * (x - low_x) / (high_x - low_x), 1),
            round(top + height * (high_y - y) / (high_y - low_y), 1),
        )

    shapes = [_text(left, top - 4, title, "title")] if title else []
    for tick in ticks(low_y, high_y):
        y = at(low_x, tick)[1]
        shapes.append(f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y}" y2="{y}"/>')
        shapes.append(_text(left - 6, y + 4, f"{tick:g}".replace("-", "−"), "faint", "end"))
    for tick in ticks(low_x, high_x):
        shapes.append(_text(at(tick, low_y)[0], top + height + 16, f"{tick:g}", "faint", "middle"))
    for name, curve in curves.items():
        style = styles(names)[name]
        points = [at(x, y) for x, y in curve]
        path = " ".join(f"{x},{y}" for x, y in points)
        shapes.append(f'<polyline class="series {style}" points="{path}"/>')
        shown = zip(points, curve, strict=True) if marks else ()
        for (x, y), (a, b) in shown:
            shapes.append(_mark(style, x, y, f"{name}: {a:g}, {b:g}"))
    return shapes


def bars(
    rows: Mapping[str, Mapping[str, float]], label: str, axis: str, *, width: int = 720
) -> str:
    """Draw one bar per row, cut into parts."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    left = 12 + LETTER * max(map(len, rows))
    most = max(sum(row.values()) for row in rows.values())
    shapes, _ = _legend(names, left, width)
    for place, (name, row) in enumerate(rows.items()):
        y = 28 + ROW * place
        shapes.append(_text(left - 10, y + 14, name, anchor="end"))
        x = left
        for part, style in styles(names).items():
            size = (width - left - 10) * row.get(part, 0) / most
            if size:
                said = escape(f"{name}, {part}: {row[part]:g}")
                shapes.append(
                    f'<rect class="m-{style}" x="{x:.1f}" y="{y + 3}" '
                    f'width="{max(size - 1, 1):.1f}" height="{ROW - 8}">'
                    f"<title>{said}</title></rect>"
                )
            x += size
    bottom = 28 + ROW * len(rows)
    for tick in (0, *ticks(0, most * 1.001)):
        at = left + (width - left - 10) * tick / most
        shapes.append(_text(at, bottom + 14, f"{tick:g}", "faint", "middle"))
    shapes.append(_text(left + (width - left) / 2, bottom + 34, axis, "faint", "middle"))
    return svg(width, bottom + 44, label, shapes)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{kind}{anchor} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def svg(width: float, height: float, label: str, shapes: Sequence[str]) -> str:
    """Return a picture that follows the reader's light or dark by itself; the site strips that."""
    style = (
        f"<style>.chart {{ {properties(LIGHT)} }} @media (prefers-color-scheme: dark) "
        f"{{ .chart {{ {properties(DARK)} }} }} {RULES}</style>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
        f'aria-label="{escape(label)}" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">{style}{"".join(shapes)}</svg>\n'
    )
