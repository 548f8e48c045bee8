"""The page's scripts have types, which TypeScript checks where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

PAGE = Path(str(resources.files("conceptor.explore").joinpath("page")))


def find_typescript() -> list[str] | None:
    """Return the compiler: on the path, or as npm keeps it for `npx --offline`."""
    if tsc := shutil.which("tsc"):
        return [tsc]
    npx = shutil.which("npx")
    if npx is None:
        return None
    try:
        found = subprocess.run(
            [npx, "--offline", "--yes", "-p", "typescript", "tsc", "--version"],
            capture_output=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return [npx, "--offline", "--yes", "-p", "typescript", "tsc"] if found.returncode == 0 else None


@pytest.fixture(scope="module")
def compiler() -> list[str]:
    found = find_typescript()
    if found is None:
        pytest.skip("typescript is not installed (npm install -g typescript)")
    return found


def check(compiler: list[str], *files: Path) -> subprocess.CompletedProcess[str]:
    options = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022"]
    options += [
        "--module",
        "es2022",
        "--moduleResolution",
        "bundler",
        "--lib",
        "es2023,dom,dom.iterable",
    ]
    options += ["--types", ""]
    return subprocess.run(
        [*compiler, *options, *map(str, files)],
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


def test_every_script_asks_to_be_checked():
    for path in PAGE.glob("*.js"):
        assert path.read_text(encoding="utf-8").startswith("// @ts-check\n"), path.name
