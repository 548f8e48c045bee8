"""The nearest words in a file, before and after post-processing, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.concepts.found import (
    FoundNeighbours,
    Unknown,
    all_words,
    find_words,
    report_unknown,
    spellings,
    split_known,
    suggest,
)
from conceptor.concepts.text_neighbours import near_texts
from conceptor.fitting import FitOptions, FittedMethods, fit_methods
from conceptor.integrations.reading import open_rows
from conceptor.vectors.chunks import keep_vectors
from conceptor.vectors.rows import refuse_settings
from conceptor.vectors.search import Nearest
from conceptor.vectors.vectors import RowKind, Vectors
from conceptor.weights import why_not_ranked

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conceptor.algebra.background import Background
    from conceptor.concepts.found import Neighbour
    from conceptor.methods import MethodsLike
    from conceptor.vectors.columns import Asked

# From benchmarks/prior.py: finds more synonyms, at the same rank of neighbours as before.
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
    """Find the nearest words or texts of each given one, among all rows of the vectors.

    Parameters
    ----------
    vectors : path, array, data frame, open source, WordVectors, (words, array), ...
    words : str, int, or several of them
        A word is looked up unchanged, then in lower case. For rows of texts, a string is a text or
        a row number from 1, and an int is a row index from 0.
    methods : names, or recipes by name
        Methods that post-process the vectors first; `original` does nothing.
    options : FitOptions, optional
        Options for fitting the methods.
    n : int
        The number of neighbours of each word.
    among : int, optional
        Search only this many first words.
    prior : float, optional
        Preference for common words: see `conceptor.vectors.search.Nearest`. By default 0.02 if
        the words are sorted by frequency, else 0.
    texts : path or iterable of str, optional
        The text of each row, if rows are texts without labels.
    column, rows : optional
        The column of a table that holds the vectors; whether rows are `words` or `texts`.
    background : Background or path, optional
        The reference for cosines of texts, for a single method: pass a saved one so that p means
        the same as before. By default random pairs of the rows themselves.
    unknown : callable, optional
        Called with the words without a vector and suggestions for them; the others are looked
        up. By default, and if no word has a vector, `UnknownWordsError` is raised.

    Returns
    -------
    dict of method to dict of word to list of Neighbour
        Nearest first, without the word itself.

    Warns
    -----
    BackgroundWarning
        If texts are too similar for random pairs to mean anything, or differ from those of
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
        raise InvalidInputError("ask for at least one word and one neighbour")
    opened = keep_vectors(open_rows(vectors, texts, column=column, rows=rows))
    if opened.kind is RowKind.TEXTS:
        refuse_settings(opened, "words", prior=prior)
        near = near_texts(
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
        return FoundNeighbours(near)
    refuse_settings(opened, "texts", background=background)
    asked = list(map(str, listed))
    wanted = {spelling for word in asked for spelling in spellings(word)}
    fitted = fit_methods(opened, methods, options, wanted=wanted, progress=progress)
    known = find_known(asked, fitted, opened, unknown)
    searches = plan_searches(opened, fitted, known, fitted.methods, n=n, among=among, prior=prior)
    found = find_words(opened, fitted, searches, progress)
    return FoundNeighbours(without_asked(found, known, n))


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
    """Return a search for the neighbours of given words for each method."""
    prior = choose_prior(prior, vectors)
    # One more than requested: each word is its own nearest word.
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
    """Return words as the vectors spell them; report those without a vector, or raise."""
    known, missing = split_known(words, next(iter(fitted.rows.values())))
    said = [Unknown(word, vectors.name, suggest(word, all_words(vectors))) for word in missing]
    report_unknown(said, unknown, any_known=bool(known))
    return known


def choose_prior(prior: float | None, vectors: Vectors) -> float:
    """Return the prior; by default it prefers common words if the file is sorted by frequency."""
    if prior is not None:
        return prior
    if vectors.kind is RowKind.TEXTS:
        return 0.0
    return PRIOR if why_not_ranked(vectors) is None else 0.0
