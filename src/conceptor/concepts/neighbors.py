"""The nearest words or texts in a file, before and after post-processing, in bounded memory."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.background import FEWEST_ROWS, Background
from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_grid
from conceptor.base.progress import Progress, silent
from conceptor.concepts.lookup import Unknown, UnknownWordsError, look_up, shorten, suggest
from conceptor.concepts.query import Query
from conceptor.fit import FitOptions, FittedMethods, fit_methods
from conceptor.integrations.reading import open_rows
from conceptor.methods import MethodsLike, as_methods
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.search import Nearest, search
from conceptor.vectors.table import MISSING
from conceptor.vectors.texts import BACKGROUND_ROWS, plain_text, read_some
from conceptor.vectors.vectors import RowKind, Vectors, keep, refuse_settings
from conceptor.weights import why_not_ranked

# From benchmarks/prior.py: finds more synonyms, at the same rank of neighbors as before.
PRIOR = 0.02


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A neighboring word or text, its cosine (minus the prior, if any), and its rank, from 1.

    For texts, `p` is the share of random pairs of rows with a cosine at least this high.
    """

    word: str
    score: float
    rank: int
    p: float | None = None


class Neighbors(dict[str, dict[str, list[Neighbor]]]):
    """Neighbors by method, then by word or text; a notebook shows them as tables."""

    def _repr_html_(self) -> str:
        head = [name for method in self for name in (method, "score", "rank")]
        tables = []
        for word in next(iter(self.values()), {}):
            grid = []
            for row in zip_longest(*(self[method][word] for method in self)):
                cells: list[object] = []
                for one in row:
                    cells += [one.word, round(one.score, 3), one.rank] if one else [""] * 3
                grid.append(cells)
            tables.append(html_grid(word, head, grid))
        return "".join(tables)


def as_data(neighbors: Mapping[str, Mapping[str, Sequence[Neighbor]]]) -> dict[str, Any]:
    """Return the JSON form of neighbors, by method and word."""
    return {
        method: {word: [asdict(each) for each in near] for word, near in by_word.items()}
        for method, by_word in neighbors.items()
    }


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
    column: Columns = None,
    rows: str | None = None,
    background: Background | str | os.PathLike[str] | None = None,
    unknown: Callable[[Unknown], object] | None = None,
    progress: Progress = silent,
) -> Neighbors:
    """Return the nearest words or texts of each word or text, by method, nearest first.

    Parameters
    ----------
    vectors : path, array, data frame, Vectors, WordVectors, (words, array), ...
    words : str, int, or several of them
        A word is looked up unchanged, then in lower case. For rows of texts, a string is a text or
        a row number from 1, and an int is a row index from 0.
    methods : names, or methods by name
        Methods that post-process the vectors first; `original` does nothing.
    options : FitOptions, optional
        Options for fitting the methods.
    n, among : int
        The number of neighbors of each word; search only this many first words.
    prior : float, optional
        Preference for common words: see `conceptor.vectors.search.Nearest`. By default 0.02 if
        the words are sorted by frequency, else 0.
    texts : path or iterable of str, optional
        The text of each row, if rows are texts without labels.
    column, rows : optional
        The column of a table that holds the vectors; whether rows are `words` or `texts`.
    background : Background or path, optional
        The reference for cosines of texts, for a single method: pass a saved one so that p means
        the same as before. By default random pairs of the rows themselves. A `BackgroundWarning`
        is given if it does not suit the rows.
    unknown : callable, optional
        Called with each word without a vector and suggestions for it; the others are looked
        up. By default, and if no word has a vector, `UnknownWordsError` is raised.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor import most_similar
    >>> near = most_similar((["up", "down", "upper"], np.array([[1, 0], [-1, 0], [1, 0.1]])), "up")
    >>> [neighbor.word for neighbor in near["original"]["up"]]
    ['upper', 'down']
    """
    queries = list(dict.fromkeys([words] if isinstance(words, (str, int)) else words))
    if not queries or n < 1:
        raise InvalidInputError("ask for at least one word and one neighbor")
    opened = keep(open_rows(vectors, texts, column=column, rows=rows))
    if opened.kind is not RowKind.TEXTS:
        refuse_settings(opened, "texts", background=background)
        typed = list(map(str, queries))
        spellings = {*typed, *map(str.lower, typed)}
        fitted = fit_methods(opened, methods, options, wanted=spellings, progress=progress)
        present, missing = look_up(typed, next(iter(fitted.rows.values())))
        _report_unknown(missing, opened, unknown if present else None)
        searches = plan_searches(
            opened, fitted, present, fitted.methods, n=n, among=among, prior=prior
        )
        names = _search(opened, fitted, searches, progress)
        return name_neighbors(searches, names, present, n)

    refuse_settings(opened, "words", prior=prior)
    chosen = as_methods(methods)
    if background is not None and len(chosen) > 1:
        raise InvalidInputError("--background is for the cosines of one method; name only one")
    sample = read_some(opened, BACKGROUND_ROWS, queries, progress=progress)
    indices = {each: sample.find(each) for each in queries}
    present_rows = list(dict.fromkeys(each for each in indices.values() if each != MISSING))
    missing = [str(each) for each, index in indices.items() if index == MISSING]
    _report_unknown(missing, opened, unknown if present_rows else None)
    fitted = fit_methods(opened, chosen, options, doubts=False, progress=progress)
    searches = {
        name: Nearest(each((), sample.vectors[present_rows]), n + 1, among=among)
        for name, each in fitted.methods.items()
    }
    names = _search(opened, fitted, searches, progress)
    titles = [sample.texts[row] for row in present_rows]
    neighbors = Neighbors({name: {} for name in searches})
    for name, each in searches.items():
        random_rows = fitted.methods[name]((), sample.vectors[sample.sample])
        lists = _named(each, names, choose_background(background, random_rows))
        for row, title, near in zip(present_rows, titles, lists, strict=True):
            rank = int(sample.places[row]) + 1
            # Several rows may have the same text.
            unique = title if titles.count(title) == 1 else f"{title} (row {rank})"
            neighbors[name][unique] = [one for one in near if one.rank != rank][:n]
    return neighbors


def rank_words(
    vectors: object,
    query: Query,
    methods: MethodsLike = ("original",),
    options: FitOptions | None = None,
    *,
    n: int = 10,
    among: int | None = None,
    prior: float | None = None,
    progress: Progress = silent,
) -> dict[str, list[Neighbor]]:
    """Find the best words for a query, among all words of the vectors, after each method.

    Parameters are those of `most_similar`. The words of the query are not among the results.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor.concepts.query import Query
    >>> table = ["bank", "shore", "river", "loan"], np.array([[1, 1], [0, 2], [0.1, 2], [2, 0.5]])
    >>> [one.word for one in rank_words(table, Query("bank"))["original"]]
    ['loan', 'river', 'shore']
    >>> [one.word for one in rank_words(table, Query("bank", without=["shore"]))["original"]]
    ['loan', 'river']
    """
    if n < 1:
        raise InvalidInputError("ask for at least one word")
    opened = keep(open_rows(vectors))
    fitted = fit_methods(opened, methods, options, wanted=set(query.words), progress=progress)
    # A dropped exclusion would change the results without a warning, so every word is required.
    table = next(iter(fitted.rows.values()))
    _report_unknown([word for word in query.words if word not in table], opened)
    prior = choose_prior(prior, opened)
    searches, size = {}, n + len(query.words)
    for name, rows in fitted.rows.items():
        criterion = query.criterion(rows)
        direction = criterion.direction[np.newaxis]
        penalty = criterion.penalty if criterion.selective else None
        searches[name] = Nearest(direction, size, prior=prior, among=among, penalty=penalty)
    names = _search(opened, fitted, searches, progress)
    return {
        method: [one for one in _named(each, names)[0] if one.word not in query.words][:n]
        for method, each in searches.items()
    }


def plan_searches(
    vectors: Vectors,
    fitted: FittedMethods,
    words: Sequence[str],
    methods: Collection[str],
    *,
    n: int = 10,
    among: int | None = None,
    prior: float | None = None,
) -> dict[str, Nearest]:
    """Return a search for the neighbors of these words for each method."""
    prior = choose_prior(prior, vectors)
    # One more than requested: each word is its own nearest word.
    return {
        name: Nearest(table.vectors[table.rows(words)], n + 1, prior=prior, among=among)
        for name, table in fitted.rows.items()
        if name in methods
    }


def choose_prior(prior: float | None, vectors: Vectors) -> float:
    """Return the prior; by default it prefers common words if the file is sorted by frequency."""
    if prior is not None and not math.isfinite(prior):
        raise InvalidInputError(f"--prior must be a finite number, not {prior}")
    if prior is not None or vectors.kind is RowKind.TEXTS:
        return prior or 0.0
    return PRIOR if why_not_ranked(vectors) is None else 0.0


def name_neighbors(
    searches: Mapping[str, Nearest], names: Mapping[int, str], words: Sequence[str], n: int
) -> Neighbors:
    """Return the results of searches by method and word, without the word itself.

    `names` are the words of the rows, as `conceptor.vectors.search.search` returns them.
    """
    neighbors = Neighbors({method: {} for method in searches})
    for method, each in searches.items():
        for word, near in zip(words, _named(each, names), strict=True):
            neighbors[method][word] = [one for one in near if one.word != word][:n]
    return neighbors


def _named(
    nearest: Nearest, names: Mapping[int, str], scale: Background | None = None
) -> list[list[Neighbor]]:
    """Return the rows of a search with their words, for each of its queries."""
    return [
        [
            Neighbor(names[row], score, row + 1, None if scale is None else float(scale.p(score)))
            for row, score in zip(rows, scores, strict=True)
            if row != MISSING
        ]
        for rows, scores in zip(nearest.rows.tolist(), nearest.scores.tolist(), strict=True)
    ]


def _search(
    vectors: Vectors, fitted: FittedMethods, searches: Mapping[str, Nearest], progress: Progress
) -> dict[int, str]:
    """Run one search for each method; return the words of the rows."""
    return search(
        vectors, {name: [each] for name, each in searches.items()}, fitted.methods, progress
    )


def _report_unknown(
    missing: Sequence[str], vectors: Vectors, report: Callable[[Unknown], object] | None = None
) -> None:
    """Report unknown words with words of similar spelling, or raise without a way to report.

    For unknown texts, report the numbers and beginnings of three texts that contain each.
    """
    unknown = []
    for word in missing:
        labels = (label for labels, _ in vectors.chunks() for label in labels)
        if vectors.kind is not RowKind.TEXTS:
            unknown.append(Unknown(word, vectors.name, suggest(word, labels)))
            continue
        part = plain_text(word).casefold()
        texts = enumerate(map(plain_text, labels), start=1)
        matches = (f"{row} ({shorten(text)})" for row, text in texts if part in text.casefold())
        suggestions = list(islice(matches, 3)) if vectors.has_words and part else []
        unknown.append(Unknown(word, vectors.name, suggestions, "text or row"))
    if unknown and report is None:
        raise UnknownWordsError(unknown)
    for each in unknown:
        if report is not None:
            report(each)


def choose_background(
    background: Background | str | os.PathLike[str] | None,
    rows: NDArray[Any],
    *,
    pairs: int = 1_000_000,
) -> Background | None:
    """Return the reference for cosines: the given one, or random pairs of rows.

    None if there are too few rows for random pairs. Warns if it does not suit the rows.
    """
    is_enough = np.count_nonzero(rows.any(axis=1)) >= FEWEST_ROWS
    if background is None:
        return Background.fit(rows, pairs=pairs) if is_enough else None
    loaded = background if isinstance(background, Background) else Background.load(background)
    if is_enough:
        loaded.check(rows)
    return loaded
