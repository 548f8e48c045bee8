"""Polars: a frame with a column of words, and lists of numbers or a column for each dimension."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars

from conceptor.integrations.arrow import open_arrow_table

if TYPE_CHECKING:
    from conceptor.integrations.opened import Opened


def open_frame(frame: polars.DataFrame) -> Opened:
    """Open a frame by way of Arrow, which shares its memory."""
    opened = open_arrow_table(frame.to_arrow())
    rebuild = opened.rebuild
    return replace(opened, rebuild=lambda fitted: polars.from_arrow(rebuild(fitted)))
