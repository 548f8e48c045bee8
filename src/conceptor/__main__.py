"""`python -m conceptor`."""

from conceptor.cli import main

main()
