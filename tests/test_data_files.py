"""Tables of Markdown become data files, and lose nothing on the way."""

from __future__ import annotations

import data_files

PAGE = """# A page

Written by a command.

## One

What it is about.

| a | b |
|---|---:|
| x | **1** [0, 2] |
| y \\| z | 2 |

- a note

## Two

### Below

| a | b |
| --- | ---: |
| x | 1 |

between

| c |
|---|
| w |

## Three

Only text.
"""


def test_tables_have_the_names_of_their_headings(tmp_path) -> None:
    note, tables = data_files.parse(PAGE)
    assert note == "Written by a command."
    assert list(tables) == ["one", "two/below", "two/below-2", "three"]
    one = tables["one"]
    assert (one.title, one.text, one.notes) == ("One", "What it is about.", "- a note")
    assert (one.columns, one.rows) == (["a", "b"], [["x", "**1** [0, 2]"], ["y \\| z", "2"]])
    assert tables["two/below-2"].text == "between"
    assert (tables["three"].rows, tables["three"].text) == ([], "Only text.")
    data_files.write(tmp_path / "page.json", PAGE)
    assert data_files.read(tmp_path / "page.json") == tables


def test_equal_headings_do_not_overwrite_each_other() -> None:
    table = "| a |\n|---|\n| x |\n"
    _, tables = data_files.parse(f"## S\n\n#### T\n\n{table}\n#### T\n\n{table.replace('x', 'y')}")
    assert [each.rows for each in tables.values()] == [[["x"]], [["y"]]]
