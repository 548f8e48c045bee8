"""The nearest words among all of a file, before and after post-processing, in bounded memory."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.fitting import first_words, fit_methods
from conceptor.vectors.chunks import as_vectors, number_chunks, read_chunks
from conceptor.vectors.nearest import Nearest, search
from conceptor.weights import why_unsorted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.algebra.methods import LexiconRecipe, Recipe
    from conceptor.base.progress import Progress
    from conceptor.fitting import FitOptions, FittedMethods

__all__ = ["Neighbour", "most_similar", "nearest_words"]


# Found by benchmarks/prior.py: more synonyms, at the rank that neighbours had before.
PRIOR = 0.02


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A word near another, the cosine (less the prior, if any), and its place in the file."""

    word: str
    score: float
    rank: int


def most_similar(
    vectors: object,
    words: str | Iterable[str],
    methods: Sequence[str] | Mapping[str, Sequence[Recipe | LexiconRecipe]] = ("original",),
    options: FitOptions | None = None,
    *,
    n: int = 10,
    among: int | None = None,
    prior: float | None = None,
    progress: Progress = silent,
) -> dict[str, dict[str, list[Neighbour]]]:
    """Find the nearest words to each of some words, among all words of the vectors.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    words : str or iterable of str
    methods : names, or recipes by name
        How the vectors are post-processed first; `original` leaves them as they are.
    options : FitOptions, optional
        What the methods are fitted with.
    n : int
        How many neighbours of each word.
    among : int, optional
        Only the first words of the vectors are candidates.
    prior : float, optional
        Preference for common words: see `conceptor.vectors.nearest.Nearest`. By default 0.02 if
        the words are sorted by frequency, and else 0.

    Returns
    -------
    dict of method to dict of word to list of Neighbour
        Nearest first, without the word itself.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor.neighbours import most_similar
    >>> found = most_similar((["up", "down", "upper"], np.array([[1, 0], [-1, 0], [1, 0.1]])), "up")
    >>> [neighbour.word for neighbour in found["original"]["up"]]
    ['upper', 'down']
    """
    asked = list(dict.fromkeys([words] if isinstance(words, str) else words))
    if not asked or n < 1:
        raise InvalidInputError("at least one word and one neighbour must be asked for")
    opened = as_vectors(vectors)
    fitted = fit_methods(opened, methods, options, wanted=set(asked), progress=progress)
    check_known(asked, fitted, opened)
    return nearest_words(opened, fitted, asked, n=n, among=among, prior=prior, progress=progress)


def nearest_words(
    vectors: object,
    fitted: FittedMethods,
    words: Sequence[str],
    *,
    methods: Iterable[str] | None = None,
    n: int = 10,
    among: int | None = None,
    prior: float | None = None,
    progress: Progress = silent,
) -> dict[str, dict[str, list[Neighbour]]]:
    """Find the nearest words as `most_similar` does, with methods fitted already.

    The rows of `words` must be among those that `fitted` kept; `methods` names some of them.
    """
    chosen = list(fitted.methods if methods is None else methods)
    prior = choose_prior(prior, vectors)
    # One more than asked for: the word itself is its own nearest.
    searches = {
        name: Nearest(rows.vectors[rows.rows(words)], n + 1, prior=prior, among=among)
        for name, rows in ((name, fitted.rows[name]) for name in chosen)
    }
    found = find_words(vectors, fitted, searches, progress)
    return {
        method: {
            word: [one for one in near if one.word != word][:n]
            for word, near in zip(words, lists, strict=True)
        }
        for method, lists in found.items()
    }


def check_known(words: Iterable[str], fitted: FittedMethods, vectors: object) -> None:
    """Raise for the first word that has no vector, with words that are spelt like it."""
    known = next(iter(fitted.rows.values()))
    for word in words:
        if word not in known:
            raise InvalidInputError(_unknown(word, vectors))


def choose_prior(prior: float | None, vectors: object) -> float:
    """Return the prior, by default one that prefers common words if the file is sorted by use."""
    if prior is not None:
        return prior
    return PRIOR if why_unsorted(first_words(vectors)) is None else 0.0


def find_words(
    vectors: object,
    fitted: FittedMethods,
    searches: Mapping[str, Nearest],
    progress: Progress = silent,
) -> dict[str, list[list[Neighbour]]]:
    """Carry out a search for each method, and return the words found for each of its queries."""
    search(
        vectors,
        {name: [each] for name, each in searches.items()},
        {name: fitted.methods[name].transforms for name in searches},
        progress,
    )
    names = _words_at(
        {row for found in searches.values() for row in found.rows.ravel().tolist()}, vectors
    )
    return {
        method: [
            [
                Neighbour(names[row], float(score), int(row))
                for row, score in zip(rows.tolist(), scores, strict=True)
                if row >= 0
            ]
            for rows, scores in zip(found.rows, found.scores, strict=True)
        ]
        for method, found in searches.items()
    }


def _words_at(rows: set[int], vectors: object) -> dict[int, str]:
    """Return the words of some rows."""
    names: dict[int, str] = {}
    ordered = sorted(rows)
    for before, words, _ in number_chunks(read_chunks(vectors)):
        here = ordered[bisect_left(ordered, before) : bisect_left(ordered, before + len(words))]
        names |= {row: words[row - before] for row in here}
    return names


def _unknown(word: str, vectors: object) -> str:
    """Say that a word is not there, with words that are spelt like it."""
    close = close_words(word, (other for words, _ in read_chunks(vectors) for other in words))
    hint = f"; did you mean {', '.join(close)}?" if close else ""
    return f"the vectors have no word {word!r}{hint}"


def close_words(word: str, words: Iterable[str]) -> list[str]:
    """Return up to three words that are spelt like a word."""
    alike = [
        other
        for other in words
        if other[:1].lower() == word[:1].lower() and abs(len(other) - len(word)) <= 2
    ]
    return get_close_matches(word.lower(), alike, n=3, cutoff=0.75)
