"""Keep figures apart from pages: turn Markdown with tables into a data file of docs/data.

    python benchmarks/data_files.py                             # data files older than their code
    python benchmarks/data_files.py review NAME ... -m REASON   # why they stay

`made` of a data file names the command, the version and the date that made it. It is stale if the
code of its method (CODE) was changed in a later commit and on a later day; tests/test_data_files.py
fails then. Measure it again, or say with `review` why the figures stay.

A data file holds tables by name. The name of a table is its headings, as in
`glove-6b-50d/analogies-accuracy`; a second table under one heading gets `-2`. Text before
the first heading is the file's note, text before a table is the table's text, and text after it is
its notes. The pages of docs/ show these tables folded, and docs/charts.py draws from them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from conceptor import __version__
from conceptor.base.files import replace_atomically

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data"
# The code of each data file's method, below src/conceptor.
WORD_METHODS = ("algebra", "methods.py", "fit.py", "weights.py", "evaluation")
CODE = {
    **dict.fromkeys(("lexicon", "paper", "ppmi", "results"), (*WORD_METHODS, "paper")),
    "attach": ("static_models",),
    "debiasing": ("concepts/debias.py", "concepts/expressions.py"),
    "dialogue": ("paper",),
    "inspect": (*WORD_METHODS, "inspection.py"),
    "smaller": (*WORD_METHODS, "vectors/formats/encoding.py", "vectors/search.py"),
    "search": ("concepts/query.py", "concepts/neighbors.py"),
    "sentences": ("sentences",),
    "static-models": ("static_models",),
    "scale": ("distributed",),
    "speed": ("vectors", "postprocessing.py"),
    "thresholds": ("algebra/background.py",),
}


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


def write(path: str | Path, markdown: str, command: str) -> None:
    """Write a page's tables as a data file, which names the command that made it."""
    write_tables(path, *parse(markdown), command)


def write_tables(path: str | Path, note: str, tables: dict[str, Table], command: str) -> None:
    """Write tables as a data file, one row per line."""
    made = {"command": command, "version": __version__, "date": date.today().isoformat()}
    _write(Path(path), made, note, {name: asdict(table) for name, table in tables.items()})


def _write(path: Path, made: dict[str, Any], note: str, tables: dict[str, dict[str, Any]]) -> None:
    parts = [f'"made": {_dump(made)}', f'"note": {_dump(note)}']
    for name, fields in tables.items():
        head = [f'"{key}": {_dump(fields[key])}' for key in ("title", "text", "notes", "columns")]
        rows = ",\n   ".join(map(_dump, fields["rows"]))
        head.append(f'"rows": [\n   {rows}\n  ]' if rows else '"rows": []')
        parts.append(f"{_dump(name)}: {{\n  " + ",\n  ".join(head) + "\n }")
    with replace_atomically(path) as beside:
        beside.write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def read(path: str | Path) -> dict[str, Table]:
    """Return the tables of a data file by name."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return {name: Table(**each) for name, each in content.items() if name not in ("made", "note")}


def _changed_after(path: Path, day: str) -> list[str]:
    """Return later commits, of a later day, that changed the code of a data file's method.

    Without git's history there are none.
    """

    def log(*arguments: str) -> list[str]:
        command = ["git", "-C", str(ROOT), "log", *arguments]
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()

    own = log("-1", "--format=%H", "--", str(path))
    code = [f"src/conceptor/{name}" for name in CODE.get(path.stem, WORD_METHODS)]
    if not own:
        return []
    commits = log("--no-merges", "--format=%as %h %s", f"{own[0]}..HEAD", "--", *code)
    return [commit for commit in commits if commit.split()[0] > day]


def stale(paths: list[Path]) -> dict[str, str]:
    """Return the data files that are older than the code of their method, and the last change.

    Those of an earlier script cannot be measured again; they have said so once.
    """
    found = {}
    for path in paths:
        made = json.loads(path.read_text(encoding="utf-8"))["made"]
        if re.search("earlier|separate", made["command"]):
            continue
        commits = _changed_after(path, max(made["date"], made.get("reviewed", "")))
        if commits:
            found[path.stem] = commits[0]
    return found


def review(name: str, reason: str) -> None:
    """Write into a data file why its figures stay although the code has changed."""
    path = DATA / f"{name}.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    made, note = content.pop("made"), content.pop("note")
    made |= {"reviewed": date.today().isoformat(), "because": reason}
    _write(path, made, note, content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=["review"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-m", "--reason")
    options = parser.parse_args()
    if options.what and not (options.names and options.reason):
        parser.error("name data files and a reason")
    for name in options.names:
        review(name, options.reason)
    for name, commit in stale(sorted(DATA.glob("*.json"))).items():
        print(f"{name} is older than its code: {commit}")


if __name__ == "__main__":
    main()
