"""Words as conceptors: clouds of neighbours or contexts, how far one lies in another, and senses.

Neither entailment by clouds nor senses paid (docs/studies/entailment.md, senses.md), so they are
not in the package.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.algebra.conceptors import Conceptor
from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.vectors.chunks import as_vectors, collect_rows, number_chunks, read_chunks
from conceptor.vectors.search import Nearest, search

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import numpy.typing as npt
    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.vectors.table import WordVectors

__all__ = ["Cloud", "Entailment", "context_clouds", "contexts", "neighbour_clouds"]


class Entailment(NamedTuple):
    """Graded forms of A ≤ B, "every A is a B"; more is more of it.

    Attributes
    ----------
    evidence : float
        ``tr(R_A C_B)``: the mean evidence that A's cloud gives of B, from 0 to 1.
    order : float
        The smallest eigenvalue of ``C_B − C_A``, from −1 to 0; 0 says that A ≤ B.
    quota : float
        ``quota(C_B) / quota(C_A)``: how much wider B is.
    """

    evidence: float
    order: float
    quota: float


@dataclass(frozen=True, eq=False)
class Cloud:
    """Vectors that stand for a word, at length 1, and their conceptor.

    Attributes
    ----------
    rows : ndarray of shape (k, n)
    aperture : float
        2 by default: of k vectors along one line four fifths are in.
    """

    rows: Float64
    aperture: float = 2.0

    @cached_property
    def factor(self) -> Float64:
        """F with ``C = F Fᵀ``: as many columns as the cloud has directions, at most k."""
        _, s, V = np.linalg.svd(self.rows, full_matrices=False)
        odds = self.aperture**2 * s**2 / len(self.rows)
        return np.asarray(V.T * np.sqrt(odds / (1 + odds)))

    @property
    def conceptor(self) -> Conceptor:
        """The conceptor, for the algebra."""
        return Conceptor.from_vectors(self.rows, self.aperture)

    def evidence(self, rows: NDArray[Any]) -> Float64:
        """Return the evidence each row of length 1 gives of this cloud: xᵀCx."""
        return np.asarray(((rows @ self.factor) ** 2).sum(axis=1))

    def entails(self, other: Cloud) -> Entailment:
        """Grade how far this cloud lies in another."""
        return Entailment(
            float(other.evidence(self.rows).mean()),
            self.order(other),
            other.quota / self.quota,
        )

    @cached_property
    def quota(self) -> float:
        """The share of the space that the conceptor claims."""
        return float((self.factor**2).sum() / len(self.factor))

    def order(self, other: Cloud) -> float:
        """Return the smallest eigenvalue of ``C_B − C_A``, A this cloud; 0 says A ≤ B."""
        # In a basis of both clouds, where the difference is as small a matrix as it can be.
        both = np.hstack([other.factor, self.factor])
        signs = np.repeat([1.0, -1.0], [other.factor.shape[1], self.factor.shape[1]])
        small = np.linalg.qr(both)[1]
        return min(0.0, float(np.linalg.eigvalsh((small * signs) @ small.T)[0]))


def neighbour_clouds(
    vectors: object,
    words: Iterable[str],
    size: int = 50,
    *,
    aperture: float = 2.0,
    among: int | None = None,
    progress: Progress = silent,
) -> dict[str, Cloud]:
    """Return the cloud of each known word: itself and its nearest neighbours among all words.

    Two passes: one that finds them, one that collects them.
    """
    if size < 2:
        raise InvalidInputError(f"a cloud has at least two vectors, not {size}")
    opened = as_vectors(vectors)
    known = collect_rows(opened, set(words), progress)
    asked = list(dict.fromkeys(word for word in words if word in known))
    if not asked:
        raise InvalidInputError("none of the words has a vector; does the case differ?")
    nearest = Nearest(known.vectors[known.rows(asked)], size, among=among)
    search(opened, {"all": [nearest]}, {"all": ()}, progress)
    wanted = np.unique(nearest.rows[nearest.rows >= 0])
    parts = [
        rows[wanted[(wanted >= before) & (wanted < before + len(rows))] - before]
        for before, _, rows in number_chunks(read_chunks(opened))
    ]
    rows = unit_rows(np.concatenate(parts))
    return {
        word: Cloud(rows[np.searchsorted(wanted, found[found >= 0])], aperture)
        for word, found in zip(asked, nearest.rows, strict=True)
    }


def contexts(
    texts: Iterable[Sequence[str]], words: Collection[str], vectors: WordVectors, window: int = 5
) -> Iterator[tuple[str, Float64]]:
    """Yield each occurrence of some words, with the mean of the vectors around it, at length 1.

    Parameters
    ----------
    texts : iterable of lists of tokens
    words : set of str
        May lose words on the way, of which there are enough.
    vectors : WordVectors
        Of the words around; those without a vector do not count.
    window : int
        How many tokens on either side.
    """
    for tokens in texts:
        for place, token in enumerate(tokens):
            if token not in words:
                continue
            around = [*tokens[max(0, place - window) : place], *tokens[place + 1 :][:window]]
            rows = vectors.rows(around)
            rows = rows[rows >= 0]
            if len(rows):
                mean = unit_rows(vectors.vectors[rows]).mean(axis=0, keepdims=True)
                yield token, unit_rows(mean)[0]


def context_clouds(
    texts: Iterable[Sequence[str]],
    words: Iterable[str],
    vectors: WordVectors,
    *,
    window: int = 5,
    most: int = 200,
    least: int = 5,
    aperture: float = 2.0,
) -> dict[str, Cloud]:
    """Return the cloud of the first `most` contexts of each word that has at least `least`."""
    left = set(words)
    found: dict[str, list[Float64]] = defaultdict(list)
    for word, context in contexts(texts, left, vectors, window):
        found[word].append(context)
        if len(found[word]) >= most:
            left.discard(word)
    return {
        word: Cloud(np.array(rows), aperture) for word, rows in found.items() if len(rows) >= least
    }


@dataclass(frozen=True, eq=False)
class Senses:
    """A word's vector, and the clouds of its senses.

    Attributes
    ----------
    vector : ndarray of shape (n,)
    clouds : sequence of Cloud
        One for each sense, the largest first.
    """

    vector: Float64
    clouds: Sequence[Cloud]

    @classmethod
    def from_cloud(cls, vector: npt.ArrayLike, cloud: Cloud, count: int = 2) -> Senses:
        """Divide a word's cloud into senses, by k-means on what the word does not explain.

        The neighbours of a word all resemble it; how they differ from each other shows when the
        word itself is taken out of them.
        """
        from sklearn.cluster import KMeans

        if not 1 <= count <= len(cloud.rows):
            raise InvalidInputError(
                f"{len(cloud.rows)} vectors cannot be divided into {count} senses"
            )
        own = np.asarray(vector, dtype=np.float64)
        along = own / (np.linalg.norm(own) or 1.0)
        rest = cloud.rows - np.outer(cloud.rows @ along, along)
        labels = KMeans(count, n_init=5, random_state=0).fit(rest).labels_
        order = np.argsort(-np.bincount(labels, minlength=count), kind="stable")
        parts = [cloud.rows[labels == label] for label in order if (labels == label).any()]
        return cls(own, [Cloud(rows, cloud.aperture) for rows in parts])

    def __len__(self) -> int:
        return len(self.clouds)

    def evidence(self, rows: NDArray[Any]) -> Float64:
        """Return the mean evidence that vectors of a context, at length 1, give of each sense."""
        return np.array([float(cloud.evidence(rows).mean()) for cloud in self.clouds])

    def vector_of(self, sense: int) -> Float64:
        """Return the word's vector in one sense: behind NOT (OR of the other senses).

        At one aperture OR is the conceptor of the sum of the second moments, so it has as few
        directions as the clouds together.
        """
        others = [cloud for number, cloud in enumerate(self.clouds) if number != sense]
        if not others:
            return self.vector
        joined = np.concatenate([cloud.rows / np.sqrt(len(cloud.rows)) for cloud in others])
        either = Cloud(joined * np.sqrt(len(joined)), others[0].aperture)
        return np.asarray(self.vector - either.factor @ (either.factor.T @ self.vector))

    def vector_in(self, rows: NDArray[Any]) -> Float64:
        """Return the word's vector in a context: in the sense that it gives most evidence of."""
        return self.vector_of(int(self.evidence(rows).argmax()))
