"""The README is run, not read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("code", [code for language, code in BLOCKS if language == "python"])
def test_python_blocks_run(code, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(README), "exec"), {})


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if not link.startswith("http")]
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []


def test_the_two_commands_are_there() -> None:
    """.ci/run runs the second one word for word."""
    lines = [line for _, code in BLOCKS for line in code.splitlines() if "python3 -m venv" in line]
    assert [re.search(r"'\.\[(\w+)\]'", line)[1] for line in lines] == ["demo", "test"]
    assert all("-c constraints.txt" in line for line in lines)
