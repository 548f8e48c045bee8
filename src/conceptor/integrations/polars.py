"""Polars: a frame with a column of lists, or one column per dimension; other columns are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars

from conceptor.integrations.arrow import read_table
from conceptor.integrations.opened import Opened, open_labelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conceptor.vectors.columns import Asked


def open_frame(frame: polars.DataFrame, column: Asked = None) -> Opened:
    """Open a frame through Arrow, which shares its memory."""
    # Arrow cannot hold Python objects, and these are not vectors.
    table = frame.select(polars.exclude(polars.Object)).to_arrow()
    found = read_table(table, column, "DataFrame")

    def rebuild(rows: NDArray[Any]) -> polars.DataFrame:
        _, new = found.replaced(table.schema, rows)
        made = [polars.Series(name, polars.from_arrow(array)) for name, array in new.items()]
        gone = [name for name in found.columns if name not in new]
        return frame.drop(gone).with_columns(made)

    return open_labelled(found.labels, found.matrix, rebuild)
