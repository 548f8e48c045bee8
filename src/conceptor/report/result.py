"""The result of a command, in every output format."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from html import escape
from pathlib import Path

from conceptor import __version__
from conceptor.base.arrays import jsonable
from conceptor.base.display import format_signed
from conceptor.evaluation import Comparison, TextComparison
from conceptor.evaluation.task import family_name
from conceptor.evaluation.text_comparison import KEPT
from conceptor.methods import METHODS, ORIGINAL
from conceptor.report.charts import gains_chart, gate_chart, style_sheet
from conceptor.report.scores import (
    comparison_csv,
    comparison_tables,
    coverage_note,
    example_table,
    text_tables,
)
from conceptor.report.tables import Table, latex, markdown, page_table

# An example word is left out of the first screen if one of its new neighbors is rarer than this.
_RARE, _EXAMPLES = 50_000, 3
# More files of vectors than this are counted instead of named.
_FILES = 3


@dataclass(frozen=True)
class Result:
    """Tables with lines before and after them, and the same content as data."""

    data: object  # the content of the JSON output
    tables: Sequence[Table]
    notes: Sequence[str] = ()  # before the tables; the first is a title
    closing: Sequence[str] = ()
    verdict: str = ""  # the answer in one sentence, if there is one
    csv: Callable[[], str] = str  # at full precision
    headline: str = ""  # the answer in about ten words
    first_screen: Callable[[], str] = str  # the HTML above the tables, which are then folded
    sections: Sequence[tuple[str, str]] = ()  # titles and HTML that only a page shows
    files: Sequence[Path] = ()  # of the vectors

    def markdown(self) -> str:
        """Return Markdown."""
        parts = [f"{note}  " for note in self.notes] + [markdown(table) for table in self.tables]
        return "\n".join([*parts, *self.closing]).rstrip() + "\n"

    def latex(self) -> str:
        """Return LaTeX tables."""
        return "\n".join(latex(table) for table in self.tables)

    def html(self) -> str:
        """Return a complete web page with its style."""
        title, *notes = self.notes or [""]
        notes = [line for line in [*notes, *self.closing] if line != self.verdict]
        first = self.first_screen()
        headline = f'<p class="verdict">{escape(self.headline)}</p>' if self.headline else ""
        verdict = f'<p class="faint">{escape(self.verdict)}</p>' if self.verdict else ""
        parts = [(table.title, page_table(table)) for table in self.tables]
        folded = [*parts, *self.sections, ("Notes", _listing(notes))]
        body = "\n".join(
            f"<details{' open' * (not first)}><summary>{escape(name)}</summary>\n{part}</details>"
            for name, part in folded
            if part
        )
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{escape(title)}</title>\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<style>\n{style_sheet()}</style>\n</head>\n"
            f'<body>\n<main class="report">\n<h1>{escape(title)}</h1>\n{headline}{verdict}\n'
            f"{first}\n{_origin(self.files)}\n{body}\n</main>\n</body>\n</html>\n"
        )


def _listing(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _sections(comparison: Comparison, methods: Iterable[str]) -> list[tuple[str, str]]:
    """Explain the methods, and list what was not found."""
    names = dict.fromkeys(method.split(":")[0] for method in methods)
    texts = {name: METHODS[name].description for name in names if name in METHODS}
    terms = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in texts.items())
    missing = (
        f"{name}: {reason}"
        for name, reason in next(iter(comparison.evaluations.values())).missing.items()
    )
    explained = f"<dl>{''.join(terms)}</dl>" if texts else ""
    return [("Methods", explained), ("Not found", _listing(missing))]


def headline(comparison: Comparison, method: str) -> str:
    """Return where a method gains most and loses most, in about ten words."""
    gains = {family_name(name): gain for name, gain in comparison.gains_of(method).items()}
    parts = []
    for sign, verb in ((1, "gains most on"), (-1, "loses on")):
        sizes = {name: gain.difference for name, gain in gains.items() if gain.sign == sign}
        if sizes:
            name = max(sizes, key=lambda each: abs(sizes[each]))
            parts.append(f"{verb} {name} ({format_signed(sizes[name], 1)})")
    return f"{method} {', '.join(parts) or 'makes no significant difference'}." if gains else ""


def _first_screen(comparison: Comparison, method: str, families: Sequence[str]) -> str:
    """Return charts of gains and gates, and examples; nothing without gains."""
    gains = {family_name(family): comparison.gains(family) for family in families}
    gains = {family: by_method for family, by_method in gains.items() if by_method}
    if not gains:
        return ""
    columns = [gains_chart(gains, method, is_judged=list(families) != [KEPT])]
    gates = {name: each.gate for name, each in comparison.solutions.items() if each.gate.max() <= 1}
    if method in gates:
        spectrum = comparison.solutions[method].spectrum.values
        columns.append(gate_chart(spectrum, gates, method) + _examples(comparison, method))
    drawn = "".join(f"<div>{column}</div>" for column in columns)
    return f'<div class="pair">{drawn}</div>'


def _examples(comparison: Comparison, method: str) -> str:
    """Show the neighbors of a few words before and after, none of them with a rare new one."""
    near = comparison.examples
    lines: dict[str, int] = {}  # and how many neighbors are new
    for word, after in near.get(method, {}).items():
        before = [one.word for one in near[comparison.baseline][word]]
        new = {one.word: one.rank for one in after if one.word not in before}
        if new and max(new.values()) <= _RARE:
            names = [escape(one.word) for one in after]
            marked = (
                f"<b>{name}</b>" if one.word in new else name
                for name, one in zip(names, after, strict=True)
            )
            row = f"<dd>{escape(', '.join(before))}</dd><dd>→ {', '.join(marked)}</dd>"
            lines[f"<dt>{escape(word)}</dt>{row}"] = len(new)
    best = sorted(lines, key=lambda line: -lines[line])[:_EXAMPLES]
    return f'<dl class="words">{"".join(best)}</dl>' if best else ""


def _origin(files: Sequence[Path]) -> str:
    """Return the command, the version, the date, and the SHA-256 of the vectors."""
    parts = [f"conceptor {__version__}", date.today().isoformat()]
    if Path(sys.argv[0]).name in ("conceptor", "__main__.py"):
        parts.insert(0, f"<code>{escape(shlex.join(['conceptor', *sys.argv[1:]]))}</code>")
    files = [file for file in files if file.is_file()]
    for file in files[:_FILES]:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        parts.append(f"{escape(file.name)}: SHA-256 <code>{digest}</code>")
    if len(files) > _FILES:
        parts.append(f"and {len(files) - _FILES} more files")
    return f'<footer class="faint">{" · ".join(parts)}</footer>'


def comparison_result(comparison: Comparison) -> Result:
    """Return scores of several methods on one file."""
    tables = comparison_tables(comparison)
    if comparison.examples:
        tables.append(example_table(comparison))
    method = comparison.main_method or ""
    return Result(
        comparison.to_dict(),
        tables,
        [f"conceptor compare: {comparison.vectors}", *comparison.summary],
        [*comparison.notes, *coverage_note(comparison.evaluations.values())],
        comparison.verdicts.get(method, ""),
        lambda: comparison_csv(comparison),
        headline(comparison, method),
        partial(_first_screen, comparison, method, comparison.families),
        _sections(comparison, comparison.methods),
        comparison.files,
    )


def evaluation_result(comparison: Comparison) -> Result:
    """Return scores of several files, with gains over the first."""
    data, remarks = [], []
    for name, each in comparison.evaluations.items():
        gains = jsonable(comparison.data_of(name)["gains"])
        data.append(each.to_dict() | {"against": comparison.baseline, "gains": gains})
        remarks += [f"{name}: {one}" for one in each.remarks]
    result = comparison_result(comparison)
    return replace(
        result,
        data=data[0] if len(data) == 1 else data,
        notes=[f"conceptor evaluate: {', '.join(comparison.methods)}", *comparison.summary],
        closing=[*remarks, *result.closing],
    )


def text_result(compared: TextComparison) -> Result:
    """Return a comparison of forms of rows of texts."""
    whole, method = compared.whole, compared.verdict.method
    others = [name for name in whole.methods if name != ORIGINAL]
    method = method if method != ORIGINAL else others[0] if others else ""
    methods = [form.method for form in compared.forms.values()]
    return Result(
        compared.to_dict(),
        text_tables(compared),
        [f"conceptor compare: {compared.vectors}", *compared.summary],
        compared.notes,
        compared.summary[0],
        lambda: comparison_csv(compared),
        f"{compared.summary[0].partition(':')[0].rstrip('.')}.",
        partial(_first_screen, whole, method, compared.labeled or [KEPT]),
        [*_sections(compared, methods), ("Cautions", _listing(compared.cautions))],
        compared.files,
    )
