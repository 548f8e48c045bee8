"""Shards in the project's own formats with words in them: word2vec and GloVe, text or binary."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.distributed.content import Layout, Need, Rows
from conceptor.vectors.conversion import convert
from conceptor.vectors.detect import STREAMED
from conceptor.vectors.files import open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.distributed.storage import Place
    from conceptor.vectors.source import VectorSource


class WordFileContent:
    """A file of words and vectors, read from its beginning to its end."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @contextmanager
    def _opened(self) -> Iterator[VectorSource]:
        with self._place.local_copy() as path:
            try:
                source = open_vectors(path)
                if source.format not in STREAMED:
                    raise InvalidInputError(
                        f"{path}: {source.format} does not come in shards; write .parquet or .npy"
                    )
                yield source
            except InvalidInputError as error:
                if self._place.is_local:
                    raise
                raise InvalidInputError(str(error).replace(str(path), str(self._place))) from None

    def layout(self) -> Layout:
        """Look at the beginning; how many rows there are only a pass would tell."""
        with self._opened() as source:
            return Layout(None, source.dimension, 4 * source.dimension, (0,))

    def count(self) -> int:
        """Read all of it to count the vectors."""
        with self._opened() as source:
            return sum(len(chunk.words) for chunk in source.chunks())

    def read(self, start: int, stop: int | None, need: Need) -> Iterator[Rows]:
        """Yield all rows."""
        if need.weights is not None:
            raise InvalidInputError(
                f"{self._place}: has words and vectors but no column {need.weights}; use Parquet"
            )
        with self._opened() as source:
            for chunk in source.chunks():
                yield Rows(chunk.vectors, chunk.words)

    def rewrite(self, map_: AffineMap, path: Path, told: Callable[[int], None]) -> int:
        """Write the same format and compression."""

        def heard(label: str, fraction: float | None, words: int) -> None:
            told(words)

        with self._opened() as source:
            return convert(source, path, map_, format=source.format, progress=heard).words
