"""Files of synonyms and antonyms, one pair per line, and the methods built from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.data import registry

if TYPE_CHECKING:
    from conceptor.algebra.recipes import LexiconRecipe
    from conceptor.lexicon.fitting import LexiconMethod

File = str | os.PathLike[str]
Pair = tuple[str, str]
Pairs = File | Iterable[File | Pair]


@dataclass(frozen=True)
class Lexicon:
    """Files of synonyms and of antonyms; by default the paper's, downloaded if necessary."""

    synonyms: tuple[File, ...] = ()
    antonyms: tuple[File, ...] = ()
    data: File | None = None
    offline: bool = False

    def method(self, recipe: LexiconRecipe) -> LexiconMethod:
        """Return the recipe's method with these files."""
        from conceptor.lexicon.fitting import CounterFitting, Retrofitting

        synonyms = self.synonym_files() if recipe.synonyms else None
        if recipe.name == "retrofit":
            return Retrofitting(synonyms)
        return CounterFitting(synonyms, self.antonym_files() if recipe.antonyms else None)

    def synonym_files(self) -> list[File]:
        """Return the files of synonyms."""
        return list(self.synonyms) or self._fetch("ppdb_synonyms")

    def antonym_files(self) -> list[File]:
        """Return the files of antonyms."""
        return list(self.antonyms) or self._fetch("ppdb_antonyms", "wordnet_antonyms")

    def _fetch(self, *names: str) -> list[File]:
        return [
            registry.fetch(f"lexicon/{name}.txt", self.data, offline=self.offline) for name in names
        ]


def read_pairs(path: File) -> list[Pair]:
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
