"""The nearest texts among all rows, and the scale of their cosines."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.background import FEWEST_ROWS, Background
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.progress import Progress, silent
from conceptor.concepts.found import Neighbour, Unknown, all_words, find_words, report_unknown
from conceptor.fitting import FitOptions, fit_methods
from conceptor.methods import MethodsLike, as_methods
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import MISSING
from conceptor.vectors.texts import BACKGROUND_ROWS, SomeRows, plain_text, read_some

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors


def near_texts(
    vectors: Vectors,
    asked: Sequence[str | int],
    methods: MethodsLike = ("original",),
    options: FitOptions | None = None,
    *,
    n: int = 10,
    among: int | None = None,
    background: Background | str | os.PathLike[str] | None = None,
    unknown: Callable[[Unknown], object] | None = None,
    progress: Progress = silent,
) -> dict[str, dict[str, list[Neighbour]]]:
    """Find the nearest rows of texts as in `most_similar`, without the row itself."""
    chosen = as_methods(methods)
    if background is not None and len(chosen) > 1:
        raise InvalidInputError(
            Setting("background"), " is for the cosines of one method; name only that method"
        )
    some = read_some(vectors, BACKGROUND_ROWS, asked, progress=progress)
    rows = _known_rows(vectors, asked, some, unknown)
    fitted = fit_methods(vectors, chosen, options, doubts=False, progress=progress)
    searches = {
        name: Nearest(each((), some.vectors[rows]), n + 1, among=among)
        for name, each in fitted.methods.items()
    }
    found = find_words(vectors, fitted, searches, progress)
    sample = some.vectors[some.sample]
    scales = {
        name: choose_background(background, each((), sample))
        for name, each in fitted.methods.items()
    }
    titles = _titles(some, rows)
    return {
        name: {
            title: _say_how_rare([one for one in near if one.rank != place + 1][:n], scales[name])
            for title, place, near in zip(titles, some.places[rows].tolist(), lists, strict=True)
        }
        for name, lists in found.items()
    }


def choose_background(
    given: Background | str | os.PathLike[str] | None,
    rows: NDArray[Any],
    *,
    pairs: int = 1_000_000,
) -> Background | None:
    """Return the reference for cosines: the given one, or random pairs of rows.

    None if there are too few rows for random pairs. Warns if it does not suit the rows.
    """
    enough = np.count_nonzero(rows.any(axis=1)) >= FEWEST_ROWS
    if given is None:
        return Background.fit(rows, pairs=pairs) if enough else None
    found = given if isinstance(given, Background) else Background.load(given)
    if enough:
        found.check(rows)
    return found


def _known_rows(
    vectors: Vectors,
    asked: Sequence[str | int],
    some: SomeRows,
    unknown: Callable[[Unknown], object] | None,
) -> list[int]:
    """Return the requested rows; report unknown ones, or raise."""
    found = {each: some.find(each) for each in asked}
    said = [
        Unknown(str(each), vectors.name, _texts_with(str(each), vectors), "text or row")
        for each, row in found.items()
        if row == MISSING
    ]
    rows = list(dict.fromkeys(row for row in found.values() if row != MISSING))
    report_unknown(said, unknown, any_known=bool(rows))
    return rows


def _texts_with(part: str, vectors: Vectors, most: int = 3) -> list[str]:
    """Return the numbers and beginnings of the first texts that contain a string."""
    wanted = plain_text(part).casefold()
    texts = enumerate(map(plain_text, all_words(vectors)), start=1)
    having = (f"{row} ({shorten(text)})" for row, text in texts if wanted in text.casefold())
    return list(islice(having, most)) if vectors.has_words and wanted else []


def shorten(text: str, most: int = 60) -> str:
    """Return the beginning of a text, on one line."""
    plain = plain_text(text)
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"


def _titles(some: SomeRows, rows: Sequence[int]) -> list[str]:
    """Return the text of each row, with its number if another row has the same text."""
    texts = [some.texts[row] for row in rows]
    return [
        text if texts.count(text) == 1 else f"{text} (row {some.places[row] + 1})"
        for text, row in zip(texts, rows, strict=True)
    ]


def _say_how_rare(near: Sequence[Neighbour], scale: Background | None) -> list[Neighbour]:
    if scale is None:
        return list(near)
    return [replace(one, p=float(scale.p(one.score))) for one in near]
