"""One way through the house: a module imports from its own layer and from earlier ones."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import conceptor

ROOT = Path(conceptor.__file__).parent

# A new room must find its place in one of these layers.
LAYERS = [
    {"base"},
    {"algebra"},
    {"vectors", "data"},
    {"methods", "weights", "fit", "estimators"},
    {"postprocessing", "distributed", "sentences", "concepts", "integrations", "static_models"},
    {"evaluation", "inspection", "report"},
    {"paper"},
    {"cli", "explore", "__init__", "__main__"},
]  # fmt: skip
LAYER_OF = {room: number for number, layer in enumerate(LAYERS) for room in layer}


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def name_of_string(node: ast.expr) -> str:
    """The constant beginning of a string, as in import_module(f"conceptor.cli.{name}")."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def names_imported(path: Path) -> set[str]:
    """What a file imports anywhere: inside functions, for types only, or by string."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [name_of_string(argument) for argument in node.args[:1]]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        imported |= set(names)
    return imported


def rooms_imported(path: Path) -> set[str]:
    names = {name.split(".")[1] for name in names_imported(path) if name.startswith("conceptor.")}
    return names - {"__version__"}


FILES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def test_every_room_has_its_layer() -> None:
    assert {room(path) for path in FILES} | {"__init__"} == set(LAYER_OF)
    assert sum(map(len, LAYERS)) == len(LAYER_OF)
    assert len(set(LAYER_OF) - {"__init__", "__main__"}) <= 22


def test_imports_go_up_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {other}"
        for path in FILES
        for other in rooms_imported(path)
        if LAYER_OF.get(other, len(LAYERS)) > LAYER_OF[room(path)]
    ]
    assert wrong == []


def test_the_algebra_needs_nothing_but_numpy() -> None:
    for path in (ROOT / "algebra").glob("*.py"):
        roots = {name.split(".")[0] for name in names_imported(path)}
        assert not roots & {"scipy", "sklearn", "polars", "torch", "dask", "pandas"}, path


def test_the_rule_can_be_broken(tmp_path) -> None:
    """The negative control: an import against the flow is seen wherever it hides."""
    file = tmp_path / "x.py"
    file.write_text("def f():\n    from conceptor.cli.app import app\n    import conceptor.paper\n")
    assert rooms_imported(file) == {"cli", "paper"}


@pytest.mark.parametrize("layer", LAYERS[2:5], ids=lambda layer: min(layer))
def test_no_two_rooms_of_a_layer_need_each_other(layer) -> None:
    """Modules of one layer may use each other, but no two rooms each the other."""
    needs = {
        name: set().union(*(rooms_imported(p) for p in FILES if room(p) == name)) & layer - {name}
        for name in layer
    }
    mutual = [(a, b) for a in needs for b in needs[a] if a < b and a in needs[b]]
    assert mutual == []
