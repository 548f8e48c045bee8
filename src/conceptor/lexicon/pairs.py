"""Pairs of words, read from files with one pair per line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines

Pair = tuple[str, str]
Pairs = str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Pair]


def read_pairs(path: str | os.PathLike[str]) -> list[Pair]:
    """Read one pair of words per line; a prefix `en_` on a word is dropped."""
    pairs = []
    for number, line in read_lines(path, "word pairs", "of word pairs"):
        words = line.split()
        if not words:
            continue
        if len(words) != 2:
            raise InvalidInputError(
                f"{path}, line {number}: expected two words, found {line.strip()[:60]!r}"
            )
        left, right = (word.removeprefix("en_") or word for word in words)
        pairs.append((left, right))
    if not pairs:
        raise InvalidInputError(f"{path}: contains no pairs of words")
    return pairs


def symmetric_pairs(pairs: Pairs | None) -> set[Pair]:
    """Return every pair in both directions, from files, pairs or a mix of both."""
    if pairs is None:
        return set()
    if isinstance(pairs, (str, os.PathLike)):
        pairs = [pairs]
    found: set[Pair] = set()
    for entry in pairs:
        if isinstance(entry, (str, os.PathLike)):
            found.update(read_pairs(entry))
        elif isinstance(entry, Sequence) and len(entry) == 2:
            found.add((entry[0], entry[1]))
        else:
            raise InvalidInputError(f"expected a file or a pair of words, not {entry!r}")
    return {(a, b) for pair in found for a, b in (pair, pair[::-1]) if a != b}
