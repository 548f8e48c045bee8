"""Concepts given by lists or pairs of words, and their moments in given vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from conceptor.algebra.moments import Moments
from conceptor.base.arrays import Float64, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.base.progress import Progress, silent
from conceptor.concepts.expressions import check_name
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import ORIGINAL
from conceptor.vectors.table import MISSING, WordVectors

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
        if {len(item) for item in self.items} not in ({1}, {2}) or (
            len(set(self.items)) < self._fewest
        ):
            raise InvalidInputError(
                f"{self.source}: a concept must be a list of two words or more, or a list of pairs"
            )

    @classmethod
    def parse(cls, value: object) -> Concept:
        """Read a file of words or pairs, `he,him,his`, `he:she,man:woman`, or a collection."""
        match value:
            case str() if (
                "," in value or (":" in value and os.sep not in value)
            ) and not os.path.exists(value):
                parts = (tuple(part.strip().split(":")) for part in value.split(","))
                return cls(tuple(part for part in parts if part != ("",)), repr(value))
            case str() | os.PathLike():
                items = []
                for _, line in read_lines(value, "(nor a list such as he,him,his)"):
                    items.append(tuple(line.split("\t") if "\t" in line else line.split()))
                return cls(tuple(items), str(value))
            case Iterable():
                return cls(tuple((x,) if isinstance(x, str) else tuple(x) for x in value))
        raise InvalidInputError(f"a concept must be a file, words or pairs of words, not {value!r}")

    @property
    def is_of_pairs(self) -> bool:
        """Whether it is a list of pairs, whose differences count."""
        return len(self.items[0]) == 2

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


def learn_concepts(
    vectors: object,
    concepts: Mapping[str, object],
    names: Iterable[str] | None = None,
    options: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> tuple[dict[str, Moments], list[str]]:
    """Return the moments of concepts in unit vectors, by name, in one pass, and remarks.

    `names` are the concepts that are needed, by default all; `usage` is always defined.
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
    return moments, remarks
