"""Tables and curves of dialogue studies: every run, means and spreads, and differences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.numbers import format_signed
from conceptor.paper.dialogue.woz import SLOTS
from conceptor.report.forms import Cell, Line, Table
from conceptor.report.plots import draw_panels, finish_axes
from conceptor.report.result import Result

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from conceptor.evaluation.statistics import Interval
    from conceptor.paper.dialogue.study import Study


def dialogue_tables(study: Study) -> list[Table]:
    """Return mean and spread, differences from the first method, and every run."""
    tables = [_means(study)]
    if study.adjusted():
        tables.append(_differences(study))
    return [*tables, _runs(study)]


def dialogue_result(study: Study) -> Result:
    """Return a study in every output format."""
    return Result(study.to_dict(), dialogue_tables(study), [study.vectors, *study.notes])


def _means(study: Study) -> Table:
    rows = {method: [study.mean(method, goal) for goal in study.goals] for method in study.methods}
    best = [max(column) for column in zip(*rows.values(), strict=True)]
    lines = []
    for method, means in rows.items():
        cells = []
        for mean, goal, top in zip(means, study.goals, best, strict=True):
            spread = study.deviation(method, goal)
            text = f"{mean:.1f}" if math.isnan(spread) else f"{mean:.1f} ± {spread:.1f}"
            cells.append(Cell(text, best=len(rows) > 1 and f"{mean:.1f}" == f"{top:.1f}"))
        lines.append(Line(f"{method} ({len(study.runs[method])})", cells))
    matched = [Cell(f"{study.string_match[goal].percent:.1f}") for goal in study.goals]
    lines.append(Line("string match", matched, summary=True))
    turns = [Cell(str(study.string_match[goal].total), faint=True) for goal in study.goals]
    lines.append(Line("turns", turns, summary=True))
    return Table("Goal accuracy %, mean ± standard deviation (runs)", study.goals, lines)


def _differences(study: Study) -> Table:
    lines = []
    adjusted = study.adjusted()
    for method in study.methods[1:]:
        found = {goal: study.difference(method, goal) for goal in study.goals}
        both = [Cell(_interval(f.interval if f else None)) for f in found.values()]
        alone = [Cell(_interval(f.training if f else None), faint=True) for f in found.values()]
        lines.append(Line(method, both))
        lines.append(Line("  over seeds alone", alone))
        values = [adjusted.get((method, goal)) for goal in study.goals]
        chances = [Cell("—" if p is None else f"{p:.3f}", faint=True) for p in values]
        lines.append(Line("  p, adjusted", chances))
    title = (
        f"Difference from {study.methods[0]} over the same seeds, with 95% interval over seeds and "
        f"test dialogues; p adjusted for {len(adjusted)} comparisons (Holm)"
    )
    return Table(title, study.goals, lines)


def _runs(study: Study) -> Table:
    lines = []
    for method, runs in study.runs.items():
        for seed, run in runs.items():
            cells = [Cell(f"{run.accuracies[goal].percent:.1f}") for goal in study.goals]
            epochs = "/".join(map(str, run.kept.values()))
            lines.append(Line(f"{method}, seed {seed}", [*cells, Cell(epochs, faint=True)]))
    return Table("Every run", [*study.goals, "epochs"], lines)


def _interval(found: Interval | None) -> str:
    if found is None:
        return "—"
    low, high = format_signed(found.low, 1), format_signed(found.high, 1)
    return f"{format_signed(found.difference, 1)} ({low} … {high})"


def plot_learning(study: Study, slot: str, ax: Axes) -> Axes:
    """Draw the held-out accuracy over epochs: the mean over seeds, and every run."""
    for number, (method, runs) in enumerate(study.runs.items()):
        curves = [[100 * epoch["accuracy"] for epoch in run.curves[slot]] for run in runs.values()]
        for curve in curves:
            ax.plot(range(1, len(curve) + 1), curve, color=f"C{number}", alpha=0.25, linewidth=0.8)
        shortest = min(map(len, curves))
        mean = np.mean([curve[:shortest] for curve in curves], axis=0)
        ax.plot(range(1, shortest + 1), mean, color=f"C{number}", label=method)
    ax.set(title=slot, xlabel="epoch", ylabel="turns right, held out (%)")
    return finish_axes(ax)


def draw_learning(study: Study, path: Path) -> None:
    """Write the learning curves of every slot as an svg, pdf or png file."""
    slots = [goal for goal in study.goals if goal in SLOTS]
    draw_panels(path, slots, lambda slot, ax: plot_learning(study, slot, ax), width=5)
