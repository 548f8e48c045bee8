"""Keep figures apart from pages: turn Markdown with tables into a data file of docs/data.

    python benchmarks/data_files.py PAGE.md docs/data/NAME.json

A data file holds tables by name. The name of a table is its headings, as in
`glove-6b-50d/analogies-accuracy`; a second table under one heading gets `-2`. What stands before
the first heading is the file's note, text before a table is the table's text, and what follows it
are its notes. The pages of docs/ show these tables folded, and docs/charts.py draws from them.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from conceptor.base.files import replace_atomically

__all__ = ["Table", "parse", "read", "slug", "write", "write_tables"]


@dataclass
class Table:
    """One table: its heading, what is said about it, and its cells as they were printed."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    text: str = ""
    notes: str = ""


@dataclass
class _Section:
    titles: dict[int, str]  # by level, the page's own left out
    lines: list[str] = field(default_factory=list)


def parse(markdown: str) -> tuple[str, dict[str, Table]]:
    """Return the text before the first heading, and the tables of a page by name."""
    sections = [_Section({})]
    for line in markdown.splitlines():
        heading = re.match(r"(#+) (.*)", line)
        if heading:
            level = len(heading[1])
            above = {k: title for k, title in sections[-1].titles.items() if k < level}
            sections.append(_Section(above | {level: heading[2]} if level > 1 else {}))
        else:
            sections[-1].lines.append(line)
    tables: dict[str, Table] = {}
    note = [line for each in sections if not each.titles for line in each.lines]
    for section in sections:
        if section.titles:
            _read_section(section, tables)
    return "\n".join(note).strip(), tables


def _read_section(section: _Section, tables: dict[str, Table]) -> None:
    name = "/".join(map(slug, section.titles.values()))
    title = list(section.titles.values())[-1]
    said: list[str] = []
    table: Table | None = None
    ended = True
    for line in section.lines:
        if not line.startswith("|"):
            ended = True
            said.append(line)
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        if ended:
            table, said, ended = Table(title, cells, [], _clean(said)), [], False
            count = sum(each == name or each.startswith(f"{name}-") for each in tables)
            tables[f"{name}-{count + 1}" if name in tables else name] = table
        elif table is not None and not set(line) <= set("|-: "):
            table.rows.append(cells)
    if table is not None:
        table.notes = _clean(said)
    elif _clean(said):  # text without a table is kept too
        tables[name] = Table(title, [], [], _clean(said))


def slug(title: str) -> str:
    """Return a title as part of a name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _clean(lines: list[str]) -> str:
    return re.sub(r"<!--.*?-->", "", "\n".join(lines)).strip()


def write(path: str | Path, markdown: str) -> None:
    """Write a page's tables as a data file."""
    write_tables(path, *parse(markdown))


def write_tables(path: str | Path, note: str, tables: dict[str, Table]) -> None:
    """Write tables as a data file, one row per line."""
    parts = [f'"note": {_dump(note)}']
    for name, table in tables.items():
        fields = [f'"title": {_dump(table.title)}']
        fields += [f'"{key}": {_dump(getattr(table, key))}' for key in ("text", "notes")]
        fields.append(f'"columns": {_dump(table.columns)}')
        rows = ",\n   ".join(map(_dump, table.rows))
        fields.append(f'"rows": [\n   {rows}\n  ]' if rows else '"rows": []')
        parts.append(f"{_dump(name)}: {{\n  " + ",\n  ".join(fields) + "\n }")
    with replace_atomically(path) as beside:
        beside.write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def read(path: str | Path) -> dict[str, Table]:
    """Return the tables of a data file by name."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return {name: Table(**table) for name, table in found.items() if name != "note"}


if __name__ == "__main__":
    write(sys.argv[2], Path(sys.argv[1]).read_text(encoding="utf-8"))
