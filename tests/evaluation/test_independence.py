"""Evaluation knows nothing of how vectors were made."""

from __future__ import annotations

import ast
from pathlib import Path

import conceptor.evaluation

ALLOWED = {"errors", "progress", "vectors", "datasets", "evaluation"}


def test_evaluation_imports_no_room_in_which_vectors_are_made():
    for path in Path(conceptor.evaluation.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "conceptor":
                imported = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("conceptor."):
                imported = {node.module.split(".")[1]}
            else:
                continue
            assert imported <= ALLOWED, path
