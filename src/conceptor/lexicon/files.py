"""Files of synonyms and antonyms, and the methods built from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.data import registry
from conceptor.lexicon.fitting import CounterFitting, Retrofitting

if TYPE_CHECKING:
    import os

    from conceptor.algebra.methods import LexiconRecipe
    from conceptor.lexicon.fitting import LexiconMethod

    File = str | os.PathLike[str]


@dataclass(frozen=True)
class Lexicon:
    """Files of synonyms and of antonyms; by default the paper's, downloaded if necessary."""

    synonyms: tuple[File, ...] = ()
    antonyms: tuple[File, ...] = ()
    data: File | None = None
    offline: bool = False

    def method(self, recipe: LexiconRecipe) -> LexiconMethod:
        """Return the recipe's method with these files."""
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
