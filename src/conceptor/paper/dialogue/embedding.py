"""Unit vectors for the words of a corpus, including out-of-vocabulary words."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.paper.dialogue.woz import Corpus, phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.table import WordVectors


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of a corpus's distinct words, and of all spoken words, that have a vector."""

    types: int
    types_total: int
    spoken: int
    spoken_total: int

    @property
    def share(self) -> float:
        """Covered share of the words spoken."""
        return self.spoken / self.spoken_total if self.spoken_total else 0.0

    def __str__(self) -> str:
        return (
            f"{self.types:,} of {self.types_total:,} words, {self.share:.1%} of the "
            f"{self.spoken_total:,} spoken"
        )


@dataclass(frozen=True, eq=False)
class Embedding:
    """A unit vector for any word.

    A word without a vector, or with a zero vector, gets a random one drawn from a stable hash of
    the word and the salt: the same in every process and on every machine.
    """

    words: Sequence[str]
    units: NDArray[np.float32]
    salt: str = ""
    _rows: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {word: row for row, word in enumerate(self.words)})

    @classmethod
    def from_vectors(cls, vectors: WordVectors, words: Iterable[str]) -> Embedding:
        """Return the unit vectors of the words that have one."""
        wanted = sorted(set(words))
        rows = vectors.rows(wanted)
        held = np.flatnonzero(rows >= 0)
        found = np.asarray(vectors.vectors[rows[held]], dtype=np.float64)
        some = found.any(axis=1)
        kept = [wanted[i] for i in held[some]]
        if not kept:
            raise InvalidInputError(
                "the vectors contain none of the dialogues' words; check that they are English"
            )
        return cls(kept, unit_rows(found[some]).astype(np.float32))

    @classmethod
    def random(cls, dimension: int, seed: int) -> Embedding:
        """Return random vectors for all words, as a control."""
        return cls([], np.empty((0, dimension), dtype=np.float32), f"random {seed}")

    @property
    def dimension(self) -> int:
        """The number of dimensions."""
        return int(self.units.shape[1])

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def vector(self, word: str) -> NDArray[np.float32]:
        """Return the word's unit vector."""
        if word in self._rows:
            return np.asarray(self.units[self._rows[word]])
        digest = hashlib.blake2b(f"{self.salt}\0{word}".encode(), digest_size=16).digest()
        drawn = np.random.default_rng(int.from_bytes(digest)).standard_normal(self.dimension)
        return np.asarray(drawn / np.linalg.norm(drawn), dtype=np.float32)

    def table(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return a row for each word."""
        rows = [self.vector(word) for word in words]
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def phrase_vector(self, slot_or_value: str) -> NDArray[np.float32]:
        """Return the plain sum of the vectors of a phrase."""
        return np.asarray(self.table(phrase(slot_or_value)).sum(axis=0))

    def signature(self) -> list[float]:
        """Return four numbers that identify these vectors, independent of rounding."""
        dimension = [float(self.dimension)]
        if not len(self.words):
            return dimension
        places = np.arange(1, self.units.size + 1, dtype=np.float64).reshape(self.units.shape)
        steps = (1.0, 2.0, 3.0)
        return dimension + [float(np.sum(self.units * np.sin(places * step))) for step in steps]

    def coverage(self, corpus: Corpus) -> Coverage:
        """Return how much of a corpus these vectors cover."""
        types, spoken = corpus.words, corpus.spoken
        known = [sum(word in self for word in words) for words in (types, spoken)]
        return Coverage(known[0], len(types), known[1], len(spoken))
