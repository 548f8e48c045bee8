"""The command line: parse options, call the library, show results."""

from __future__ import annotations

import sys
from importlib import import_module

# Which module holds which commands, in the order in which a newcomer meets them.
_MODULES = {
    "files": ("postprocess", "fit", "apply", "convert"),
    "inspection": ("inspect",),
    "evaluation": ("compare", "evaluate"),
    "neighbours": ("neighbors",),
    "reproduction": ("reproduce",),
    "corpus": ("train-ppmi",),
    "data": ("data",),
    "dialogue": ("dialogue",),
    "lexicon": ("counterfit",),
    "methods": ("methods",),
}

__all__ = ["main"]


def main() -> None:
    """Run the command line.

    Where the command is known its module alone is imported: Typer reads the signature of every
    command that is registered, which takes longer than converting a small file.
    """
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    found = [module for module, commands in _MODULES.items() if command in commands]
    for module in found or _MODULES:
        import_module(f"conceptor.cli.{module}")
    from conceptor.cli.app import main as run

    run()
