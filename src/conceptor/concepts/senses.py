"""Senses of a word: its cloud in clusters, told apart by NOT and joined by OR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.concepts.clouds import Cloud

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64

__all__ = ["Senses"]


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
