"""Concepts given by lists or pairs of words, and their conceptors for given vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from conceptor.algebra.aperture import scale_free_aperture
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import Float64, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.base.progress import Progress, silent
from conceptor.concepts.expressions import check_name
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import ORIGINAL
from conceptor.vectors.table import MISSING, WordVectors

Aperture = float | Literal["auto"]
# One for all concepts but `usage`, or one per name.
Apertures = Aperture | Mapping[str, Aperture]
# A concept that every expression may use: the directions that running text shares; `cn` negates it.
USAGE = "usage"
_USAGE_METHOD = "cn"


@dataclass(frozen=True)
class Concept:
    """Words that belong to a concept, or pairs of words that differ by it.

    `items` are tuples of one word, or all of two words; `source` is their origin, for messages.
    """

    items: tuple[tuple[str, ...], ...]
    source: str = "the list"

    def __post_init__(self) -> None:
        sizes = {len(item) for item in self.items}
        if len(sizes) > 1 or not sizes <= {1, 2}:
            raise InvalidInputError(
                f"{self.source}: mixes words and pairs; a concept must be a list of either kind"
            )
        if len(set(self.items)) < self._fewest:
            problem = "has a single word" if self.items else "is empty"
            raise InvalidInputError(f"{self.source}: {problem}; a concept needs two words or more")

    @classmethod
    def parse(cls, value: object) -> Concept:
        """Return the concept for a user's input.

        A file with one word or one pair per line, separated by a tab or a space; `he,him,his`;
        `he:she,man:woman`; or a collection of words or of pairs.
        """
        match value:
            case Concept():
                return value
            case str() if (
                "," in value or (":" in value and os.sep not in value)
            ) and not os.path.exists(value):
                parts = (tuple(part.strip().split(":")) for part in value.split(","))
                return cls(tuple(part for part in parts if part != ("",)), repr(value))
            case str() | os.PathLike():
                items = []
                for number, line in read_lines(value, "words", "(nor a list such as he,him,his)"):
                    items.append(tuple(line.split("\t") if "\t" in line else line.split()))
                    if len(items[-1]) > 2:
                        raise InvalidInputError(
                            f"{value}, line {number}: expected one word or two, found {line[:60]!r}"
                        )
                return cls(tuple(items), str(value))
            case Iterable():
                return cls(tuple((x,) if isinstance(x, str) else tuple(x) for x in value))
        raise InvalidInputError(f"a concept must be a file, words or pairs of words, not {value!r}")

    @property
    def is_of_pairs(self) -> bool:
        """Whether it is a list of pairs, whose differences count."""
        return bool(self.items) and len(self.items[0]) == 2

    @property
    def _fewest(self) -> int:
        return 1 if self.is_of_pairs else 2

    @property
    def words(self) -> list[str]:
        """Its distinct words, in order."""
        return list(dict.fromkeys(word for item in self.items for word in item))

    def rows(self, table: WordVectors) -> Float64:
        """Return unit vectors of the distinct words that have one, or differences of the pairs'."""
        places = np.array([table.rows(item) for item in dict.fromkeys(self.items)])
        places = places[(places != MISSING).all(axis=1)]
        if len(places) < self._fewest:
            kind = "pairs" if self.is_of_pairs else "words"
            raise InvalidInputError(
                f"{self.source}: {len(places)} of its {len(self.items)} {kind} have vectors; "
                f"{self._fewest} or more are needed; does the spelling or the case differ?"
            )
        sides = [unit_rows(table.vectors[column]) for column in places.T]
        rows = sides[0] - sides[1] if self.is_of_pairs else sides[0]
        if not rows.any():
            raise InvalidInputError(
                f"{self.source}: its pairs have equal vectors, or its vectors are zero; there is "
                "nothing to learn"
            )
        return rows


@dataclass(frozen=True, eq=False)
class Concepts:
    """The moments of concepts, by name, in given unit vectors.

    `remarks` are the unknown words of each list, and the weights of `usage`.
    """

    moments: Mapping[str, Moments]
    remarks: Sequence[str] = ()

    def conceptors(self, aperture: Apertures = "auto") -> dict[str, Conceptor]:
        """Return the conceptors: all but `usage` at one aperture, or each at its own.

        `auto`, the default, keeps half of the mean direction in use, so lists of any length and
        kind count alike; for `usage` it is the aperture of `cn`.
        """
        if not isinstance(aperture, Mapping):
            aperture = dict.fromkeys(self.moments.keys() - {USAGE}, aperture)
        conceptors = {}
        for name, moments in self.moments.items():
            spectrum = Spectrum.from_matrix(moments.second_moment)
            own = aperture.get(name, "auto")
            alpha = scale_free_aperture(spectrum.values) if own == "auto" else own
            conceptors[name] = Conceptor.from_spectrum(spectrum, alpha)
        return conceptors


def learn_concepts(
    vectors: object,
    concepts: Mapping[str, object],
    names: Iterable[str] | None = None,
    options: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> Concepts:
    """Measure concepts in vectors, in one pass.

    `names` are the concepts that are needed, by default all. `usage` is always defined: the
    directions that running text shares, with the weights of `cn` or those in `options`.
    """
    lists = {check_name(name): Concept.parse(value) for name, value in concepts.items()}
    if USAGE in lists:
        raise InvalidInputError(f"{USAGE} is a reserved name; give the concept another name")
    needed = list(lists if names is None else names)
    lists = {name: lists[name] for name in needed if name in lists}
    methods = [ORIGINAL, _USAGE_METHOD] if USAGE in needed else [ORIGINAL]
    words = {word for concept in lists.values() for word in concept.words}
    fitted = fit_methods(vectors, methods, options, wanted=words, progress=progress)
    table = fitted.rows[ORIGINAL]
    moments = {name: Moments.from_vectors(concept.rows(table)) for name, concept in lists.items()}
    if USAGE in needed and (solution := fitted.methods[_USAGE_METHOD].solution):
        moments[USAGE] = solution.moments
    remarks = fitted.cautions
    for name, concept in lists.items():
        unknown = [word for word in concept.words if word not in table]
        if unknown:
            listed = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            remarks.append(
                f"{name}: {len(unknown)} of {len(concept.words)} words have no vector and were "
                f"left out: {listed}"
            )
    return Concepts(moments, remarks)
