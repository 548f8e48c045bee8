"""The result of a command, in every output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from conceptor.evaluation import Comparison, TextComparison
from conceptor.methods import METHODS
from conceptor.report.charts import gate_chart, spectrum_chart
from conceptor.report.scores import (
    comparison_csv,
    comparison_tables,
    coverage_note,
    example_table,
    text_tables,
)
from conceptor.report.tables import Table, latex, markdown, page_table, table_csv


@dataclass(frozen=True)
class Result:
    """Tables with notes before and sentences after them, and the same content as data."""

    data: object  # the content of the JSON output
    tables: Sequence[Table]
    notes: Sequence[str] = ()  # the first is the title of a page, unless there is another
    closing: Sequence[str] = ()
    verdict: str = ""  # the answer in one sentence, if there is one
    title: str = ""
    own_csv: Callable[[], str] | None = None  # if CSV contains more than the tables
    sections: Sequence[str] = ()  # HTML that only a page shows

    def markdown(self) -> str:
        """Return Markdown."""
        parts = [f"{note}  " for note in self.notes] + [markdown(table) for table in self.tables]
        return "\n".join([*parts, *self.closing]).rstrip() + "\n"

    def latex(self) -> str:
        """Return LaTeX tables."""
        return "\n".join(latex(table) for table in self.tables)

    def csv(self) -> str:
        """Return CSV."""
        return table_csv(self.tables) if self.own_csv is None else self.own_csv()

    def html(self) -> str:
        """Return a complete web page with its style."""
        title, *notes = [self.title, *self.notes] if self.title else self.notes or [""]
        notes += [line for line in self.closing if line != self.verdict]
        verdict = f'<p class="verdict">{escape(self.verdict)}</p>' if self.verdict else ""
        tables = [_section(table.title, page_table(table) + table.chart) for table in self.tables]
        body = "\n".join([verdict, *tables, *self.sections, _listing("Notes", notes)])
        files = resources.files("conceptor.report")
        style = files.joinpath("style.css").read_text(encoding="utf-8")
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{escape(title)}</title>\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<style>\n{style}</style>\n</head>\n"
            f'<body>\n<main class="report">\n<h1>{escape(title)}</h1>\n{body}\n</main>\n</body>\n'
            "</html>\n"
        )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>" if body else ""


def _listing(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return _section(title, f"<ul>{items}</ul>" if items else "")


def _glossary(methods: Iterable[str]) -> str:
    """Explain the methods in a comparison."""
    names = dict.fromkeys(method.split(":")[0] for method in methods)
    texts = {name: METHODS[name].description for name in names if name in METHODS}
    terms = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in texts.items())
    return _section("Methods", f"<dl>{''.join(terms)}</dl>")


def _directions(comparison: Comparison, method: str) -> str:
    """Return charts of the directions: the spectrum of a method, and the gates of all."""
    if method not in comparison.solutions:
        return ""
    solution = comparison.solutions[method]
    values = solution.spectrum.values
    sides = {"before": values, "after": solution.gate**2 * values}
    shares = {name: side / (side.sum() or 1.0) for name, side in sides.items()}
    gates = {name: each.gate for name, each in comparison.solutions.items() if each.gate.max() <= 1}
    figures = {
        f"Spectrum used by {method}": spectrum_chart(shares),
        "Gate: the share of each direction that is kept": gate_chart(gates),
    }
    drawn = (
        f"<figure><figcaption>{escape(text)}</figcaption>{chart}</figure>"
        for text, chart in figures.items()
    )
    return _section("Directions", f'<div class="pair">{"".join(drawn)}</div>')


def evaluation_result(comparison: Comparison, *, by_task: bool = False) -> Result:
    """Return scores of several files, with gains over the first."""
    evaluations = comparison.evaluations
    data = [
        each.to_dict() | {"against": comparison.baseline, "gains": comparison.gains_of(name)}
        for name, each in evaluations.items()
    ]
    notes = [f"{each.vectors}: {one}" for each in evaluations.values() for one in each.remarks]
    return Result(
        data[0] if len(data) == 1 else data,
        comparison_tables(comparison, by_task=by_task, one_file=False),
        [*notes, *coverage_note(evaluations.values())],
        comparison.summary,
        next(iter(comparison.summary), ""),
        f"conceptor evaluate: {', '.join(comparison.methods)}",
        lambda: comparison_csv(comparison),
        [_missing(comparison)],
    )


def comparison_result(comparison: Comparison, *, by_task: bool = False) -> Result:
    """Return scores of several methods on one file."""
    tables = comparison_tables(comparison, by_task=by_task)
    if comparison.examples:
        tables.append(example_table(comparison))
    method = comparison.main_method or ""
    notes = [comparison.vectors, *comparison.notes]
    return Result(
        comparison.to_dict(),
        tables,
        [*notes, *coverage_note(comparison.evaluations.values())],
        comparison.summary,
        comparison.verdicts.get(method, ""),
        f"conceptor compare: {comparison.vectors}",
        lambda: comparison_csv(comparison),
        [_directions(comparison, method), _glossary(comparison.methods), _missing(comparison)],
    )


def _missing(comparison: Comparison) -> str:
    lines = (f"{name}: {reason}" for name, reason in comparison.missing.items())
    return _listing("Not found", lines)


def text_result(compared: TextComparison) -> Result:
    """Return a comparison of forms of rows of texts."""
    return Result(
        compared.to_dict(),
        text_tables(compared),
        [compared.vectors, *compared.comparison.notes],
        compared.summary,
        compared.summary[0],
        f"conceptor compare: {compared.vectors}",
        lambda: comparison_csv(compared.comparison),
        [_glossary(compared.methods), _listing("Cautions", compared.comparison.cautions)],
    )
