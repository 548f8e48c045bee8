"""Run the command line with ``python -m conceptor``."""

from conceptor.cli import main

main()
