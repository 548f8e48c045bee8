"""Evidence, found while fitting, that a method may not help."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.recipes import Words

if TYPE_CHECKING:
    from conceptor.algebra.recipes import Recipe, Solution
    from conceptor.fitting.gathering import Gathered
    from conceptor.weights import Weights

# Above this participation ratio, running text shares little that could be removed.
EVEN_ENOUGH = 0.5
# This many vectors at the start of a sorted file make up most of running text.
_ENOUGH_TO_DOUBT = 20_000


def find_doubt(solution: Solution, participation: float) -> str:
    """Return why a negation by usage should not or may not help; an empty string otherwise.

    `participation` is the participation ratio of running text before vectors are brought to length
    1: if frequent words are short already, as in models made for averages, little is shared.
    """
    if solution.aperture is None or solution.recipe.words is not Words.USAGE:
        return ""
    if not solution.spectrum.values.any():
        return "should not help: all vectors are zero"
    if solution.spectrum.rank == 1:
        return "should not help: all vectors are multiples of a single vector"
    if participation < EVEN_ENOUGH or solution.moments.count <= solution.moments.dimension:
        return ""
    return (
        "may not help: running text already spreads evenly over the directions (participation "
        f"ratio {participation:.2f}; {EVEN_ENOUGH} or more counts as even)"
    )


def may_doubt(recipe: Recipe) -> bool:
    """Return whether evidence against a method is possible: only for a negation by usage."""
    return recipe.words is Words.USAGE and "aperture" in recipe.parameters


def of_first(weights: Weights) -> Weights:
    """Return the weights of running text, without `unit`, over the first vectors only."""
    top = min(weights.top or _ENOUGH_TO_DOUBT, _ENOUGH_TO_DOUBT)
    return replace(weights, unit=False, top=top)


def participation_of(gathered: Gathered, weights: Weights) -> float:
    """Return the participation ratio of running text; 0 if none of its words was found."""
    if weights not in gathered.moments:
        return 0.0
    moment = gathered.moments[weights].second_moment
    scaled = moment / (np.abs(moment).max() or 1.0)
    # (Σ λ)² / Σ λ² / n, as in `isotropy`, without an eigendecomposition.
    return float(np.trace(scaled) ** 2 / (np.vdot(scaled, scaled) or 1.0) / len(scaled))
