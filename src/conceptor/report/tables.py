"""Tables of scores: built once, shown in every format (`conceptor.report.forms`)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from conceptor.base.numbers import format_number, format_signed
from conceptor.evaluation.statistics import CONFIDENCE, Interval
from conceptor.evaluation.task import FEWEST_ITEMS, LEAST_COVERAGE
from conceptor.report.forms import USED, Cell, Line, Table, csv_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conceptor.evaluation import Evaluation, Row
    from conceptor.evaluation.compare.words import Comparison

TITLES = {
    "similarity": "Word similarity (Spearman × 100)",
    "sts": "Semantic textual similarity (Pearson × 100)",
    "categorization": "Concept categorisation (purity × 100)",
    "neighbours": "Neighbours (synonyms among the ten nearest, %)",
    "analogy": "Analogies (accuracy %)",
    "retrieval": "Retrieval (nDCG@10 × 100)",
    "classification": "Text classification (accuracy %)",
    "sts-b": "STS benchmark (Pearson × 100)",
    "similarity-de": "Word similarity in German (Spearman × 100)",
    "similarity-it": "Word similarity in Italian (Spearman × 100)",
    "similarity-ru": "Word similarity in Russian (Spearman × 100)",
    "pairs": "Your word pairs (Spearman × 100)",
    "sentence-pairs": "Your sentence pairs (Pearson × 100)",
    "text-pairs": "Your scored pairs (Spearman × 100)",
    "text-retrieval": "Your queries (nDCG@10 × 100)",
    "text-neighbours": "Neighbours kept (%)",
    "text-related": "Related against random pairs (AUC × 100)",
}
MEANS = {"sts": "mean 2012–2015"}


_CSV_COLUMNS = ("method", "task", "dataset", "metric", "score", "used", "total")
# The rows of gains, and the part of an interval that each shows.
_GAINS = {"gain": "difference", f"{CONFIDENCE:.0%} from": "low", f"{CONFIDENCE:.0%} to": "high"}


def comparison_tables(
    comparison: Comparison, *, by_task: bool = False, one_file: bool = True
) -> list[Table]:
    """Return a table for each task, with means and intervals of the gains at the bottom.

    Columns are methods on one file, or several files.
    """
    tables = []
    for family in comparison.families:
        table = _family_table(family, comparison.evaluations, by_task=by_task, one_file=one_file)
        gains = comparison.gains(family)
        foot = []
        for label, part in _GAINS.items() if gains else ():
            shown = {method: format_signed(getattr(gains[method], part)) for method in gains}
            cells = [Cell(shown.get(method, ""), faint=True) for method in comparison.methods]
            rest = [Cell("")] * (len(table.columns) - len(cells))
            foot.append(Line(label, [*cells, *rest], summary=True))
        tables.append(replace(table, lines=[*table.lines, *foot]))
    return tables


def sentence_tables(comparison: Comparison, *, by_task: bool = False) -> list[Table]:
    """Return the table of sentence encoders; column names show what each was fitted on."""
    return [
        replace(each, title=f"Sentence encoders: {each.title}")
        for each in comparison_tables(comparison, by_task=by_task)
    ]


def example_table(comparison: Comparison) -> Table:
    """Return the neighbours of example words, before and after."""
    methods = list(comparison.examples)
    words = comparison.examples[methods[0]]
    lines = [
        Line(
            word,
            [
                Cell(", ".join(near.word for near in comparison.examples[method][word]))
                for method in methods
            ],
        )
        for word in words
    ]
    return Table("Nearest words, before and after", methods, lines, prose=True)


def coverage_note(evaluations: Iterable[Evaluation]) -> list[str]:
    """Explain the results in brackets; return nothing if there are none."""
    thin = {
        f"{dataset} {covered}": None
        for evaluation in evaluations
        for dataset, covered in evaluation.left_out.items()
    }
    if not thin:
        return []
    named = ", ".join(list(thin)[:5]) + (f" and {len(thin) - 5} more" if len(thin) > 5 else "")
    return [
        f"(in brackets: left out of means, because the vectors cover fewer than {FEWEST_ITEMS} "
        f"items or {LEAST_COVERAGE:.0%}: {named})"
    ]


def _family_table(
    family: str, evaluations: Mapping[str, Evaluation], *, by_task: bool, one_file: bool = False
) -> Table:
    """Return scores by column, with the number of items used in an extra column if possible.

    For columns from one file, this number differs only if unknown words get vectors from their
    spelling, and a range is enough. For several files, it may have to go into each cell.
    """
    columns = [
        _rows_to_show(evaluation, family, by_task=by_task) for evaluation in evaluations.values()
    ]
    apart = one_file or all(
        len({(row.used, row.total) for row in across}) == 1 for across in zip(*columns, strict=True)
    )
    lines = []
    for across in zip(*columns, strict=True):
        cells = _score_cells([row.score for row in across], [row.thin for row in across])
        if apart:
            counts = sorted({row.used for row in across})
            used = f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
            cells = [*cells, Cell(f"{used}/{across[0].total}", faint=True)]
        else:
            cells = [
                replace(cell, text=f"{cell.text} ({row.used}/{row.total})")
                for cell, row in zip(cells, across, strict=True)
            ]
        lines.append(Line(across[0].dataset, cells))
    if len(lines) > 1:
        means = [evaluation.means().get(family, math.nan) for evaluation in evaluations.values()]
        cells, label = _score_cells(means), MEANS.get(family, "mean")
        # If undefined scores reduce the number of sets in a mean, show that number.
        sets = len(next(iter(evaluations.values())).of_family(family))
        defined = [len(evaluation.mean_outcomes(family)) for evaluation in evaluations.values()]
        if len(set(defined)) > 1:
            cells = [
                cell if number in (0, sets) else replace(cell, text=f"{cell.text} of {number}")
                for cell, number in zip(cells, defined, strict=True)
            ]
        elif defined[0] != sets:
            label += f" of {defined[0]}"
        lines.append(Line(label, [*cells, Cell("")] if apart else cells, summary=True))
    names = [*evaluations, USED] if apart else list(evaluations)
    return Table(TITLES.get(family, family), names, lines)


def _rows_to_show(evaluation: Evaluation, family: str, *, by_task: bool) -> list[Row]:
    rows = [row for row in evaluation.rows(years=False) if row.task == family]
    if family != "sts" or by_task:
        return rows
    return evaluation.years() + [row for row in rows if "/" not in row.dataset]


def _score_cells(scores: Sequence[float], thin: Sequence[bool] = ()) -> list[Cell]:
    """Format scores; mark those that print as the best, unless all are equal.

    Thin scores, which rest on few items, are faint, in brackets and never the best.
    """
    thin = thin or [False] * len(scores)
    counted = [
        round(score, 2)
        for score, few in zip(scores, thin, strict=True)
        if not (few or math.isnan(score))
    ]
    best = format_number(max(counted)) if len(set(counted)) > 1 else None
    cells = []
    for score, few in zip(scores, thin, strict=True):
        text = format_number(score)
        cells.append(Cell(f"({text})", faint=True) if few else Cell(text, best=text == best))
    return cells


def comparison_csv(comparisons: Iterable[Comparison]) -> str:
    """Return CSV at full precision, with one line per method and dataset or mean.

    If there is a baseline, gains over it are included, with their intervals.
    """
    return csv_text(
        [*_CSV_COLUMNS, "gain", "low", "high"],
        (row for comparison in comparisons for row in _comparison_rows(comparison)),
    )


def _comparison_rows(comparison: Comparison) -> Iterator[list[object]]:
    for method, evaluation in comparison.evaluations.items():
        for row in evaluation.rows():
            parts = [each.dataset for each in evaluation.tasks_of(row.dataset)]
            gain = comparison.interval(method, parts)
            kept = [row.task, row.dataset, row.metric, row.score, row.used, row.total]
            yield [method, *kept, *_parts_of(gain)]
        for family, mean in evaluation.means().items():
            gain = comparison.gains(family).get(method)
            metric = evaluation.of_family(family)[0].metric
            label = MEANS.get(family, "mean")
            yield [method, family, label, metric, mean, "", "", *_parts_of(gain)]


def _parts_of(gain: Interval | None) -> tuple[object, object, object]:
    return ("", "", "") if gain is None else (gain.difference, gain.low, gain.high)
