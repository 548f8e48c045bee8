"""Words as people type them: how they are looked up, and suggestions if they are unknown.

The command line and the page share these rules. A word is looked up as typed, then in lower case.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.texts import plain_text

# Spelling is compared with the most common words only: rare ones are often misspelled themselves.
_COMMON = 100_000
_SIMILAR = 0.75


@dataclass(frozen=True)
class Unknown:
    """A word without a vector, the name of the vectors, and suggestions.

    `what` is its kind: a `word`, or a `text or row`.
    """

    word: str
    where: str
    suggestions: list[str] = field(default_factory=list)
    what: str = "word"

    def __str__(self) -> str:
        hint = f"; did you mean {', '.join(self.suggestions)}?" if self.suggestions else ""
        return f"{self.where}: there is no {self.what} {self.word!r}{hint}"


class UnknownWordsError(InvalidInputError):
    """A requested word has no vector."""

    def __init__(self, unknown: Sequence[Unknown]) -> None:
        super().__init__("; ".join(str(each) for each in unknown))
        self.unknown = list(unknown)


def look_up(words: Iterable[str], table: Container[str]) -> tuple[list[str], list[str]]:
    """Return the words that a table has, as it spells them, and the others, each once."""
    spellings = {word: word if word in table else word.lower() for word in words}
    present = [each for each in spellings.values() if each in table]
    return list(dict.fromkeys(present)), [w for w, each in spellings.items() if each not in table]


def suggest(word: str, words: Iterable[str], n: int = 3) -> list[str]:
    """Return suggestions: the word in another case first, then words with similar spelling.

    `words` are those of the vectors, in order; they are read once.
    """
    other_case = {word.lower(), word.upper(), word.capitalize(), word.title(), word.swapcase()}
    folded = word.casefold()
    exact: list[str] = []
    similar: dict[str, str] = {}
    for rank, other in enumerate(words):
        if other in other_case:
            exact.append(other)
        elif (
            rank < _COMMON
            and other[:1].casefold() == folded[:1]
            and abs(len(other) - len(word)) <= 2
        ):
            similar.setdefault(other.casefold(), other)  # the most common spelling
    similar.pop(folded, None)
    close = get_close_matches(folded, similar, n=n, cutoff=_SIMILAR) if folded else []
    return [*exact, *(similar[each] for each in close)][:n]


def shorten(text: str, most: int = 60) -> str:
    """Return the beginning of a text, on one line."""
    plain = plain_text(text)
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"
