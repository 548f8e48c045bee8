"""The command line: parse options, call the library, show results."""

from __future__ import annotations

import sys
from importlib import import_module

# The module of each command, in the order of --help: the order in which a newcomer needs them.
COMMANDS = {
    "postprocess": "files",
    "inspect": "inspection",
    "compare": "evaluation",
    "neighbors": "inspection",
    "explore": "explore",
    "debias": "concepts",
    "align": "concepts",
    "fit": "files",
    "apply": "files",
    "convert": "files",
    "distill": "static_models",
    "attach": "attaching",
    "evaluate": "evaluation",
    "reproduce": "evaluation",
    "train-ppmi": "training",
    "dialogue": "dialogue",
    "counterfit": "training",
    "methods": "inspection",
    "data": "data",
    "doctor": "system",
    "man": "system",
}

__all__ = ["main"]


def main() -> None:
    """Run the command line.

    If the command is known, only its module is imported: Typer reads the signature of every
    registered command, which takes longer than converting a small file.
    """
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    for module in {COMMANDS[command]} if command in COMMANDS else set(COMMANDS.values()):
        import_module(f"conceptor.cli.{module}")
    from conceptor.cli.app import main as run

    run()
