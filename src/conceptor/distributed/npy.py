"""Shards that are bare `.npy` matrices; a words file next to one is copied along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.distributed.content import Layout, Need, Rows, batch_rows, empty_words, map_rows
from conceptor.vectors.npy import make_header, read_exactly, read_header
from conceptor.vectors.words_file import words_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.distributed.storage import Place
    from conceptor.vectors.npy import Header

# A shard is split at multiples of about this many bytes.
_CUT_BYTES = 32 << 20


class NpyContent:
    """A matrix in C order, in which any row can be seeked to."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def _header(self) -> Header:
        with self._place.open() as file:
            found = read_header(file, self._place)
        if found.fortran:
            raise InvalidInputError(
                f"{self._place}: stored in Fortran order, so single rows cannot be read; "
                "save np.ascontiguousarray of it instead"
            )
        need = found.start + found.rows * found.columns * found.dtype.itemsize
        held, _ = self._place.state()
        if held < need or not found.columns:
            raise InvalidInputError(
                f"{self._place}: {found.rows} × {found.columns} {found.dtype} need {need} bytes, "
                f"the file has {held}; save it again"
            )
        return found

    def layout(self) -> Layout:
        """Read the header."""
        found = self._header()
        row_bytes = found.columns * found.dtype.itemsize
        step = max(1, _CUT_BYTES // row_bytes)
        cuts = (*range(0, found.rows, step), found.rows)
        return Layout(found.rows, found.columns, row_bytes, cuts)

    def read(self, start: int, stop: int | None, need: Need) -> Iterator[Rows]:
        """Yield rows; there are only vectors here."""
        if need.words or need.weights is not None:
            wanted = "words" if need.words else f"column {need.weights}"
            raise InvalidInputError(f"{self._place}: a .npy array has no {wanted}; use Parquet")
        found = self._header()
        width = found.columns * found.dtype.itemsize
        stop = found.rows if stop is None else stop
        step = batch_rows(width)
        with self._place.open() as file:
            file.seek(found.start + start * width)
            for first in range(start, stop, step):
                rows = np.empty((min(step, stop - first), found.columns), dtype=found.dtype)
                read_exactly(file.readinto, rows.reshape(-1), self._place)  # type: ignore[attr-defined]
                native = rows.astype(found.dtype.newbyteorder("="), copy=False)
                yield Rows(native, empty_words(len(rows)))

    def rewrite(self, map_: AffineMap, path: Path, report: Callable[[int], None]) -> int:
        """Write a header, then rows of the same dtype."""
        found = self._header()
        done = 0
        with path.open("wb") as file:
            file.write(make_header(found.rows, map_.n_out, found.dtype, found.check))
            for rows in self.read(0, None, Need()):
                image = map_rows(map_, rows.vectors, self._place, done)
                file.write(image.astype(found.dtype.newbyteorder("<"), copy=False).data)
                done += len(image)
                report(done)
        return done


def words_beside(place: Place) -> Place | None:
    """Return the words file of an array, if there is one."""
    if not place.name.endswith(".npy"):
        return None
    words = place.parent / words_path(Path(place.name)).name
    return words if words.exists() else None
