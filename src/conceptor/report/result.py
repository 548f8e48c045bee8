"""The result of a command, in every output format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.report.forms import Table, latex, markdown, table_csv
from conceptor.report.page import comparison_html, document, listing, table_sections, verdict
from conceptor.report.tables import (
    comparison_csv,
    comparison_tables,
    coverage_note,
    example_table,
    sentence_tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conceptor.evaluation.compare.words import Comparison


@dataclass(frozen=True)
class Result:
    """Tables with notes before and sentences after them, and the same content as data.

    Attributes
    ----------
    data : object
        The content of the JSON output.
    verdict : str
        The answer in one sentence, if there is one.
    own_csv, own_page : callable, optional
        CSV and web page, if they contain more than the tables.
    paper_tables : sequence of Table
        The tables for LaTeX, if they differ.
    """

    data: object
    tables: Sequence[Table]
    notes: Sequence[str] = ()
    closing: Sequence[str] = ()
    verdict: str = ""
    own_csv: Callable[[], str] | None = None
    own_page: Callable[[], str] | None = None
    paper_tables: Sequence[Table] = ()

    def markdown(self) -> str:
        """Return Markdown."""
        parts = [f"{note}  " for note in self.notes] + [markdown(table) for table in self.tables]
        return "\n".join([*parts, *self.closing]).rstrip() + "\n"

    def latex(self) -> str:
        """Return LaTeX tables."""
        return "\n".join(latex(table) for table in self.paper_tables or self.tables)

    def csv(self) -> str:
        """Return CSV."""
        return table_csv(self.tables) if self.own_csv is None else self.own_csv()

    def html(self) -> str:
        """Return a complete web page."""
        if self.own_page is not None:
            return self.own_page()
        title, *notes = self.notes or [""]
        parts = [*table_sections(self.tables), listing("Notes", [*notes, *self.closing])]
        return document(title, "\n".join(parts))


def evaluation_result(comparison: Comparison, *, by_task: bool = False) -> Result:
    """Return scores of several files, with gains over the first."""
    evaluations = comparison.evaluations
    found = [
        each.to_dict() | {"against": comparison.baseline, "gains": comparison.gains_of(name)}
        for name, each in evaluations.items()
    ]
    notes = [f"{each.vectors}: {one}" for each in evaluations.values() for one in each.remarks]
    return Result(
        found[0] if len(found) == 1 else found,
        comparison_tables(comparison, by_task=by_task, one_file=False),
        [*notes, *coverage_note(evaluations.values())],
        comparison.summary,
        next(iter(verdict(comparison)), ""),
        lambda: comparison_csv([comparison]),
        lambda: document(
            f"conceptor evaluate: {', '.join(comparison.methods)}",
            comparison_html(comparison, by_task=by_task, one_file=False),
        ),
    )


def comparison_result(
    comparison: Comparison, sentences: Comparison | None = None, *, by_task: bool = False
) -> Result:
    """Return scores of several methods on one file, and of sentence encoders if compared."""
    more = [] if sentences is None else [sentences]
    tables = comparison_tables(comparison, by_task=by_task)
    notes = [comparison.vectors, *comparison.notes]
    notes += coverage_note(comparison.evaluations.values())
    data = comparison.to_dict()
    for each in more:
        data["sentences"] = each.to_dict()
        tables += sentence_tables(each, by_task=by_task)
        notes += each.notes
    if comparison.examples:
        tables.append(example_table(comparison))
    return Result(
        data,
        tables,
        notes,
        [line for each in (comparison, *more) for line in each.summary],
        next(iter(verdict(comparison)), ""),
        lambda: comparison_csv([comparison, *more]),
        lambda: document(
            f"conceptor compare: {comparison.vectors}",
            comparison_html(comparison, sentences, by_task=by_task),
        ),
    )
