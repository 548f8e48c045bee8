"""`Vectors`: labeled rows that can be read any number of times, and what is known about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import memory_bytes
from conceptor.vectors.table import WordVectors

OnError = Literal["raise", "skip"]
Transform = Callable[[Sequence[str], Any], Any]  # from the words of rows, and rows, to new rows

SAMPLE = 2000  # first words, which show whether a file is sorted by frequency
# Numbers in a chunk, and the bounds on its rows.
_CHUNK_NUMBERS, _FEWEST, _MOST = 1 << 20, 1 << 10, 1 << 16
# About how many bytes a word takes: a string and its place in a list.
_WORD_BYTES = 100
# How many labels decide what rows are, the share of words in a vocabulary, and few labels.
_LABELS, _SURELY, _FEW = 1000, 0.9, 20
# Longer labels are hashes or addresses. Chinese and Japanese sentences have many such characters.
_LONGEST_WORD, _MOST_UNSPACED = 30, 6
_UNSPACED = re.compile("[\u3040-\u309f\u3400-\u9fff\U00020000-\U0003ffff]")


class RowKind(StrEnum):
    """What one row is; it decides the default method and how rows are weighted."""

    WORDS = "words"
    TOKENS = "tokens"  # of a tokenizer, which are not sorted by frequency
    TEXTS = "texts"  # whole texts, or unknown rows


class Rows(NamedTuple):
    """Consecutive rows; `places` are their line or row numbers in the file, for messages."""

    labels: Sequence[str]
    rows: NDArray[Any]
    places: NDArray[np.int64] | None = None


@dataclass
class Findings:
    """Problems that one pass over a file found; `on_error` is what to do with a bad row."""

    on_error: OnError = "raise"
    duplicates: int = 0
    skipped: int = 0
    first_skipped: str = ""
    remarks: list[str] = field(default_factory=list)

    def reject(self, message: str, rows: int = 1) -> None:
        """Raise for a bad row, or count it and those like it."""
        if self.on_error == "raise":
            raise InvalidInputError(
                f"{message}; repair the file, or skip such rows with --on-error skip"
            )
        self.skipped += rows
        self.first_skipped = self.first_skipped or message

    def cut_short(self, message: str) -> None:
        """Raise for a truncated file, or note it."""
        if self.on_error == "raise":
            raise InvalidInputError(
                f"{message}; it is probably truncated: fetch it again, or read the complete rows "
                "with --on-error skip"
            )
        self.remarks.append(message)

    def check_count(self, path: Path, expected: int | None, rows: int) -> None:
        """Compare the header's count with the rows that the file has; more rows are all read."""
        if expected is not None and rows != expected:
            message = f"{path}: the header says {expected} rows, but the file has {rows}"
            if rows < expected:
                self.cut_short(message)
            else:
                self.remarks.append(message)

    def lines(self) -> list[str]:
        """Return one line for each kind of finding."""
        lines = list(self.remarks)
        if self.duplicates:
            lines.append(f"{self.duplicates} duplicate words dropped, the first of each kept")
        if self.skipped:
            lines.append(f"{self.skipped} bad rows skipped, the first: {self.first_skipped}")
        return lines


@dataclass(frozen=True, eq=False)
class Vectors:
    """Labeled rows: of a file, a table in memory, shards, or an object of another library.

    `read` yields the rows from the beginning, any number of times. Vectors that differ in one
    respect are a copy: ``replace(vectors, read=...)``.
    """

    name: str  # in results and messages, such as the path
    dimension: int  # the length of a vector
    read: Callable[[], Iterator[Rows]]
    count: int | None = None  # the number of rows, if it is known before they are read
    estimate: int | None = None  # about how many rows there are, for progress bars
    kind: RowKind = RowKind.WORDS
    evidence: str = ""  # why the labels were taken for this kind; empty if there was no choice
    has_words: bool = True  # otherwise the labels of rows are their numbers, from 1
    counts: Mapping[str, float] | None = None  # how often words occur in text
    # For tokens: returns their counts from the counts of words.
    token_counts: Callable[[Mapping[str, float]], Mapping[str, float]] | None = None
    ranked: bool = True  # whether rows may be sorted by frequency
    language: str = ""  # a code such as `fr`; empty if unknown
    files: tuple[Path, ...] = ()  # that are read, and must not be overwritten
    format: str = ""  # of the file; empty for objects
    dtype: str = "float32"  # how numbers are stored
    digits: int | None = None  # how many significant digits text shows, if few
    costly: bool = False  # whether reading again costs more than keeping the rows in memory
    findings: Findings = field(default_factory=Findings)  # problems that the last pass found
    extra: Any = None  # what the format needs to write a copy with new vectors

    @property
    def size(self) -> int:
        """How many bytes the files have; 0 for objects."""
        return sum(file.stat().st_size for file in self.files if file.is_file())

    def chunks(
        self, progress: Progress = silent, label: str = "reading"
    ) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield labels and rows in order, reporting progress."""
        total, done = self.count or self.estimate, 0
        for labels, rows, _ in self.read():
            done += len(labels)
            progress(label, None if not total else min(1.0, done / total), done)
            yield labels, rows

    @cached_property
    def first_words(self) -> list[str]:
        """The first 2,000 labels."""
        return list(islice((label for labels, _ in self.chunks() for label in labels), SAMPLE))

    def mapped(self, transform: Transform, dimension: int | None = None) -> Vectors:
        """Return the vectors with a function of words and rows applied to each chunk."""

        def read() -> Iterator[Rows]:
            for labels, rows, places in self.read():
                yield Rows(labels, transform(labels, rows), places)

        return replace(self, read=read, dimension=dimension or self.dimension)

    def with_kind(self, rows: str | None) -> Vectors:
        """Return the vectors with the user's choice of `words` or `texts`, if there is one."""
        if rows is None:
            return self
        if rows not in (RowKind.WORDS, RowKind.TEXTS):
            raise InvalidInputError(f"--rows is {rows!r}; it must be 'words' or 'texts'")
        if self.kind is RowKind.TOKENS:
            reason = "its rows are the tokens of a static model"
        elif rows == RowKind.WORDS and not self.has_words:
            reason = "its rows have no words"
        else:
            return replace(self, kind=RowKind(rows), evidence="")
        raise InvalidInputError(f"{self.name}: {reason}; leave out --rows {rows}")

    def require_words(self) -> Vectors:
        """Return the vectors; raise if rows have no labels."""
        if self.has_words:
            return self
        raise InvalidInputError(
            f"{self.name}: its rows have no words; put the words in a file beside it "
            "(x.words.txt for x.npy, one word per line), or in a column of the table"
        )

    def describe_kind(self) -> str:
        """Return a line on what rows were taken for and how to change it; empty if it is clear."""
        treated, other = "words, whose frequency counts", RowKind.TEXTS
        if self.kind is RowKind.TEXTS:
            treated, other = "texts, which count equally", RowKind.WORDS
        line = (
            f"{self.name}: its rows are treated as {treated}: {self.evidence}; if they are "
            f"{other}, use --rows {other}"
        )
        return line if self.evidence else ""


def is_word(label: str) -> bool:
    """Return whether a label may be an entry of a vocabulary: a single token that is not long."""
    return (
        len(label) <= _LONGEST_WORD
        and len(label.split()) == 1
        and len(_UNSPACED.findall(label)) <= _MOST_UNSPACED
    )


def decide_kind(labels: Sequence[str]) -> tuple[RowKind, str]:
    """Decide what rows are from their first labels; return the evidence too, if in any doubt.

    They are words if at least half of the labels are single words, each counted once.
    """
    first = labels[:_LABELS]
    words = len(set(filter(is_word, first)))
    kind = RowKind.WORDS if 2 * words >= len(first) else RowKind.TEXTS
    # For a clear vocabulary, or for a handful of words, users need no message.
    if kind is RowKind.WORDS and (words >= _SURELY * len(first) or len(first) < _FEW):
        return kind, ""
    return kind, f"{words:,} of the first {len(first):,} labels are distinct single words"


def refuse_settings(vectors: Vectors, kind: str, **settings: object) -> None:
    """Raise for settings that apply only to another kind of rows, `words` or `texts`."""
    for name, value in settings.items():
        if value is not None and value is not False:
            raise InvalidInputError(
                f"{vectors.name}: its rows are {vectors.kind}, and --{name.replace('_', '-')} is "
                f"for {kind}; remove it, or add --rows {kind}"
            )


def chunk_rows(dimension: int) -> int:
    """Return how many rows to process at a time: a power of two, about four megabytes."""
    return int(min(max(1 << (_CHUNK_NUMBERS // dimension).bit_length() - 1, _FEWEST), _MOST))


def number_labels(start: int, stop: int) -> list[str]:
    """Return labels for rows without words: their numbers, from 1."""
    return [str(row) for row in range(start + 1, stop + 1)]


def even_chunks(
    chunks: Iterable[tuple[Sequence[str], NDArray[Any]]],
) -> Iterator[tuple[int, list[str], NDArray[Any]]]:
    """Yield the same rows in chunks of one size, and how many rows come before each.

    The last bit of a sum depends on how many rows are added at a time. Rows are copied only if a
    chunk ends elsewhere.
    """
    labels: list[str] = []
    parts: list[NDArray[Any]] = []
    before = size = 0
    for more, rows in chunks:
        size = size or chunk_rows(rows.shape[1])
        start = 0
        while len(labels) + len(more) - start >= size:
            stop = start + size - len(labels)
            parts.append(rows[start:stop])
            labels.extend(more[start:stop])
            yield before, labels, parts[0] if len(parts) == 1 else np.concatenate(parts)
            labels, parts, start = [], [], stop
            before += size
        if start < len(more):
            labels.extend(more[start:])
            parts.append(rows[start:])
    if labels:
        yield before, labels, np.concatenate(parts)


def keep(vectors: Vectors, limit: int | None = None) -> Vectors:
    """Return vectors whose rows stay in memory after the first whole pass, if they fit.

    `limit` is in bytes, by default a quarter of the memory. If reading is cheap, nothing is kept.
    """
    most = memory_bytes() // 4 if limit is None else limit
    expected = (vectors.count or vectors.estimate or 0) * (4 * vectors.dimension + _WORD_BYTES)
    if not vectors.costly or expected > most:
        return vectors
    memory: list[Rows] = []

    def read() -> Iterator[Rows]:
        chunks: list[Rows] = []
        size = 0
        for chunk in memory or vectors.read():
            size += chunk.rows.nbytes + _WORD_BYTES * len(chunk.labels)
            if size <= most:
                chunks.append(chunk)
            else:
                chunks.clear()
            yield chunk
        memory[:] = chunks

    return replace(vectors, read=read, costly=False)


def collect_rows(
    vectors: Vectors, wanted: Collection[str], first: int = 0, progress: Progress = silent
) -> WordVectors:
    """Return the rows of wanted words, and the first rows, in one pass."""
    collector = RowCollector(wanted, first)
    for labels, rows in vectors.chunks(progress):
        collector.add(labels, rows)
    return collector.table()


class RowCollector:
    """Keeps the rows of wanted words, and the first rows, from a stream of chunks."""

    def __init__(self, wanted: Collection[str], first: int = 0) -> None:
        self.count = 0
        self._wanted, self._first = wanted, first
        self._words: list[str] = []
        self._places: list[int] = []
        self._parts: list[NDArray[Any]] = []

    def add(self, labels: Sequence[str], rows: NDArray[Any]) -> None:
        """Take the next chunk."""
        first, wanted = self._first - self.count, self._wanted
        chosen = [i for i, word in enumerate(labels) if i < first or word in wanted]
        if chosen:
            self._words.extend(labels[i] for i in chosen)
            self._places.extend(self.count + i for i in chosen)
            self._parts.append(rows[chosen])
        self.count += len(labels)

    def table(self) -> WordVectors:
        """Return the collected rows, in the order of the stream."""
        if not self.count:
            raise InvalidInputError("there are no vectors to read")
        rows = np.concatenate(self._parts) if self._parts else np.zeros((0, 1), dtype=np.float32)
        return WordVectors(self._words, rows, np.array(self._places, dtype=np.int64))
