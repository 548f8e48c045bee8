"""The command line: parse, call, show."""

from conceptor.cli import data, evaluation
from conceptor.cli.app import main

__all__ = ["data", "evaluation", "main"]
