"""Words as people type them, and the words or texts that searches find.

The command line and the page share these rules. A word is looked up as typed, then in lower case.
For an unknown word, suggestions are the same word in another case first, then common words with
similar spelling.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_grid
from conceptor.base.progress import Progress, silent
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.search import Nearest, search

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from conceptor.fitting import FittedMethods
    from conceptor.vectors.vectors import Vectors


# Spelling is compared with the most common words only: rare ones are often misspelt themselves.
_AMONG = 100_000
_ALIKE = 0.75


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
    """None of the requested words has a vector."""

    def __init__(self, unknown: Sequence[Unknown]) -> None:
        super().__init__("; ".join(str(each) for each in unknown))
        self.unknown = list(unknown)


def report_unknown(
    found: Sequence[Unknown], report: Callable[[Unknown], object] | None, *, any_known: bool
) -> None:
    """Report each unknown word; without a way to report, or if none is known, raise."""
    if found and (report is None or not any_known):
        raise UnknownWordsError(found)
    for each in found:
        assert report is not None
        report(each)


def spellings(word: str) -> list[str]:
    """Return the spellings to look up for a typed word, in order."""
    return list(dict.fromkeys([word, word.lower()]))


def split_known(words: Iterable[str], known: Container[str]) -> tuple[list[str], list[str]]:
    """Split words into the known ones, as the vectors spell them, and the others.

    Both keep their order; repeated words are returned once.
    """
    found: list[str] = []
    missing: list[str] = []
    for word in words:
        there = next((each for each in spellings(word) if each in known), None)
        (missing if there is None else found).append(word if there is None else there)
    return list(dict.fromkeys(found)), list(dict.fromkeys(missing))


def suggest(word: str, words: Iterable[str], n: int = 3) -> list[str]:
    """Return suggestions: the word in another case first, then words with similar spelling.

    `words` are those of the vectors, in order; they are read once.
    """
    other_case = {word.lower(), word.upper(), word.capitalize(), word.title(), word.swapcase()}
    wanted = word.casefold()
    exact: list[str] = []
    alike: dict[str, str] = {}
    for rank, other in enumerate(words):
        if other in other_case:
            exact.append(other)
        elif (
            rank < _AMONG
            and other[:1].casefold() == wanted[:1]
            and abs(len(other) - len(word)) <= 2
        ):
            alike.setdefault(other.casefold(), other)  # the most common spelling
    alike.pop(wanted, None)
    close = get_close_matches(wanted, alike, n=n, cutoff=_ALIKE) if wanted else []
    return [*exact, *(alike[each] for each in close)][:n]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbouring word or text, its cosine (minus the prior, if any), and its rank, from 1.

    For texts, `p` is the share of random pairs of rows with a cosine at least this high.
    """

    word: str
    score: float
    rank: int
    p: float | None = None


class FoundNeighbours(dict[str, dict[str, list[Neighbour]]]):
    """Neighbours by method, then by word or text; a notebook shows them as tables."""

    def _repr_html_(self) -> str:
        head = [name for method in self for name in (method, "score", "rank")]
        tables = []
        for word in next(iter(self.values()), {}):
            rows = zip_longest(*(self[method][word] for method in self))
            cells = ([part for one in row for part in _parts(one)] for row in rows)
            tables.append(html_grid(word, head, cells))
        return "".join(tables)


def _parts(one: Neighbour | None) -> tuple[object, ...]:
    return ("", "", "") if one is None else (one.word, round(one.score, 3), one.rank)


def as_data(found: Mapping[str, Mapping[str, Sequence[Neighbour]]]) -> dict[str, Any]:
    """Return the JSON form of neighbours, by method and word."""
    return {
        method: {word: [asdict(each) for each in near] for word, near in by_word.items()}
        for method, by_word in found.items()
    }


def all_words(vectors: Vectors) -> Iterator[str]:
    """Yield the labels of all rows."""
    return (word for words, _ in read_chunks(vectors) for word in words)


def find_words(
    vectors: Vectors,
    fitted: FittedMethods,
    searches: Mapping[str, Nearest],
    progress: Progress = silent,
) -> dict[str, list[list[Neighbour]]]:
    """Run a search for each method, and return the words found for each of its queries."""
    names = search(
        vectors,
        {name: [each] for name, each in searches.items()},
        {name: fitted.methods[name].transforms for name in searches},
        progress,
    )
    return name_rows(searches, names)


def name_rows(
    searches: Mapping[str, Nearest], names: Mapping[int, str]
) -> dict[str, list[list[Neighbour]]]:
    """Return the results of searches as words."""
    return {
        method: [
            [
                Neighbour(names[row], float(score), int(row) + 1)
                for row, score in zip(rows.tolist(), scores, strict=True)
                if row >= 0
            ]
            for rows, scores in zip(found.rows, found.scores, strict=True)
        ]
        for method, found in searches.items()
    }
