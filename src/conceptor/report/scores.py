"""Tables of scores: of words and of texts, built once and shown in every format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace

from conceptor.base.numbers import format_number, format_signed
from conceptor.evaluation import Comparison, Evaluation, TextComparison
from conceptor.evaluation.result import YEARS
from conceptor.evaluation.statistics import CONFIDENCE
from conceptor.evaluation.task import FEWEST_ITEMS, LEAST_COVERAGE
from conceptor.evaluation.text_comparison import KEPT, NAMES, show_gain
from conceptor.report.charts import gain_chart
from conceptor.report.tables import USED, Cell, Line, Table, csv_text

TITLES = {
    "similarity": "Word similarity (Spearman × 100)",
    "sts": "Sentence similarity (Pearson × 100)",
    "categorization": "Categorization (purity × 100)",
    "synonyms": "Synonym retrieval (synonyms among the ten nearest, %)",
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
    "text-neighbors": "Neighbors kept (%)",
}
_MEANS = {"sts": "mean 2012–2015"}
# The rows of gains, and the part of an interval that each shows.
_GAINS = {"gain": "difference", f"{CONFIDENCE:.0%} from": "low", f"{CONFIDENCE:.0%} to": "high"}


def comparison_tables(
    comparison: Comparison, *, by_task: bool = False, one_file: bool = True
) -> list[Table]:
    """Return a table for each task, with means and intervals of the gains at the bottom.

    Columns are methods on one file, or several files. The number of items used is in an extra
    column if possible: for columns from one file, it differs only if unknown words get vectors from
    their spelling, and a range is enough. For several files, it may have to go into each cell.
    """
    tables = []
    evaluations = list(comparison.evaluations.values())
    for family in comparison.families:
        columns = []
        for evaluation in evaluations:
            rows = [row for row in evaluation.rows() if row.task == family]
            years = [row for row in rows if row.dataset in YEARS]
            others = [row for row in rows if row.dataset not in YEARS]
            plain = [row for row in others if "/" not in row.dataset]
            columns.append(others if by_task or family != "sts" else years + plain)
        across = list(zip(*columns, strict=True))
        apart = one_file or all(len({(r.used, r.total) for r in rows}) == 1 for rows in across)
        rest = [Cell("")] if apart else []
        lines = []
        for same in across:
            cells = _score_cells([row.score for row in same], [row.thin for row in same])
            if apart:
                counts = sorted({row.used for row in same})
                used = f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
                cells.append(Cell(f"{used}/{same[0].total}", faint=True))
            else:
                cells = [
                    replace(cell, text=f"{cell.text} ({row.used}/{row.total})")
                    for cell, row in zip(cells, same, strict=True)
                ]
            lines.append(Line(same[0].dataset, cells))
        if len(lines) > 1:
            label, cells = _mean_cells(family, evaluations)
            lines.append(Line(label, [*cells, *rest], summary=True))
        gains = comparison.gains(family)
        for label, part in _GAINS.items() if gains else ():
            texts = {method: format_signed(getattr(gain, part)) for method, gain in gains.items()}
            cells = [Cell(texts.get(method, ""), faint=True) for method in comparison.methods]
            lines.append(Line(label, [*cells, *rest], summary=True))
        names = [*comparison.methods, USED] if apart else comparison.methods
        title = TITLES.get(family, family)
        chart = gain_chart(gains, f"Gain over {comparison.baseline}, {title}") if gains else ""
        tables.append(Table(title, names, lines, chart=chart))
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
    """Format scores; mark those that print as the best, unless all are equal.

    Thin scores, which rest on few items, are faint, in brackets and never the best.
    """
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
    """Return CSV at full precision, with one line per method and dataset or mean.

    If there is a baseline, gains over it are included, with their intervals.
    """
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
    means = {name: each.means() for name, each in compared.comparison.evaluations.items()}
    measures: dict[str, tuple[Mapping[str, float], int]] = {
        "neighbors kept, %": ({name: means[name].get(KEPT, 0.0) for name in whole.methods}, 1),
        "hubness (skewness)": ({name: each.hubness for name, each in compared.facts.items()}, 2),
        "strongest direction, %": (
            {name: 100 * each.strongest for name, each in compared.facts.items()}, 1,
        ),
    }  # fmt: skip
    if compared.backgrounds:
        for label, p in (("cosine of a random pair", 0.5), ("of one in 1,000", 0.001)):
            cosines = {name: float(each.cosine(p)) for name, each in compared.backgrounds.items()}
            measures[label] = cosines, 3
    lines = [
        Line(label, [Cell(format_number(numbers[name], digits)) for name in whole.methods])
        for label, (numbers, digits) in measures.items()
    ]
    tables.append(Table("Without labels", whole.methods, lines))
    if len(compared.forms) == len(whole.methods):
        return tables
    for family in compared.labeled:
        gains = compared.comparison.gains(family)
        texts = {name: show_gain(gain) for name, gain in gains.items()}
        title = f"Smaller: gain on {NAMES[family]} over the original"
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
    methods = [method for method in compared.methods if any(method in row for row in rows.values())]
    chosen = compared.verdict.smaller if best else None
    lines = [
        Line(label, [Cell(texts.get(name, ""), best=bool(name) and name == chosen)
                     for name in (row.get(method, "") for method in methods)])
        for label, row in rows.items()
    ]  # fmt: skip
    return Table(title, methods, lines)
