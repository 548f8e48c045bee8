"""The command line: parse options, call the library, show results."""

from __future__ import annotations

# The module of each command, in the order of --help: the order in which a newcomer needs them.
COMMANDS = {
    "compare": "evaluation",
    "inspect": "inspection",
    "postprocess": "files",
    "neighbors": "concepts",
    "explore": "inspection",
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
