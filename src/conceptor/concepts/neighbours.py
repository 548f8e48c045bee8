"""The nearest words among all of a file, before and after post-processing, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.progress import silent
from conceptor.concepts.found import FoundNeighbours, all_words, find_words
from conceptor.concepts.spelling import (
    Unknown,
    UnknownWordsError,
    spellings,
    split_known,
    suggest,
)
from conceptor.concepts.text_neighbours import near_texts
from conceptor.fitting import fit_methods
from conceptor.integrations.reading import open_rows
from conceptor.vectors.chunks import keep_vectors
from conceptor.vectors.search import Nearest
from conceptor.vectors.vectors import RowKind
from conceptor.weights import why_not_ranked

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conceptor.algebra.background import Background
    from conceptor.base.progress import Progress
    from conceptor.concepts.found import Neighbour
    from conceptor.fitting import FitOptions, FittedMethods
    from conceptor.methods import MethodsLike
    from conceptor.vectors.columns import Asked
    from conceptor.vectors.vectors import Vectors

__all__ = ["most_similar", "nearest_words"]


# Found by benchmarks/prior.py: more synonyms, at the rank that neighbours had before.
PRIOR = 0.02


def most_similar(
    vectors: object,
    words: str | int | Iterable[str | int],
    methods: MethodsLike = ("original",),
    options: FitOptions | None = None,
    *,
    n: int = 10,
    among: int | None = None,
    prior: float | None = None,
    texts: object = None,
    column: Asked = None,
    rows: str | None = None,
    background: Background | str | os.PathLike[str] | None = None,
    unknown: Callable[[Unknown], object] | None = None,
    progress: Progress = silent,
) -> FoundNeighbours:
    """Find the nearest words to each of some words, or texts, among all rows of the vectors.

    Parameters
    ----------
    vectors : path, array, data frame, open source, WordVectors, (words, array), ...
    words : str, int, or several of them
        A word is looked up as it is, then in lower case. In rows of texts, a string is a text or a
        row's number from 1, and an int a row's index from 0.
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
    texts : path or iterable of str, optional
        The text of each row, where rows are texts without labels.
    column, rows : optional
        The column of a table that holds the vectors; whether rows are `words` or `texts`.
    background : Background or path, optional
        What the cosines of texts are compared with, for a single method: one that was saved, so
        that p means the same as before. By default random pairs of the rows themselves.
    unknown : callable, optional
        Told of words that have no vector, and of what may have been meant; the others are looked
        up. By default, and if none has a vector, `UnknownWordsError` is raised.

    Returns
    -------
    dict of method to dict of word to list of Neighbour
        Nearest first, without the word itself.

    Warns
    -----
    BackgroundWarning
        Where texts are too much alike for random pairs of them to mean anything, or unlike those of
        `background`.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor.concepts.neighbours import most_similar
    >>> found = most_similar((["up", "down", "upper"], np.array([[1, 0], [-1, 0], [1, 0.1]])), "up")
    >>> [neighbour.word for neighbour in found["original"]["up"]]
    ['upper', 'down']
    """
    listed = list(dict.fromkeys([words] if isinstance(words, (str, int)) else words))
    if not listed or n < 1:
        raise InvalidInputError("at least one word and one neighbour must be asked for")
    opened = keep_vectors(open_rows(vectors, texts, column=column, rows=rows))
    if opened.kind is RowKind.TEXTS:
        if prior is not None:
            raise InvalidInputError(Setting("prior"), " is for words sorted by frequency")
        found = near_texts(
            opened,
            listed,
            methods,
            options,
            n=n,
            among=among,
            background=background,
            unknown=unknown,
            progress=progress,
        )
        return FoundNeighbours(found)
    if background is not None:
        raise InvalidInputError(Setting("background"), " is for rows of texts")
    asked = list(map(str, listed))
    wanted = {spelling for word in asked for spelling in spellings(word)}
    fitted = fit_methods(opened, methods, options, wanted=wanted, progress=progress)
    known = find_known(asked, fitted, opened, unknown)
    return FoundNeighbours(
        nearest_words(opened, fitted, known, n=n, among=among, prior=prior, progress=progress)
    )


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
    said = [Unknown(word, vectors.name, suggest(word, all_words(vectors))) for word in missing]
    if said and (unknown is None or not known):
        raise UnknownWordsError(said)
    for each in said:
        assert unknown is not None
        unknown(each)
    return known


def choose_prior(prior: float | None, vectors: Vectors) -> float:
    """Return the prior, by default one that prefers common words if the file is sorted by use."""
    if prior is not None:
        return prior
    if vectors.kind is RowKind.TEXTS:
        return 0.0
    return PRIOR if why_not_ranked(vectors) is None else 0.0
