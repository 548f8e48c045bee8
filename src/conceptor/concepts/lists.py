"""Concepts given by lists or pairs of words, and their conceptors for given vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from conceptor.algebra.aperture import scale_free_aperture
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.base.progress import Progress, silent
from conceptor.concepts.expressions import check_name
from conceptor.fitting import FitOptions, fit_methods
from conceptor.methods import ORIGINAL
from conceptor.vectors.chunks import as_vectors
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Aperture = float | Literal["auto"]
    # One for all concepts but `usage`, or one per name.
    Apertures = Aperture | Mapping[str, Aperture]

# A concept that every expression may use: the directions that running text shares; `cn` negates it.
USAGE = "usage"
_USAGE_METHOD = "cn"
# The number of unknown words listed in a remark.
_NAMED = 5


@dataclass(frozen=True)
class Concept:
    """Words that belong to a concept, or pairs of words that differ by it.

    Attributes
    ----------
    items : tuple of (word,) or of (word, word)
        All of the same length: the concept describes the words, or the differences of pairs.
    source : str
        Their origin, for messages.
    """

    items: tuple[tuple[str, ...], ...]
    source: str = "the list"

    def __post_init__(self) -> None:
        sizes = {len(item) for item in self.items}
        if len(sizes) > 1 or not sizes <= {1, 2}:
            raise InvalidInputError(
                f"{self.source}: mixes words and pairs; a concept must be a list of either kind"
            )
        least = 1 if self.pairs else 2
        if len(set(self.items)) < least:
            found = "is empty" if not self.items else "has a single word"
            raise InvalidInputError(f"{self.source}: {found}; a concept needs two words or more")

    @classmethod
    def parse(cls, value: object) -> Concept:
        """Return the concept for a user's input.

        A file with one word or one pair per line; `he,him,his`; `he:she,man:woman`; or a
        collection of words or of pairs.
        """
        match value:
            case Concept():
                return value
            case str() if _is_list(value):
                items = (tuple(part.strip().split(":")) for part in value.split(","))
                return cls(tuple(item for item in items if item != ("",)), repr(value))
            case str() | os.PathLike():
                return cls.read(value)
            case Iterable():
                return cls(tuple((x,) if isinstance(x, str) else tuple(x) for x in value))
        raise InvalidInputError(f"a concept must be a file, words or pairs of words, not {value!r}")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Concept:
        """Read one word per line, or one pair per line, separated by a tab or a space."""
        items = []
        for number, line in read_lines(path, "words", "(nor a list such as he,him,his)"):
            item = tuple(line.split("\t") if "\t" in line else line.split())
            if len(item) > 2:
                raise InvalidInputError(
                    f"{path}, line {number}: expected one word or two, found {line[:60]!r}"
                )
            items.append(item)
        return cls(tuple(items), str(path))

    @property
    def pairs(self) -> bool:
        """Whether it is a list of pairs, whose differences count."""
        return bool(self.items) and len(self.items[0]) == 2

    @property
    def words(self) -> frozenset[str]:
        """All words in it."""
        return frozenset(word for item in self.items for word in item)

    def rows(self, vectors: WordVectors) -> NDArray[np.float64]:
        """Return the known words' vectors at length 1, or the differences of each pair's vectors.

        A word in the list twice counts once.
        """
        found = np.array([vectors.rows(item) for item in dict.fromkeys(self.items)])
        found = found[(found != MISSING).all(axis=1)]
        least = 1 if self.pairs else 2
        if len(found) < least:
            kind = "pairs" if self.pairs else "words"
            raise InvalidInputError(
                f"{self.source}: {len(found)} of its {len(self.items)} {kind} have vectors; "
                f"{least} or more are needed; does the spelling or the case differ?"
            )
        sides = [unit_rows(vectors.vectors[column]) for column in found.T]
        rows = sides[0] - sides[1] if self.pairs else sides[0]
        if not rows.any():
            raise InvalidInputError(
                f"{self.source}: its pairs have equal vectors, or its vectors are zero; there is "
                "nothing to learn"
            )
        return rows

    def unknown(self, vectors: WordVectors) -> list[str]:
        """Return the words that have no vector, in the order of the list."""
        words = dict.fromkeys(word for item in self.items for word in item)
        return [word for word in words if word not in vectors]


def _is_list(text: str) -> bool:
    """Return whether this is a list such as `he,him` or `he:she`, not a file name."""
    listed = "," in text or (":" in text and os.sep not in text)
    return listed and not os.path.exists(text)


@dataclass(frozen=True, eq=False)
class Concepts:
    """The moments of concepts in given vectors, at length 1.

    Attributes
    ----------
    moments : dict of str to Moments
        By name, including `usage` if requested.
    remarks : sequence of str
        The unknown words of each list, and the weights of `usage`.
    """

    moments: Mapping[str, Moments]
    remarks: Sequence[str] = ()

    def conceptors(self, aperture: Apertures = "auto") -> dict[str, Conceptor]:
        """Return the conceptors: all but `usage` at one aperture, or each at its own.

        `auto` (also for concepts without a named aperture) keeps half of the mean direction in
        use, so lists of any length and kind count alike; for `usage` it is the aperture of `cn`.
        """
        one_by_one = (
            aperture
            if isinstance(aperture, Mapping)
            else dict.fromkeys(self.moments.keys() - {USAGE}, aperture)
        )
        found = {}
        for name, moments in self.moments.items():
            spectrum = Spectrum.from_matrix(moments.second_moment)
            own = one_by_one.get(name, "auto")
            alpha = scale_free_aperture(spectrum.values) if own == "auto" else own
            found[name] = Conceptor.from_spectrum(spectrum, alpha)
        return found


def learn_concepts(
    vectors: object,
    concepts: Mapping[str, object],
    names: Iterable[str] | None = None,
    options: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> Concepts:
    """Measure concepts in vectors, in one pass.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    concepts : mapping of names to lists
        As for `Concept.parse`.
    names : names, optional
        The concepts that are needed, by default all. `usage` is always defined: the directions
        that running text shares, with the default weights of `cn`.
    options : FitOptions, optional
        Usage weights, for `usage`.
    """
    known = {check_name(name): Concept.parse(value) for name, value in concepts.items()}
    if USAGE in known:
        raise InvalidInputError(f"{USAGE} is a reserved name; give the concept another name")
    needed = list(known if names is None else names)
    opened = as_vectors(vectors)
    lists = {name: known[name] for name in needed if name in known}
    wanted = frozenset[str]().union(*(concept.words for concept in lists.values()))
    asked = [ORIGINAL] + [_USAGE_METHOD] * (USAGE in needed)
    found = fit_methods(opened, asked, options, wanted=wanted, progress=progress)
    rows = found.rows[ORIGINAL]
    moments = {name: Moments.from_vectors(concept.rows(rows)) for name, concept in lists.items()}
    if USAGE in needed:
        solution = found.methods[_USAGE_METHOD].solution
        assert solution is not None
        moments[USAGE] = solution.moments
    remarks = found.cautions
    for name, concept in lists.items():
        unknown = concept.unknown(rows)
        if unknown:
            some = ", ".join(unknown[:_NAMED]) + (", ..." if len(unknown) > _NAMED else "")
            remarks.append(
                f"{name}: {len(unknown)} of {len(concept.words)} words have no vector and were "
                f"left out: {some}"
            )
    return Concepts(moments, remarks)
