"""Fitted methods: their steps, the maps and lengths that these are, and how they were fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import matmul
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conceptor.algebra.recipes import Solution
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.chunks import through
from conceptor.vectors.words import PackedWords, WordIndex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.lengths import Lengths, LengthTable
    from conceptor.lexicon.fitting import LexiconMethod
    from conceptor.vectors.chunks import Transform
    from conceptor.vectors.table import WordVectors
    from conceptor.weights import Weights

    Step: TypeAlias = "Solution | Swapped | LexiconMethod"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method of one or several steps, fitted to vectors.

    Attributes
    ----------
    name : str
    steps : sequence of Solution, Swapped or fitted lexicon methods
    lengths : LengthTable or None
        The factors for rows, applied after all steps.
    """

    name: str
    steps: tuple[Step, ...] = ()
    lengths: LengthTable | None = None

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """The steps as functions of words and rows."""
        steps: list[Transform] = [
            _mapping(step.map) if isinstance(step, Solution) else step.transform
            for step in self.steps
        ]
        if self._scaling is None:
            return tuple(steps)
        # Each step returns a new array, and scaling changes its rows.
        return (*(steps or [lambda _, rows: np.array(rows)]), self._scaling)

    @cached_property
    def _scaling(self) -> Transform | None:
        """The step that sets the lengths of rows, in place; packed words stay packed."""
        if (lengths := self.lengths) is None:
            return None
        index = WordIndex(lengths.words)

        def scale(words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
            if not isinstance(words, PackedWords):
                return lengths.scale(words, rows)
            some, numbers = index.find(words)
            if len(some):
                rows[some] *= lengths.factors[numbers].astype(rows.dtype)[:, np.newaxis]
            return rows

        return scale

    def __call__(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Apply all steps to rows."""
        result: NDArray[Any] = through(words, rows, self.transforms)
        return result

    @property
    def solution(self) -> Solution | None:
        """The solution of a method with one spectral step; None for any other method."""
        only = self.steps[0] if len(self.steps) == 1 else None
        return only if isinstance(only, Solution) else None

    @property
    def n_out(self) -> int | None:
        """The dimension of the result; None if it is the same as the input's."""
        maps = [step.others if isinstance(step, Swapped) else step for step in self.steps]
        sizes = [each.map.n_out for each in maps if isinstance(each, Solution)]
        return sizes[-1] if sizes else None

    @property
    def is_map(self) -> bool:
        """Whether all steps together are a single map for all vectors."""
        maps = [step.map for step in self.steps if isinstance(step, Solution)]
        whole = 0 < len(maps) == len(self.steps)
        return whole and not any(each.unit for each in maps[1:])

    @property
    def map(self) -> AffineMap:
        """All steps as a single map, with the lengths; raises if there is no such map."""
        maps = [step.map for step in self.steps if isinstance(step, Solution)]
        if len(maps) < len(self.steps) or not maps:
            raise InvalidInputError(f"{self.name} moves individual words; it is not a single map")
        return reduce(matmul, maps).with_lengths(self.lengths)


@dataclass(frozen=True, eq=False)
class Swapped:
    """One map for some words, and another map for all other words."""

    others: Solution
    own: Solution
    words: Set[str]

    def transform(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Apply the right map to each row."""
        mapped = self.others.map(rows)
        some = [i for i, word in enumerate(words) if word in self.words]
        mapped[some] = self.own.map(rows[some])
        return mapped


def _mapping(map_: AffineMap) -> Transform:
    return lambda _, rows: map_(rows)


@dataclass(frozen=True, eq=False)
class FittedMethods:
    """Methods fitted to the same vectors.

    Attributes
    ----------
    methods : mapping of name to Fitted
    rows : mapping of name to WordVectors
        The wanted rows and the first rows, after each method.
    count : int
        How many vectors were read.
    weights : mapping of name to Weights
        The weights that each method's first step was fitted with, for spectral steps.
    doubts : mapping of name to str
        Why a method should not or may not help, for such methods.
    lengths : mapping of name to Lengths
        How the lengths of rows were set.
    without_usage : set of str
        The methods with `lengths="usage"` for which usage is unknown; their rows have length 1.
    """

    methods: Mapping[str, Fitted]
    rows: Mapping[str, WordVectors]
    count: int
    weights: Mapping[str, Weights]
    doubts: Mapping[str, str] = field(default_factory=dict)
    lengths: Mapping[str, Lengths] = field(default_factory=dict)
    without_usage: Set[str] = frozenset()

    @property
    def cautions(self) -> list[str]:
        """Warnings for users about how words were weighted."""
        return list(dict.fromkeys(each.caution for each in self.weights.values() if each.caution))

    @property
    def notes(self) -> list[str]:
        """Lines that describe how the methods were fitted."""
        found = []
        for weights in dict.fromkeys(self.weights.values()):
            names = [name for name, each in self.weights.items() if each is weights]
            step = self.methods[names[0]].steps[0]
            head = step.others if isinstance(step, Swapped) else step
            of = f"{head.moments.count:,} of {self.count:,}" if isinstance(head, Solution) else ""
            found.append(f"{', '.join(names)}: fitted on {weights.description} ({of} vectors)")
        for name, fitted in self.methods.items():
            if fitted.solution is not None and fitted.solution.aperture is not None:
                found.append(f"{name}: aperture {fitted.solution.aperture:.4g}")
        for name, fitted in self.methods.items():
            if fitted.lengths is not None:
                found.append(f"{name}: lengths by usage, {len(fitted.lengths):,} words shortened")
            elif name in self.without_usage:
                found.append(f"{name}: lengths of 1, because word frequencies are unknown")
        return found
