"""The command line: parse options, call the library, show results."""

from conceptor.cli import (  # noqa: F401 - registers their commands
    corpus,
    data,
    dialogue,
    evaluation,
    files,
    inspection,
    lexicon,
    methods,
    reproduction,
)
from conceptor.cli.app import main

__all__ = ["main"]
