"""The nearest words or texts in a file, before and after post-processing, in bounded memory."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from itertools import islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.background import FEWEST_ROWS, Background
from conceptor.base.display import html_grid
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.concepts.query import Query
from conceptor.fit import FitOptions, fit_methods
from conceptor.integrations.objects import open_rows
from conceptor.methods import MethodsLike, as_methods
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.search import Nearest, search
from conceptor.vectors.table import MISSING, WordVectors
from conceptor.vectors.texts import BACKGROUND_ROWS, plain_text, read_some
from conceptor.vectors.vectors import RowKind, Vectors, keep, refuse_settings
from conceptor.weights import why_not_ranked

# From docs/data/neighbors.json: finds more synonyms, at the same rank of neighbors as before.
PRIOR = 0.02
# Spelling is compared with the most common words only: rare ones are often misspelled themselves.
_COMMON = 100_000
_SIMILAR = 0.75


@dataclass(frozen=True)
class Unknown:
    """A word without a vector, the name of the vectors, suggestions, and its kind."""

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
    """Return the words that a table has, as typed or in lower case, and the others, each once."""
    spellings = {word: word if word in table else word.lower() for word in words}
    present = [each for each in spellings.values() if each in table]
    return list(dict.fromkeys(present)), [w for w, each in spellings.items() if each not in table]


def suggest(word: str, words: Iterable[str], n: int = 3) -> list[str]:
    """Return words of the vectors in another case first, then those with similar spelling."""
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
    words: str | int | Query | Iterable[str | int],
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
    words : str, int, several of them, or a Query
        A word is looked up unchanged, then in lower case. For rows of texts, a string is a text or
        a row number from 1, and an int is a row index from 0. All words of a `Query` must have
        vectors.
    methods
        Methods that post-process the vectors first.
    options : FitOptions, optional
        How the methods are fitted.
    n : int
        The number of neighbors of each word.
    among : int, optional
        Search only this many first words.
    prior : float, optional
        Preference for common words: see `conceptor.vectors.search.Nearest`. By default 0.02 if
        the words are sorted by frequency, else 0.
    texts : optional
        The text of each row, as a path or strings.
    column : optional
        The column of a table that holds the vectors.
    rows : optional
        Whether rows are `words` or `texts`.
    background : Background or path, optional
        The reference for cosines of texts, for a single method, by default random pairs of the
        rows. `BackgroundWarning` if it does not suit them.
    unknown : callable, optional
        Called with each word without a vector, if any has one; by default they are an error.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor import most_similar
    >>> near = most_similar((["up", "down", "upper"], np.array([[1, 0], [-1, 0], [1, 0.1]])), "up")
    >>> [neighbor.word for neighbor in near["original"]["up"]]
    ['upper', 'down']
    >>> from conceptor.concepts.query import Query
    >>> table = ["bank", "shore", "river", "loan"], np.array([[1, 1], [0, 2], [0.1, 2], [2, 0.5]])
    >>> near = most_similar(table, Query("bank", without=["shore"]))
    >>> [neighbor.word for neighbor in near["original"]["bank without shore"]]
    ['loan', 'river']
    """
    query = words if isinstance(words, Query) else None
    each_word = query.words if query else [words] if isinstance(words, (str, int)) else words
    queries: list[str | int] = list(dict.fromkeys(each_word))  # type: ignore[arg-type]
    if not queries or n < 1:
        raise InvalidInputError("ask for at least one word and one neighbor")
    opened = keep(open_rows(vectors, texts, column=column, rows=rows))
    if opened.kind is not RowKind.TEXTS:
        refuse_settings(opened, "texts", background=background)
        typed = list(map(str, queries))
        spellings = {*typed, *map(str.lower, typed)}
        fitted = fit_methods(opened, methods, options, wanted=spellings, progress=progress)
        table = next(iter(fitted.rows.values()))
        prior = choose_prior(prior, opened)
        present: Sequence[str | Query]
        if query:
            # A dropped exclusion would change the results without a warning.
            _report_unknown([word for word in typed if word not in table], opened)
            present = [query]
            searches = {
                name: query.search(rows, n, prior=prior, among=among)
                for name, rows in fitted.rows.items()
            }
        else:
            present, missing = look_up(typed, table)
            _report_unknown(missing, opened, unknown if present else None)
            searches = plan_searches(opened, fitted.rows, present, n, prior, among)
        names = search(opened, _alone(searches), fitted.methods, progress)
        return name_neighbors(searches, names, present, n)

    refuse_settings(opened, "words", prior=prior, query=query)
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
    names = search(opened, _alone(searches), fitted.methods, progress)
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


def plan_searches(
    vectors: Vectors,
    tables: Mapping[str, WordVectors],
    words: Sequence[str],
    n: int,
    prior: float | None = None,
    among: int | None = None,
) -> dict[str, Nearest]:
    """Return a search for the neighbors of these words for each method."""
    prior = choose_prior(prior, vectors)
    # One more than requested: each word is its own nearest word.
    return {
        name: Nearest(table.vectors[table.rows(words)], n + 1, prior=prior, among=among)
        for name, table in tables.items()
    }


def choose_prior(prior: float | None, vectors: Vectors) -> float:
    """Return the prior; by default it prefers common words if the file is sorted by frequency."""
    if prior is not None and not math.isfinite(prior):
        raise InvalidInputError(f"--prior must be a finite number, not {prior}")
    if prior is not None or vectors.kind is RowKind.TEXTS:
        return prior or 0.0
    return PRIOR if why_not_ranked(vectors) is None else 0.0


def name_neighbors(
    searches: Mapping[str, Nearest],
    names: Mapping[int, str],
    words: Sequence[str | Query],
    n: int,
) -> Neighbors:
    """Return the results of searches by method and word or query, without the words themselves."""
    neighbors = Neighbors({method: {} for method in searches})
    for method, each in searches.items():
        for word, near in zip(words, _named(each, names), strict=True):
            own = word.words if isinstance(word, Query) else (word,)
            neighbors[method][str(word)] = [one for one in near if one.word not in own][:n]
    return neighbors


def _alone(searches: Mapping[str, Nearest]) -> dict[str, list[Nearest]]:
    return {name: [each] for name, each in searches.items()}


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


def _report_unknown(
    missing: Sequence[str], vectors: Vectors, report: Callable[[Unknown], object] | None = None
) -> None:
    """Report unknown words with similar ones, and texts with texts that contain them; or raise."""
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
    """Return the reference for cosines: the given one, or random pairs if there are enough rows."""
    is_enough = np.count_nonzero(rows.any(axis=1)) >= FEWEST_ROWS
    if background is None:
        return Background.fit(rows, pairs=pairs) if is_enough else None
    loaded = background if isinstance(background, Background) else Background.load(background)
    if is_enough:
        loaded.check(rows)
    return loaded
