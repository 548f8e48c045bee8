"""The page's scripts have types, which TypeScript checks if it is installed."""

from __future__ import annotations

import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

PAGE = Path(str(resources.files("conceptor.explore").joinpath("page")))


@pytest.fixture(scope="module")
def compiler() -> str:
    path = shutil.which("tsc")
    if path is None:
        pytest.skip("typescript is not installed (npm install -g typescript)")
    return path


def check(compiler: str, *files: Path) -> subprocess.CompletedProcess[str]:
    options = "--noEmit --allowJs --checkJs --strict --target es2022 --module es2022 "
    options += "--moduleResolution bundler --lib es2023,dom,dom.iterable --types"
    return subprocess.run(
        [compiler, *options.split(), "", *map(str, files)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_scripts_are_typed(compiler):
    done = check(compiler, *sorted(PAGE.glob("*.js")))
    assert done.returncode == 0, done.stdout


def test_the_checker_sees_a_wrong_name(compiler, tmp_path):
    (tmp_path / "wrong.js").write_text(
        "// @ts-check\n/** @type {number} */\nconst n = 'text';\nn.nothing();\n"
    )
    assert check(compiler, tmp_path / "wrong.js").returncode != 0
