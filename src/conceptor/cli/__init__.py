"""The command line: parse, call, show."""

from conceptor.cli import files  # noqa: F401 - registers its commands
from conceptor.cli.app import main

__all__ = ["main"]
