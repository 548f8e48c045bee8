"""Tables of Markdown become data files; every data file names its origin, and is not stale."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import date

import data_files
import pytest
from data_files import ROOT

from conceptor.base.display import format_signed

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
    data_files.write(tmp_path / "page.json", PAGE, "a command")
    assert data_files.read(tmp_path / "page.json") == tables


def test_equal_headings_do_not_overwrite_each_other() -> None:
    table = "| a |\n|---|\n| x |\n"
    _, tables = data_files.parse(f"## S\n\n#### T\n\n{table}\n#### T\n\n{table.replace('x', 'y')}")
    assert [each.rows for each in tables.values()] == [[["x"]], [["y"]]]


@pytest.mark.parametrize("path", sorted(data_files.DATA.glob("*.json")), ids=lambda path: path.stem)
def test_a_data_file_names_what_made_it(path) -> None:
    made = json.loads(path.read_text(encoding="utf-8"))["made"]
    scripts = re.findall(r"python (benchmarks/\w+\.py)", made["command"])
    assert scripts or re.search("earlier|separate", made["command"])
    assert [script for script in scripts if not (ROOT / script).exists()] == []
    assert made["version"]
    assert date.fromisoformat(made["date"])
    assert ("reviewed" in made) == ("because" in made)


def test_the_readmes_example_is_that_of_the_data() -> None:
    """The verdict and the table that `conceptor compare` prints for the demo."""
    shown = (ROOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    verdict = " ".join(shown.split())
    tables = data_files.read(data_files.DATA / "evidence.json")
    table = tables["the-default-against-the-original-by-vectors"]
    assert table.rows[0][0] == "GloVe 6B 50d"
    for family, cell in zip(table.columns[1:], table.rows[0][1:], strict=True):
        gain = format_signed(float(cell.split()[0].replace("−", "-")), 1)
        is_level = cell.endswith("level")
        assert (family if is_level else f"{family} ({gain})") in verdict
        assert not (is_level and f"{family} (" in verdict)
    means = {row[0]: row[1] for row in tables["every-set-of-vectors/glove-6b-50d"].rows}
    (line,) = (line for line in shown.splitlines() if line.startswith(" mean"))
    assert line.split()[1:] == [means[m] for m in ("original", "abtt", "cn-paper", "cn")]


# Clusters and speed depend on the machine; their pages say more than their tables.
STUDIES = [
    path
    for path in sorted(data_files.DATA.parent.glob("[es]*/*.md"))  # explanations and studies
    if "data/" in path.read_text(encoding="utf-8") and path.stem not in ("scale", "speed")
]


@pytest.mark.parametrize("page", STUDIES, ids=lambda page: page.stem)
def test_every_figure_of_a_study_is_in_a_data_file_that_it_shows(page) -> None:
    text = page.read_text(encoding="utf-8")
    files = {data_files.DATA / name for name in re.findall(r"data/([\w-]+\.json)#", text)}
    data = "".join(file.read_text(encoding="utf-8") for file in files).replace(",", "")
    numbers = set(re.findall(r"\d+\.\d+", data))
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    for figure in re.findall(r"(?<![\w.])\d+\.\d+(?!\w*\.\d)", prose.replace(",", "")):
        digits = len(figure.split(".")[1])
        rounded = {f"{float(number) + 1e-9:.{digits}f}" for number in numbers}
        lower = {f"{float(number) - 1e-9:.{digits}f}" for number in numbers}  # halves
        assert figure in numbers | rounded | lower, figure


def test_no_data_file_is_older_than_its_code() -> None:
    """`python benchmarks/data_files.py review NAME -m REASON` says why one may be."""
    assert data_files.stale(sorted(data_files.DATA.glob("*.json"))) == {}


def test_a_change_of_the_code_makes_data_stale_until_it_is_reviewed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(data_files, "ROOT", tmp_path)
    monkeypatch.setattr(data_files, "DATA", tmp_path)
    path, code = tmp_path / "figures.json", tmp_path / "src" / "conceptor" / "methods.py"
    code.parent.mkdir(parents=True)

    def commit(day: str) -> None:
        git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "c", "--date", f"{day} 12:00:00"], check=True)

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    code.write_text("1")
    data_files.write(path, PAGE, "a command")
    today = date.today()
    commit(today.isoformat())
    code.write_text("2")
    commit(today.isoformat())  # the work of one day
    assert data_files.stale([path]) == {}
    code.write_text("3")
    commit(today.replace(year=today.year + 1, day=1).isoformat())
    assert list(data_files.stale([path])) == ["figures"]
    made = path.read_text()
    path.write_text(made.replace("a command", "an earlier script"))
    assert data_files.stale([path]) == {}  # nobody can measure it again
    path.write_text(made)
    data_files.review("figures", "only a comment")
    commit(today.isoformat())
    assert data_files.stale([path]) == {}
    assert data_files.read(path) == data_files.parse(PAGE)[1]
    assert json.loads(path.read_text())["made"]["because"] == "only a comment"
