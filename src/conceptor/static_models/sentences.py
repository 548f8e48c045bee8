"""The sentences that a table is fitted to: read, drawn, or stored with their vectors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.static_models.sources import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Sentences", "open_sentences", "read_sentences"]

# Synthetic text: the number of sampled sentences, and of words in each.
DRAWN = "drawn:"
_DRAWN_LENGTHS = (6, 14)
# Files that hold texts with their vectors.
_TABLES = (".parquet", ".feather", ".arrow")

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Sentences:
    """Texts, their stored vectors if there are any, and whether the texts were drawn."""

    texts: list[str]
    vectors: NDArray[Any] | None = None
    drawn: bool = False


def open_sentences(
    sentences: str | os.PathLike[str] | Iterable[str] | None,
    vectors: ArrayLike | None,
    counts: Mapping[str, float] | None,
    most: int,
    columns: tuple[str | None, str | None] = (None, None),
) -> Sentences | None:
    """Return the sentences to fit to; None without any.

    `counts` are the word frequencies for drawn sentences; `columns` names the texts and the vectors
    of a table.
    """
    if most < 1:
        raise InvalidInputError(f"most_sentences must be at least 1, not {most}")
    if vectors is not None:
        return _stored_sentences(sentences, vectors, most)
    if isinstance(sentences, str) and sentences.startswith(DRAWN):
        return Sentences(_draw_sentences(sentences, counts, most), drawn=True)
    if isinstance(sentences, str | os.PathLike) and Path(sentences).suffix in _TABLES:
        return _read_store(Path(sentences), most, columns)
    if any(columns):
        raise InvalidInputError(
            Setting("column"), " and ", Setting("text_column"), " are for sentences in a table"
        )
    return None if sentences is None else Sentences(read_sentences(sentences, most))


def read_sentences(source: str | os.PathLike[str] | Iterable[str], most: int) -> list[str]:
    """Return at most `most` sentences, spread evenly over a file, a folder or an iterable."""
    lines = read_lines(source) if isinstance(source, str | os.PathLike) else source
    texts = _spread((text for line in lines if (text := line.strip())), most)
    if not texts:
        where = source if isinstance(source, str | os.PathLike) else "sentences"
        raise InvalidInputError(f"{where}: contains no sentences")
    return texts


def _spread(items: Iterable[T], most: int) -> list[T]:
    """Keep every item, then every second, every fourth, ..., so that at most `most` remain."""
    kept: list[T] = []
    stride = 1
    for number, item in enumerate(items):
        if number % stride == 0:
            kept.append(item)
            if len(kept) > most:
                kept, stride = kept[::2], 2 * stride
    return kept


def _read_store(path: Path, most: int, columns: tuple[str | None, str | None]) -> Sentences:
    """Read texts with their vectors from a table, spread evenly over it."""
    from conceptor.integrations.stores import open_store

    store = open_store(path, text_column=columns[0], column=columns[1])
    pairs = (
        (text, row.copy())  # a view would keep its whole batch in memory
        for texts, rows in store.chunks()
        for text, row in zip(texts, np.asarray(rows), strict=True)
        if text.strip()
    )
    kept = _spread(pairs, most)
    if not kept:
        raise InvalidInputError(f"{path}: contains no sentences")
    texts, rows = zip(*kept, strict=True)
    return Sentences(list(texts), np.array(rows, dtype=np.float32))


def _stored_sentences(sentences: object, vectors: ArrayLike, most: int) -> Sentences:
    """Return sentences with their stored vectors, spread evenly over all."""
    if sentences is None or isinstance(sentences, str | os.PathLike):
        raise InvalidInputError(
            Setting("sentence_vectors"), " needs ", Setting("sentences"), " as a list of texts"
        )
    texts = list(cast("Iterable[str]", sentences))
    matrix = as_matrix(vectors, "sentence_vectors")
    if len(texts) != len(matrix):
        raise InvalidInputError(f"{len(texts)} sentences but {len(matrix)} sentence_vectors")
    if not np.isfinite(matrix).all():
        raise InvalidInputError("sentence_vectors contain NaN or infinity; embed these texts again")
    step = -(-len(texts) // most)
    return Sentences(texts[::step], matrix[::step])


def _draw_sentences(asked: str, counts: Mapping[str, float] | None, most: int) -> list[str]:
    """Return sentences of unrelated words; the same for every call."""
    number = asked.removeprefix(DRAWN)
    if not (number.isascii() and number.isdigit() and int(number)):
        raise InvalidInputError(f"expected sentences drawn:N, not {asked}")
    if counts is None:
        raise InvalidInputError(f'{asked} draws words by frequency; weights cannot be "sentences"')
    generator = np.random.default_rng(0)
    shortest, longest = _DRAWN_LENGTHS
    lengths = generator.integers(shortest, longest + 1, size=min(int(number), most))
    shares = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    places = generator.choice(len(counts), size=int(lengths.sum()), p=shares / shares.sum())
    words = iter(np.array(list(counts), dtype=object)[places].tolist())
    return [" ".join(islice(words, length)) for length in lengths.tolist()]
