"""The aperture without labels: rules that look at a spectrum, and at how well it is known.

All of them see ``λ / mean(λ)``, so multiplying the vectors by a number changes nothing but the
unit of α; and directions that no vector uses (λ = 0) have no say. `benchmarks/aperture_study.py`
chose `suggested_aperture` among these and the rules of `benchmarks/aperture_rules.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.gates import negated_conceptor
from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conceptor.base.arrays import Float64

# A conceptor that takes up more of the space than this leaves little but noise.
LARGEST_QUOTA = 0.7
# α λ_2 at mean eigenvalue 1, where words weigh by their use and where they count the same.
_SECOND_BY_USE = 5.5
_SECOND_IF_EQUAL = 3.0
# log α, for λ of mean 1, between which an aperture is looked for.
LOWEST, HIGHEST = -12.0, 12.0


def suggested_aperture(
    values: Float64, count: float, effective_count: float | None = None
) -> float:
    """Return the aperture that `aperture="auto"` means.

    Two things have a say, both on the scale where the mean eigenvalue is 1. The strength of the
    second direction (the first is the mean of the words): the farther it stands out, the gentler
    the conceptor. And how well R is known: where words weigh by their use it rests on few of them,
    Kish's effective number ``N = (Σ w)² / Σ w²`` is some hundreds, and the ridge should not fall
    far below what R cannot know, the squared standard error ``tr(R) / N`` of a mean vector.

    With usage, α is the geometric mean of ``5.5 / λ_2`` and ``√(N / m)`` over m directions, or
    less, such that the conceptor takes up at most 0.7 of the space. Where all words count the
    same, R is known, and ``α = 3 / λ_2``. Between the two, from N a quarter of the count to three
    quarters, log α goes from one to the other.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Eigenvalues of the second moment, in any order.
    count, effective_count : float
        How many words R was estimated on, and Kish's N; by default words count the same.

    Returns
    -------
    float
        α on the scale of the vectors; 0 where there is no variance at all.
    """
    equal = second_aperture(values, _SECOND_IF_EQUAL)
    if effective_count is None:
        return equal
    second = second_aperture(values, _SECOND_BY_USE)
    between = float(np.sqrt(second) * np.sqrt(noise_aperture(values, effective_count)))
    by_use = min(between, quota_aperture(values, LARGEST_QUOTA))
    share = min(max(2 * effective_count / count - 0.5, 0.0), 1.0) if count else 1.0
    return float(by_use ** (1 - share) * equal**share)


def second_aperture(values: Float64, product: float) -> float:
    """Return α with ``α λ_2 = product`` at mean λ 1.

    A second direction below the mean (one direction holds nearly everything) counts as the mean.
    """

    def choose(scaled: Float64) -> float:
        second = np.sort(scaled)[::-1][1:2]
        return float(np.log(product / second.max(initial=1.0)))

    return scale_free(values, choose)


def noise_aperture(values: Float64, effective_count: float) -> float:
    """Return α with ``α⁻² = tr(R) / N``: over m used directions ``α² = N / m`` at mean λ 1."""
    return scale_free(values, lambda scaled: 0.5 * np.log(effective_count / len(scaled)))


def isotropy(values: Float64) -> float:
    """Return the participation ratio of a spectrum over its length, between 1/n and 1."""
    largest = values.max(initial=0.0)
    if not largest > 0:
        return 0.0
    scaled = values / largest
    return float(scaled.sum() ** 2 / (scaled @ scaled) / len(values))


def quota_aperture(values: Float64, quota: float) -> float:
    """Return the aperture at which ``Σ s_i / m`` over the m used directions is `quota`."""
    if not 0 < quota < 1:
        raise InvalidInputError(f"a quota lies between 0 and 1, not at {quota}")
    return scale_free(
        values,
        lambda scaled: _root(lambda log: float(np.mean(singular_values(scaled, log))) - quota),
    )


def leading_aperture(values: Float64, kept: float) -> float:
    """Return the aperture that keeps the share `kept` of the strongest direction."""
    if not 0 < kept < 1:
        raise InvalidInputError(f"the share that is kept lies between 0 and 1, not at {kept}")
    return scale_free(values, lambda scaled: 0.5 * np.log((1 / kept - 1) / scaled.max()))


def scale_free_aperture(values: Float64, aperture: float) -> float:
    """Return α for R divided by its mean eigenvalue, on the scale of the vectors."""
    return aperture * scale_free(values, lambda _: 0.0)


def scale_free(values: Float64, choose: Callable[[Float64], float]) -> float:
    """Let `choose` see the used eigenvalues at mean 1 and bring its log α to their scale."""
    used = _used(values)
    if not len(used):
        return 0.0
    largest = used.max()
    mean = float((used / largest).mean())
    log = choose(used / largest / mean)
    # Factor by factor, so that no product leaves the range of floating point.
    return float(np.exp(log) / np.sqrt(mean) / np.sqrt(largest))


def _used(values: Float64) -> Float64:
    return values[values > 0]


def singular_values(scaled: Float64, log: float) -> Float64:
    """Return ``s = α² λ / (1 + α² λ)`` for log α."""
    return 1 - negated_conceptor(scaled, float(np.exp(log)))


def _root(increasing: Callable[[float], float]) -> float:
    """Return where a function passes zero, by halving: importing an optimiser takes far longer."""
    low, high = LOWEST, HIGHEST
    if increasing(high) < 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return high
