"""Run the command line, also with ``python -m conceptor``."""

from __future__ import annotations

import sys


def main() -> None:
    """Import and run it; a Ctrl-C meanwhile ends it quietly."""
    try:
        from conceptor.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
