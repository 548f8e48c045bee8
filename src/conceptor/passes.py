"""Chunks on their way through a pass: watched, kept for the next pass, or cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conceptor.progress import Progress
    from conceptor.vectors.source import Chunk, VectorSource


class Kept:
    """Chunks kept between the passes, as long as they fit a number of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: list[Chunk] | None = []
        self._size = 0

    def keeping(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Pass chunks on, keeping them; give all up once they exceed the limit."""
        for chunk in chunks:
            self._size += chunk.vectors.nbytes + chunk.words.nbytes
            if self._size > self._limit:
                self._chunks = None
            elif self._chunks is not None:
                self._chunks.append(chunk)
            yield chunk

    def release(self) -> list[Chunk] | None:
        """Return everything, if everything was kept."""
        chunks, self._chunks = self._chunks, None
        return chunks


def shown(chunks: list[Chunk], progress: Progress) -> Iterator[Chunk]:
    """Hand out kept chunks, freeing each as it goes."""
    total = len(chunks)
    chunks.reverse()
    words = 0
    while chunks:
        chunk = chunks.pop()
        words += len(chunk.words)
        progress("writing", 1 - len(chunks) / total, words)
        yield chunk


def watched(source: VectorSource, label: str, progress: Progress) -> Iterator[Chunk]:
    """Read a source's chunks, telling how far it is."""
    words = 0
    for chunk in source.chunks():
        words += len(chunk.words)
        progress(label, source.fraction_read(), words)
        yield chunk


def until(chunks: Iterator[Chunk], top: int | None) -> Iterator[Chunk]:
    """Stop reading where no further word takes part."""
    words = 0
    for chunk in chunks:
        yield chunk
        words += len(chunk.words)
        if top is not None and words >= top:
            return
