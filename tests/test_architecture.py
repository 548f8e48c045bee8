"""One way through the house: a module imports only from rooms before its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import conceptor

ROOT = Path(conceptor.__file__).parent

# The rooms in the order in which data flows. A new module must find its place here.
FLOW = [
    "errors",
    "arrays",
    "atomic",
    "progress",
    "moments",
    "spectrum",
    "gates",
    "aperture",
    "conceptors",
    "linear_map",
    "usage",
    "spectral",
    "estimators",
    "vectors",
    "passes",
    "postprocess",
    "distributed",
    "corpus",
    "lexicon",
    "downloads",
    "datasets",
    "evaluation",
    "estimation",
    "chains",
    "frequencies",
    "spelling",
    "encoder_file",
    "sentences",
    "methods",
    "comparison",
    "sentence_comparison",
    "dialogue_comparison",
    "plots",
    "inspection",
    "report",
    "report_page",
    "dialogue_report",
    "reproduction",
    "cli",
    "__main__",
]


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def rooms_imported(path: Path) -> set[str]:
    """Rooms a file imports anywhere, also inside functions and for types only."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("conceptor.")}
    return rooms - {"__version__"}


FILES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def test_every_module_has_its_place() -> None:
    assert {room(path) for path in FILES} == set(FLOW)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_flow(path) -> None:
    before = FLOW[: FLOW.index(room(path)) + 1]
    assert rooms_imported(path) <= set(before)


def test_evaluation_knows_nothing_of_how_vectors_are_made() -> None:
    rooms = set().union(*(rooms_imported(path) for path in FILES if room(path) == "evaluation"))
    # atomic: trained trackers are saved.
    assert rooms == {"errors", "atomic", "progress", "vectors", "datasets", "evaluation"}


def test_the_rule_can_be_broken(tmp_path) -> None:
    """The negative control: an import against the flow is seen wherever it hides."""
    file = tmp_path / "x.py"
    file.write_text("def f():\n    from conceptor.cli.app import app\n    import conceptor.plots\n")
    assert rooms_imported(file) == {"cli", "plots"}
