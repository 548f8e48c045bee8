"""The command line: parse options, call the library, show results."""

from __future__ import annotations

import sys
from importlib import import_module

# The module of each command, in the order of --help: the order in which a newcomer needs them.
COMMANDS = {
    "compare": "evaluation",
    "inspect": "inspection",
    "postprocess": "files",
    "neighbors": "concepts",
    "explore": "explore",
    "evaluate": "evaluation",
    "fit": "files",
    "apply": "files",
    "convert": "files",
    "distill": "static_models",
    "attach": "static_models",
    "debias": "concepts",
    "reproduce": "paper",
    "data": "data",
    "methods": "inspection",
}

__all__ = ["main"]


def main() -> None:
    """Run the command line.

    If the command is known, only its module is imported: Typer reads the signature of every
    registered command, which takes longer than converting a small file.
    """
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    module = COMMANDS.get(words[0]) if words else None
    for name in [module] if module else dict.fromkeys(COMMANDS.values()):
        import_module(f"conceptor.cli.{name}")
    from conceptor.cli.app import main as run

    run()
