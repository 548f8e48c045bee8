"""Marks for tests of what not every system has."""

from __future__ import annotations

import os
import sys

import pytest


def posix_only(reason: str) -> pytest.MarkDecorator:
    """Skip a test on Windows."""
    return pytest.mark.skipif(os.name != "posix", reason=f"POSIX only: {reason}")


def linux_only(reason: str) -> pytest.MarkDecorator:
    """Skip a test on systems other than Linux."""
    return pytest.mark.skipif(not sys.platform.startswith("linux"), reason=f"Linux only: {reason}")
