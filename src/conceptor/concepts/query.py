"""Search by examples: words like these, but not like those."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.conceptors import Conceptor
from conceptor.base.arrays import Float64, as_matrix, block_slices, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.concepts.found import Neighbour, find_words
from conceptor.concepts.neighbours import choose_prior, find_known
from conceptor.fitting import FitOptions, fit_methods
from conceptor.vectors.chunks import as_vectors, keep_vectors
from conceptor.vectors.search import Nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt
    from numpy.typing import NDArray

    from conceptor.methods import MethodsLike
    from conceptor.vectors.table import WordVectors

    # Words, or several lists of words.
    Examples = str | Iterable[str | Iterable[str]]

# From benchmarks/exclusions.py, on categories of words.
STRENGTH = 5.0
MARGIN = 0.8


@dataclass(frozen=True, init=False)
class Query:
    """A query for words like some examples, unlike others, and within a field of further examples.

    Parameters
    ----------
    like : str or words
        Examples to look for.
    without : words or lists of words, optional
        Examples to exclude. Each of several lists has its own conceptor, joined by OR.
    within : words or lists of words, optional
        Examples of the field to search in; several lists are joined by OR as well.
    aperture : float
        Aperture of the examples' conceptors, at length 1; see `Region.from_vectors`.
    strength : float
        Size of the penalty on excluded words; 0 for none.
    margin : float
        A word gets a penalty if its nearness to the excluded examples exceeds this share of its
        nearness to the wanted ones. A smaller margin excludes more.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor.concepts.query import Query
    >>> table = ["bank", "shore", "river", "loan"], np.array([[1, 1], [0, 2], [0.1, 2], [2, 0.5]])
    >>> [one.word for one in Query("bank").rank(table)]
    ['loan', 'river', 'shore']
    >>> [one.word for one in Query("bank", without=["shore"]).rank(table)]
    ['loan', 'river']
    """

    like: tuple[str, ...]
    without: tuple[tuple[str, ...], ...]
    within: tuple[tuple[str, ...], ...]
    aperture: float
    strength: float
    margin: float

    def __init__(
        self,
        like: str | Iterable[str],
        without: Examples = (),
        within: Examples = (),
        *,
        aperture: float = 1.0,
        strength: float = STRENGTH,
        margin: float = MARGIN,
    ) -> None:
        wanted = tuple(dict.fromkeys([like] if isinstance(like, str) else like))
        if not wanted:
            raise InvalidInputError("a query needs at least one word to look for")
        vars(self).update(
            like=wanted,
            without=_groups(without, "exclude"),
            within=_groups(within, "keep to"),
            aperture=aperture,
            strength=strength,
            margin=margin,
        )
        both = sorted(set(wanted).intersection(*[sum(self.without, ())]))
        if both:
            raise InvalidInputError(f"{both[0]!r} is both wanted and excluded; remove one")

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words in it."""
        groups = (self.like, *self.without, *self.within)
        return tuple(dict.fromkeys(word for group in groups for word in group))

    def criterion(self, vectors: WordVectors) -> Criterion:
        """Return the query's criterion for vectors that have all its words."""
        rows = [
            [vectors.vectors[vectors.rows(group)] for group in groups]
            for groups in ((self.like,), self.without, self.within)
        ]
        return Criterion.from_vectors(
            rows[0][0],
            *rows[1:],
            aperture=self.aperture,
            strength=self.strength,
            margin=self.margin,
        )

    def rank(
        self,
        vectors: object,
        n: int = 10,
        *,
        method: str = "original",
        among: int | None = None,
        prior: float | None = None,
    ) -> list[Neighbour]:
        """Return the best words of given vectors after `method`; see `rank_words`."""
        return rank_words(vectors, self, [method], n=n, among=among, prior=prior)[method]


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
) -> dict[str, list[Neighbour]]:
    """Find the best words for a query, among all words of the vectors.

    Parameters are those of `most_similar`. The words of the query are not among the results.
    """
    if n < 1:
        raise InvalidInputError("ask for at least one word")
    opened = keep_vectors(as_vectors(vectors))
    asked = query.words
    fitted = fit_methods(opened, methods, options, wanted=set(asked), progress=progress)
    find_known(asked, fitted, opened)
    prior = choose_prior(prior, opened)
    searches = {}
    for name, rows in fitted.rows.items():
        criterion = query.criterion(rows)
        searches[name] = Nearest(
            criterion.direction[np.newaxis],
            n + len(asked),
            prior=prior,
            among=among,
            penalty=criterion.penalty if criterion.selective else None,
        )
    own = set(asked)
    return {
        method: [one for one in found[0] if one.word not in own][:n]
        for method, found in find_words(opened, fitted, searches, progress).items()
    }


@dataclass(frozen=True, eq=False)
class Region:
    """The region of examples: their conceptor, and how much of the examples it keeps.

    Attributes
    ----------
    conceptor : Conceptor
    own : float
        The root mean square of ``|C x|`` over the examples, at length 1.
    """

    conceptor: Conceptor
    own: float

    @classmethod
    def from_vectors(cls, groups: Sequence[npt.ArrayLike], aperture: float = 1.0) -> Region:
        """Return the region of groups of examples, joined by OR.

        By default α = 1: with vectors of length 1 the eigenvalues add up to 1, so the conceptor
        keeps a third of a direction with half of the examples' energy, for any number of examples.
        """
        rows = [unit_rows(group) for group in groups]
        conceptor = reduce(or_, (Conceptor.from_vectors(each, aperture) for each in rows))
        kept = np.concatenate(rows) @ (conceptor.vectors * conceptor.singular_values)
        return cls(conceptor, float(np.sqrt((kept**2).sum(axis=1).mean())))

    @cached_property
    def factor(self) -> Float64:
        """F with ``nearness(x) = |Fᵀ x|``: one column per direction of the examples."""
        shares = self.conceptor.singular_values
        used = shares > 1e-9  # few examples span few directions
        return np.asarray(self.conceptor.vectors[:, used] * (shares[used] / (self.own or 1.0)))

    def nearness(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return ``|C x|`` of rows of length 1, relative to the examples' own."""
        kept = rows @ self.factor.astype(rows.dtype)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", kept, kept)))


@dataclass(frozen=True, eq=False)
class Criterion:
    """The criterion of a query, in the space of given vectors.

    The score of a vector x of length 1 is its cosine with the mean of the wanted examples, minus

    ``strength · max(0, u(x) − margin · w(x))`` and ``strength · max(0, margin · w(x) − f(x))``

    with its nearness w to the wanted examples, u to the excluded ones, and f to the field (see
    `Region`). So words too near to the excluded examples, or not near enough to the field, get a
    penalty, and nothing else changes. Subtracting the excluded mean would also lift words that lie
    opposite to it.
    """

    direction: Float64
    wanted: Region | None = None  # needed only together with one of the others
    unwanted: Region | None = None
    field: Region | None = None
    strength: float = STRENGTH
    margin: float = MARGIN

    @classmethod
    def from_vectors(
        cls,
        like: npt.ArrayLike,
        without: Sequence[npt.ArrayLike] = (),
        within: Sequence[npt.ArrayLike] = (),
        *,
        aperture: float = 1.0,
        strength: float = STRENGTH,
        margin: float = MARGIN,
    ) -> Criterion:
        """Return the criterion of examples: one array of wanted ones, several of the others."""
        mean = unit_rows(like).mean(axis=0)
        length = float(np.linalg.norm(mean))
        if not length > 0:
            raise InvalidInputError("the vectors of the wanted words cancel each other out")
        beside = [like] if len(without) or len(within) else []
        wanted, unwanted, field = (
            Region.from_vectors(groups, aperture) if len(groups) else None
            for groups in (beside, without, within)
        )
        return cls(mean / length, wanted, unwanted, field, strength, margin)

    @property
    def selective(self) -> bool:
        """Whether it involves more than nearness to the mean of the examples."""
        return self.wanted is not None

    def penalty(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the penalty on the cosine of each row; rows have length 1."""
        if self.wanted is None:
            return np.zeros(len(rows), dtype=rows.dtype)
        return self.penalty_by(lambda region: region.nearness(rows))

    def penalty_by(self, nearness: Callable[[Region], NDArray[Any]]) -> NDArray[Any]:
        """Return the penalty, given the nearness of rows to each region."""
        assert self.wanted is not None
        wanted = nearness(self.wanted)
        bar = wanted * wanted.dtype.type(self.margin)
        lost = np.zeros_like(bar)
        if self.unwanted is not None:
            lost += np.maximum(nearness(self.unwanted) - bar, 0)
        if self.field is not None:
            lost += np.maximum(bar - nearness(self.field), 0)
        return np.asarray(lost * bar.dtype.type(self.strength))

    def scores(self, X: npt.ArrayLike) -> Float64:
        """Return the score of each row of `X`; a row of zeros has −∞."""
        vectors = as_matrix(X)
        scores = np.empty(len(vectors))
        for part in block_slices(*vectors.shape):
            rows = unit_rows(vectors[part])
            scores[part] = rows @ self.direction - self.penalty(rows)
            scores[part][~rows.any(axis=1)] = -np.inf
        return scores


def _groups(examples: Examples, purpose: str) -> tuple[tuple[str, ...], ...]:
    """Return lists of words: the given lists, and all single words as one list."""
    given = [examples] if isinstance(examples, str) else list(examples)
    single = [each for each in given if isinstance(each, str)]
    lists = [single] * bool(single) + [list(each) for each in given if not isinstance(each, str)]
    if not all(lists) or not all(word for group in lists for word in group):
        raise InvalidInputError(f"a list of words to {purpose} is empty or contains an empty word")
    return tuple(tuple(dict.fromkeys(group)) for group in lists)
