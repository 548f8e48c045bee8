"""Tables of scores and of neighbors, of words and of texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import zip_longest

from conceptor.algebra.background import percent_below
from conceptor.base.display import format_number, format_signed
from conceptor.concepts.neighbors import Neighbor, shorten
from conceptor.evaluation import Comparison, Evaluation, TextComparison
from conceptor.evaluation.statistics import CONFIDENCE, Interval
from conceptor.evaluation.task import FEWEST_ITEMS, LEAST_COVERAGE, TITLES, YEARS, family_name
from conceptor.evaluation.text_comparison import KEPT
from conceptor.report.tables import USED, Cell, Line, Table, csv_text

ByMethod = Mapping[str, Mapping[str, Sequence[Neighbor]]]
# Characters of a text in a table.
_SHOWN = 160
_MEANS = {"sts": "mean 2012–2015"}
# The rows below means; half of the interval's width fits where its two ends would not.
_GAINS: dict[str, Callable[[Interval], str]] = {
    "gain": lambda gain: format_signed(gain.difference),
    f"± ({CONFIDENCE:.0%})": lambda gain: format_number((gain.high - gain.low) / 2),
}


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return a table for each family, with one column for each method or file.

    If all have the same items, the number used is in an extra column, else in each cell.
    """
    tables = []
    evaluations = list(comparison.evaluations.values())
    for family in comparison.families:
        columns = []
        for evaluation in evaluations:
            rows = [row for row in evaluation.rows() if row.task == family]
            # The tasks of STS are shown by year, before the other sets.
            rows = [row for row in rows if family != "sts" or "/" not in row.dataset]
            columns.append(sorted(rows, key=lambda row: row.dataset not in YEARS))
        across = list(zip(*columns, strict=True))
        apart = all(len({(row.used, row.total) for row in rows}) == 1 for rows in across)
        rest = [Cell("")] if apart else []
        lines = []
        for same in across:
            cells = _score_cells([row.score for row in same], [row.thin for row in same])
            counts = [f"{row.used}/{row.total}" for row in same]
            if apart:
                cells.append(Cell(counts[0], faint=True))
            else:
                pairs = zip(cells, counts, strict=True)
                cells = [replace(cell, text=f"{cell.text} ({count})") for cell, count in pairs]
            lines.append(Line(same[0].dataset, cells))
        if len(lines) > 1:
            label, cells = _mean_cells(family, evaluations)
            lines.append(Line(label, [*cells, *rest], summary=True))
        gains = comparison.gains(family)
        for label, show in _GAINS.items() if gains else ():
            texts = {name: show(gain) for name, gain in gains.items()}
            cells = [Cell(texts.get(name, ""), faint=True) for name in comparison.methods]
            lines.append(Line(label, [*cells, *rest], summary=True))
        names = [*comparison.methods, USED] if apart else comparison.methods
        tables.append(Table(TITLES.get(family, family), names, lines))
    return tables


def _mean_cells(family: str, evaluations: Sequence[Evaluation]) -> tuple[str, list[Cell]]:
    """Return the means; if undefined scores reduce the number of sets, they show that number."""
    cells = _score_cells([each.means().get(family, math.nan) for each in evaluations])
    label = _MEANS.get(family, "mean")
    sets = len(evaluations[0].of_family(family))
    defined = [len(each.mean_outcomes(family)) for each in evaluations]
    if len(set(defined)) > 1:
        cells = [
            cell if number in (0, sets) else replace(cell, text=f"{cell.text} of {number}")
            for cell, number in zip(cells, defined, strict=True)
        ]
    elif defined[0] != sets:
        label += f" of {defined[0]}"
    return label, cells


def _score_cells(scores: Sequence[float], thin: Sequence[bool] = ()) -> list[Cell]:
    """Format scores; mark those that print as the best, unless all are equal; thin ones fade."""
    pairs = list(zip(scores, thin or [False] * len(scores), strict=True))
    reliable = {round(score, 2) for score, few in pairs if not (few or math.isnan(score))}
    best = format_number(max(reliable)) if len(reliable) > 1 else None
    texts = [format_number(score) for score in scores]
    return [
        Cell(f"({text})", faint=True) if few else Cell(text, best=text == best)
        for text, (_, few) in zip(texts, pairs, strict=True)
    ]


def example_table(comparison: Comparison) -> Table:
    """Return the neighbors of example words, before and after."""
    methods = list(comparison.examples)
    lines = [
        Line(word, [Cell(", ".join(near.word for near in comparison.examples[method][word]))
                    for method in methods])
        for word in comparison.examples[methods[0]]
    ]  # fmt: skip
    return Table("Nearest words, before and after", methods, lines, prose=True)


def coverage_note(evaluations: Iterable[Evaluation]) -> list[str]:
    """Explain the results in brackets; return nothing if there are none."""
    thin = {f"{dataset} {used}": None for e in evaluations for dataset, used in e.left_out.items()}
    if not thin:
        return []
    named = ", ".join(list(thin)[:5]) + (f" and {len(thin) - 5} more" if len(thin) > 5 else "")
    return [
        f"(in brackets: left out of means, because the vectors cover fewer than {FEWEST_ITEMS} "
        f"items or {LEAST_COVERAGE:.0%}: {named})"
    ]


def comparison_csv(comparison: Comparison) -> str:
    """Return CSV at full precision, with one line per method and dataset or mean."""
    head = ("method", "task", "dataset", "metric", "score", "used", "total", "gain", "low", "high")
    lines = []
    for method, evaluation in comparison.evaluations.items():
        for row in evaluation.rows():
            parts = [each.dataset for each in evaluation.tasks_of(row.dataset)]
            gain = comparison.interval(method, parts)
            lines.append([method, *astuple(row), *(astuple(gain) if gain else [""] * 3)])
        for family, mean in evaluation.means().items():
            gain = comparison.gains(family).get(method)
            metric = evaluation.of_family(family)[0].metric
            scores = [family, _MEANS.get(family, "mean"), metric, mean, "", ""]
            lines.append([method, *scores, *(astuple(gain) if gain else [""] * 3)])
    return csv_text(head, lines)


def text_tables(compared: TextComparison) -> list[Table]:
    """Return tables of methods at full size, losses of smaller forms, and label-free measures."""
    whole = compared.whole
    scores = zip(whole.families, comparison_tables(whole), strict=True)
    tables = [table for family, table in scores if family in compared.labeled]
    means = {name: each.means() for name, each in compared.evaluations.items()}
    measures = {
        "neighbors kept, %": {name: each.get(KEPT, 0.0) for name, each in means.items()},
        "strongest direction, %": {name: 100 * each for name, each in compared.strongest.items()},
    }
    lines = [
        Line(label, [Cell(format_number(numbers[name], 1)) for name in whole.methods])
        for label, numbers in measures.items()
    ]
    tables.append(Table("Without labels", whole.methods, lines))
    if len(compared.forms) == len(whole.methods):
        return tables
    for family in compared.labeled:
        texts = {name: str(gain) for name, gain in compared.gains(family).items()}
        title = f"Smaller: gain on {family_name(family)} over the original"
        tables.append(_smaller_table(compared, title, texts, best=True))
    shares = {name: format_number(each.get(KEPT, 0.0), 1) for name, each in means.items()}
    best = not compared.labeled
    tables.append(_smaller_table(compared, "Smaller: neighbors kept, %", shares, best=best))
    return tables


def _smaller_table(
    compared: TextComparison, title: str, texts: Mapping[str, str], *, best: bool
) -> Table:
    """Return a table with one row per size and number type, and one column per method."""
    rows: dict[str, dict[str, str]] = {}
    for name, form in compared.forms.items():
        if not form.whole:
            label = f"{form.dimensions} {form.dtype}, {form.bytes:,} bytes"
            rows.setdefault(label, {})[form.method] = name
    named = dict.fromkeys(form.method for form in compared.forms.values())
    methods = [method for method in named if any(method in row for row in rows.values())]
    chosen = compared.verdict.smaller if best else None
    lines = [
        Line(label, [Cell(texts.get(name, ""), best=bool(name) and name == chosen)
                     for name in (row.get(method, "") for method in methods)])
        for label, row in rows.items()
    ]  # fmt: skip
    return Table(title, methods, lines)


def neighbor_tables(neighbors: ByMethod) -> list[Table]:
    """Return a table for each word; neighbors that are not the first method's are highlighted."""
    tables = []
    for word in next(iter(neighbors.values())):
        columns = [neighbors[method][word] for method in neighbors]
        first = {one.word for one in columns[0]}
        lines = []
        for place, row in enumerate(zip_longest(*columns), start=1):
            cells: list[Cell] = []
            for one in row:
                cells += [Cell("")] * 3 if one is None else [
                    Cell(one.word, best=one.word not in first),
                    Cell(format_number(one.score, 3), faint=True),
                    Cell(f"{one.rank:,}", faint=True),
                ]  # fmt: skip
            lines.append(Line(str(place), cells))
        names = [name for method in neighbors for name in (method, "score", "rank")]
        tables.append(Table(word, names, lines, span=3))
    return tables


def text_neighbor_tables(neighbors: ByMethod) -> list[Table]:
    """Return a table for each text and method, with the scale of cosines if it is known."""
    tables = []
    first = next(iter(neighbors.values()))
    for text in first:
        ranks = {one.rank for one in first[text]}
        for method, by_text in neighbors.items():
            lines = []
            for place, one in enumerate(by_text[text], start=1):
                cells = [
                    Cell(shorten(one.word, _SHOWN), best=one.rank not in ranks),
                    Cell(f"{one.rank:,}", faint=True),
                    Cell(format_number(one.score, 3), faint=True),
                ]
                cells += [] if one.p is None else [Cell(percent_below(one.p), faint=True)]
                lines.append(Line(str(place), cells))
            names = [method, "row", "cosine", "random pairs below"]
            columns = names[: len(lines[0].cells)] if lines else names[:3]
            tables.append(Table(shorten(text, _SHOWN), columns, lines, prose=True))
    return tables
