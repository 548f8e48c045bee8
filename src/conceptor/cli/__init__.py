"""The command line: parse, call, show."""

from conceptor.cli.app import main

__all__ = ["main"]
