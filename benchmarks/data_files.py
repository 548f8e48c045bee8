"""Keep figures apart from pages: turn Markdown with tables into a data file of docs/data.

A data file holds tables by name. The name of a table is its headings, as in
`glove-6b-50d/analogies-accuracy`; a second table under one heading gets `-2`. Text before
the first heading is the file's note, text before a table is the table's text, and text after it is
its notes. The pages of docs/ show these tables folded, and docs/charts.py draws from them.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from conceptor.base.files import replace_atomically


@dataclass
class Table:
    """One table: its heading, its text and notes, and its cells as printed."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    text: str = ""
    notes: str = ""


def parse(markdown: str) -> tuple[str, dict[str, Table]]:
    """Return the text before the first heading, and the tables of a page by name."""
    note: list[str] = []
    tables: dict[str, Table] = {}
    titles: dict[int, str] = {}  # by level, without the page's own
    lines = note
    sections = []
    for line in markdown.splitlines():
        heading = re.match(r"(#+) (.*)", line)
        if heading:
            level = len(heading[1])
            above = {k: title for k, title in titles.items() if k < level}
            titles = above | {level: heading[2]} if level > 1 else {}
            lines = [] if titles else note
            sections.append((titles, lines))
        else:
            lines.append(line)
    for headings, content in sections:
        if headings:
            _read_section(list(headings.values()), content, tables)
    return "\n".join(note).strip(), tables


def _read_section(titles: list[str], lines: list[str], tables: dict[str, Table]) -> None:
    name = "/".join(map(slug, titles))
    text: list[str] = []
    table: Table | None = None
    is_inside = False
    for line in lines:
        if not line.startswith("|"):
            is_inside = False
            text.append(line)
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        if not is_inside:
            table, text, is_inside = Table(titles[-1], cells, [], _clean(text)), [], True
            count = sum(each == name or each.startswith(f"{name}-") for each in tables)
            tables[f"{name}-{count + 1}" if name in tables else name] = table
        elif table is not None and not set(line) <= set("|-: "):
            table.rows.append(cells)
    if table is not None:
        table.notes = _clean(text)
    elif _clean(text):  # text without a table stays too
        tables[name] = Table(titles[-1], [], [], _clean(text))


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
        fields = asdict(table)
        head = [f'"{key}": {_dump(fields[key])}' for key in ("title", "text", "notes", "columns")]
        rows = ",\n   ".join(map(_dump, table.rows))
        head.append(f'"rows": [\n   {rows}\n  ]' if rows else '"rows": []')
        parts.append(f"{_dump(name)}: {{\n  " + ",\n  ".join(head) + "\n }")
    with replace_atomically(path) as beside:
        beside.write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def read(path: str | Path) -> dict[str, Table]:
    """Return the tables of a data file by name."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return {name: Table(**table) for name, table in content.items() if name != "note"}
