"""The command line: parse, call, show."""

from conceptor.cli import data, evaluation, files, inspection  # noqa: F401 - registers them
from conceptor.cli.app import main

__all__ = ["main"]
