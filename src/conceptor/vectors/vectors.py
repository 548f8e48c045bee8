"""`Vectors`: the questions that every kind of input answers, and the chunks it yields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["RowKind", "Vectors", "WrappedVectors"]

# This many first words show whether a file is sorted by frequency, and whether counts match it.
SAMPLE = 2000


class RowKind(StrEnum):
    """What one row stands for; it decides the default method and how rows are weighted."""

    WORDS = "words"
    TOKENS = "tokens"  # of a tokenizer, whose order says nothing about frequency
    TEXTS = "texts"  # whole texts, or rows about which nothing is known


class Vectors(ABC):
    """Labelled rows that can be read any number of times.

    Files, tables in memory, static models, shards and the objects of other libraries are all
    `Vectors`, so a method treats them the same. A kind of input overrides what it knows better
    than the defaults below; `WrappedVectors` passes every question on.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What results and messages call these vectors."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The length of a vector."""

    @property
    def count(self) -> int | None:
        """How many rows there are; None until a pass is complete, if only that can tell."""
        return None

    @property
    def has_words(self) -> bool:
        """Whether rows have labels: words, tokens or texts."""
        return True

    @property
    def kind(self) -> RowKind:
        """What a row stands for."""
        return RowKind.WORDS if self.has_words else RowKind.TEXTS

    @property
    def kind_evidence(self) -> str:
        """What of the labels decided the kind; empty if the input leaves no choice."""
        return ""

    @property
    def counts(self) -> Mapping[str, float] | None:
        """How often words occur in text, if the input knows."""
        return None

    def token_counts(self, counts: Mapping[str, float]) -> Mapping[str, float]:
        """Return counts of this input's labels from counts of words; differs for tokens."""
        return counts

    @property
    def ranked(self) -> bool:
        """Whether the order of rows may be that of frequency."""
        return True

    @property
    def language(self) -> str:
        """The language of the words, as a code such as `fr`; empty if unknown."""
        return ""

    @property
    def worth_keeping(self) -> bool:
        """Whether reading again costs more than keeping the rows in memory."""
        return False

    def files(self) -> list[Path]:
        """Return the files that are read, which must not be overwritten."""
        return []

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got, if known."""
        return None

    @abstractmethod
    def chunks(self) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield labels and rows in order."""

    def first_words(self) -> list[str]:
        """Return the first `SAMPLE` labels."""
        found: list[str] = []
        for words, _ in self.chunks():
            found.extend(words[: SAMPLE - len(found)])
            if len(found) >= SAMPLE:
                break
        return found


class WrappedVectors(Vectors):
    """Vectors that pass every question on to others; a test compares the two classes."""

    def __init__(self, wrapped: Vectors) -> None:
        self.wrapped = wrapped

    @property
    def name(self) -> str:
        """What results and messages call these vectors."""
        return self.wrapped.name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.wrapped.dimension

    @property
    def count(self) -> int | None:
        """How many rows there are, if known."""
        return self.wrapped.count

    @property
    def has_words(self) -> bool:
        """Whether rows have labels."""
        return self.wrapped.has_words

    @property
    def kind(self) -> RowKind:
        """What a row stands for."""
        return self.wrapped.kind

    @property
    def kind_evidence(self) -> str:
        """What of the labels decided the kind."""
        return self.wrapped.kind_evidence

    @property
    def counts(self) -> Mapping[str, float] | None:
        """How often words occur in text, if the input knows."""
        return self.wrapped.counts

    def token_counts(self, counts: Mapping[str, float]) -> Mapping[str, float]:
        """Return counts of labels from counts of words."""
        return self.wrapped.token_counts(counts)

    @property
    def ranked(self) -> bool:
        """Whether the order of rows may be that of frequency."""
        return self.wrapped.ranked

    @property
    def language(self) -> str:
        """The language of the words, if known."""
        return self.wrapped.language

    @property
    def worth_keeping(self) -> bool:
        """Whether reading again costs more than keeping the rows in memory."""
        return self.wrapped.worth_keeping

    def files(self) -> list[Path]:
        """Return the files that are read."""
        return self.wrapped.files()

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got, if known."""
        return self.wrapped.fraction_read()

    def chunks(self) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield labels and rows in order."""
        return self.wrapped.chunks()

    def first_words(self) -> list[str]:
        """Return the first labels."""
        return self.wrapped.first_words()
