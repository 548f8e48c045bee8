"""The nearest words among all of a file, before and after post-processing, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.concepts.spelling import (
    Unknown,
    UnknownWordsError,
    spellings,
    split_known,
    suggest,
)
from conceptor.fitting import fit_methods
from conceptor.vectors.chunks import as_vectors, keep_vectors, read_chunks
from conceptor.vectors.search import Nearest, search
from conceptor.weights import why_not_ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conceptor.base.progress import Progress
    from conceptor.fitting import FitOptions, FittedMethods
    from conceptor.methods import MethodsLike
    from conceptor.vectors.vectors import Vectors

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
    methods: MethodsLike = ("original",),
    options: FitOptions | None = None,
    *,
    n: int = 10,
    among: int | None = None,
    prior: float | None = None,
    unknown: Callable[[Unknown], object] | None = None,
    progress: Progress = silent,
) -> dict[str, dict[str, list[Neighbour]]]:
    """Find the nearest words to each of some words, among all words of the vectors.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    words : str or iterable of str
        Each is looked up as it is, then in lower case.
    methods : names, or recipes by name
        How the vectors are post-processed first; `original` leaves them as they are.
    options : FitOptions, optional
        What the methods are fitted with.
    n : int
        How many neighbours of each word.
    among : int, optional
        Only the first words of the vectors are candidates.
    prior : float, optional
        Preference for common words: see `conceptor.vectors.search.Nearest`. By default 0.02 if
        the words are sorted by frequency, and else 0.
    unknown : callable, optional
        Told of words that have no vector, and of what may have been meant; the others are looked
        up. By default, and if none has a vector, `UnknownWordsError` is raised.

    Returns
    -------
    dict of method to dict of word to list of Neighbour
        Nearest first, without the word itself.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor.concepts.neighbours import most_similar
    >>> found = most_similar((["up", "down", "upper"], np.array([[1, 0], [-1, 0], [1, 0.1]])), "up")
    >>> [neighbour.word for neighbour in found["original"]["up"]]
    ['upper', 'down']
    """
    asked = list(dict.fromkeys([words] if isinstance(words, str) else words))
    if not asked or n < 1:
        raise InvalidInputError("at least one word and one neighbour must be asked for")
    opened = keep_vectors(as_vectors(vectors))
    wanted = {spelling for word in asked for spelling in spellings(word)}
    fitted = fit_methods(opened, methods, options, wanted=wanted, progress=progress)
    known = find_known(asked, fitted, opened, unknown)
    return nearest_words(opened, fitted, known, n=n, among=among, prior=prior, progress=progress)


def nearest_words(
    vectors: Vectors,
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
    searches = plan_searches(vectors, fitted, words, chosen, n=n, among=among, prior=prior)
    return without_asked(find_words(vectors, fitted, searches, progress), words, n)


def plan_searches(
    vectors: Vectors,
    fitted: FittedMethods,
    words: Sequence[str],
    methods: Iterable[str],
    *,
    n: int = 10,
    among: int | None = None,
    prior: float | None = None,
) -> dict[str, Nearest]:
    """Return a search for the nearest of some words for each method."""
    prior = choose_prior(prior, vectors)
    # One more than asked for: the word itself is its own nearest.
    return {
        name: Nearest(
            fitted.rows[name].vectors[fitted.rows[name].rows(words)],
            n + 1,
            prior=prior,
            among=among,
        )
        for name in methods
    }


def without_asked(
    found: Mapping[str, Sequence[Sequence[Neighbour]]], words: Sequence[str], n: int
) -> dict[str, dict[str, list[Neighbour]]]:
    """Return the neighbours by method and word, without the word itself."""
    return {
        method: {
            word: [one for one in near if one.word != word][:n]
            for word, near in zip(words, lists, strict=True)
        }
        for method, lists in found.items()
    }


def find_known(
    words: Iterable[str],
    fitted: FittedMethods,
    vectors: Vectors,
    unknown: Callable[[Unknown], object] | None = None,
) -> list[str]:
    """Return words as the vectors spell them; tell of those that have no vector, or raise."""
    known, missing = split_known(words, next(iter(fitted.rows.values())))
    said = [Unknown(word, vectors.name, suggest(word, _all_words(vectors))) for word in missing]
    if said and (unknown is None or not known):
        raise UnknownWordsError(said)
    for each in said:
        assert unknown is not None
        unknown(each)
    return known


def _all_words(vectors: Vectors) -> Iterator[str]:
    return (word for words, _ in read_chunks(vectors) for word in words)


def choose_prior(prior: float | None, vectors: Vectors) -> float:
    """Return the prior, by default one that prefers common words if the file is sorted by use."""
    if prior is not None:
        return prior
    return PRIOR if why_not_ranked(vectors) is None else 0.0


def find_words(
    vectors: Vectors,
    fitted: FittedMethods,
    searches: Mapping[str, Nearest],
    progress: Progress = silent,
) -> dict[str, list[list[Neighbour]]]:
    """Carry out a search for each method, and return the words found for each of its queries."""
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
    """Return what searches have found, as words."""
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
