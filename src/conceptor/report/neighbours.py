"""Neighbours of ten words for the report, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.algebra.methods import ORIGINAL
from conceptor.fitting import first_words
from conceptor.neighbours import most_similar
from conceptor.report.page import main_method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.methods import LexiconRecipe, Recipe
    from conceptor.fitting import FitOptions
    from conceptor.neighbours import Neighbour

# Common words of several kinds; those that the vectors have among their first are shown.
EXAMPLES = (
    "bank", "doctor", "music", "river", "school", "war", "summer", "car", "market", "paris",
    "water", "game", "king", "house", "red", "monday", "buy", "small",
)  # fmt: skip
_SHOWN = 10
_NEAR = 8


def neighbours_before_and_after(
    vectors: object,
    chains: Mapping[str, Sequence[Recipe | LexiconRecipe]],
    options: FitOptions | None = None,
) -> dict[str, dict[str, list[Neighbour]]] | None:
    """Return the neighbours of ten words as they are and under the main method."""
    method = main_method(chains)
    if method is None:
        return None
    first = first_words(vectors)
    words = [word for word in EXAMPLES if word in first]
    # Of vectors in another language, words from the middle of the frequent ones.
    words += [word for word in first[len(first) // 4 :] if word.isalpha() and word not in words]
    shown = (words or first)[:_SHOWN]
    both = {ORIGINAL: (), method: chains[method]}
    return most_similar(vectors, shown, both, options, n=_NEAR)
