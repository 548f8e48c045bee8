"""The command line: parse, call, show."""

from conceptor.cli import data, evaluation, files  # noqa: F401 - registers their commands
from conceptor.cli.app import main

__all__ = ["main"]
