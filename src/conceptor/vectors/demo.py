"""The demonstration vectors as a source like any file, for commands that are given `demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.data.registry import demo_files
from conceptor.vectors.files import DEMO
from conceptor.vectors.source import BLOCK_BYTES, Chunk, LocatedChunk, VectorSource
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["DemoSource"]


class DemoSource(VectorSource):
    """GloVe 6B 50d (400,000 words by descending frequency) as the demo extra stores it."""

    format = "npy"

    def __init__(self) -> None:
        self._words, matrix = demo_files()
        self._array = np.load(matrix, mmap_mode="r", allow_pickle=False)
        super().__init__(matrix, self._array.shape[1], self._array.dtype)

    @property
    def name(self) -> str:
        """The name that stands for these vectors."""
        return DEMO

    def files(self) -> list[Path]:
        """Return the files that are read."""
        return [self.path, self._words]

    def _decode(self) -> Iterator[LocatedChunk]:
        from pyarrow import parquet

        column = parquet.read_table(self._words, columns=["index"]).column("index")
        step = max(1, BLOCK_BYTES // (4 * self.dimension))
        for start in range(0, len(self._array), step):
            rows = np.ascontiguousarray(self._array[start : start + step], dtype=np.float32)
            words = PackedWords.from_words(column[start : start + step].to_pylist())
            yield LocatedChunk(Chunk(words, rows), np.arange(start, start + len(rows)) + 1)
