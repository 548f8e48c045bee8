"""Concepts given by word lists or by pairs of words, and the conceptors vectors make of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.aperture import scale_free_aperture
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.base.progress import silent
from conceptor.concepts.expressions import check_name
from conceptor.fitting import fit_methods
from conceptor.methods import ORIGINAL
from conceptor.vectors.chunks import as_vectors
from conceptor.vectors.table import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.fitting import FitOptions
    from conceptor.vectors.table import WordVectors

    Aperture = float | Literal["auto"]
    # One for all concepts but `usage`, or those of some by name.
    Apertures = Aperture | Mapping[str, Aperture]

__all__ = ["USAGE", "Concept", "Concepts", "learn_concepts"]

# The concept that every expression may name: what running text shares, which `cn` negates.
USAGE = "usage"
_USAGE_METHOD = "cn"
# How many unknown words a remark names.
_NAMED = 5


@dataclass(frozen=True)
class Concept:
    """Words that belong to a concept, or pairs of words that differ by it.

    Attributes
    ----------
    items : tuple of (word,) or of (word, word)
        All of the same length: the concept is where the words lie, or where their differences do.
    source : str
        Where they come from, for messages.
    """

    items: tuple[tuple[str, ...], ...]
    source: str = "the list"

    def __post_init__(self) -> None:
        sizes = {len(item) for item in self.items}
        if len(sizes) > 1 or not sizes <= {1, 2}:
            raise InvalidInputError(
                f"{self.source}: mixes words and pairs; a concept is a list of either"
            )
        least = 1 if self.pairs else 2
        if len(set(self.items)) < least:
            found = "is empty" if not self.items else "has a single word"
            raise InvalidInputError(f"{self.source}: {found}; a concept takes two words or more")

    @classmethod
    def parse(cls, value: object) -> Concept:
        """Return the concept of what users pass.

        A file with a word, or two words, per line; `he,him,his`; `he:she,man:woman`; or a
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
        raise InvalidInputError(f"a concept is a file, words or pairs of words, not {value!r}")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Concept:
        """Read one word per line, or one pair per line, separated by a tab or a space."""
        items = []
        for number, line in read_lines(path, "words", "(nor a list such as he,him,his)"):
            item = tuple(line.split("\t") if "\t" in line else line.split())
            if len(item) > 2:
                raise InvalidInputError(
                    f"{path}, line {number}: expected a word or two, found {line[:60]!r}"
                )
            items.append(item)
        return cls(tuple(items), str(path))

    @property
    def pairs(self) -> bool:
        """Whether differences matter."""
        return bool(self.items) and len(self.items[0]) == 2

    @property
    def words(self) -> frozenset[str]:
        """All words in it."""
        return frozenset(word for item in self.items for word in item)

    def rows(self, vectors: WordVectors) -> NDArray[np.float64]:
        """Return the known words' vectors at length 1, or the differences of those of each pair.

        A word in the list twice counts once.
        """
        found = np.array([vectors.rows(item) for item in dict.fromkeys(self.items)])
        found = found[(found != MISSING).all(axis=1)]
        least = 1 if self.pairs else 2
        if len(found) < least:
            kind = "pairs" if self.pairs else "words"
            raise InvalidInputError(
                f"{self.source}: {len(found)} of its {len(self.items)} {kind} are among the "
                f"vectors, and it takes {least} or more; does the spelling or the case differ?"
            )
        sides = [unit_rows(vectors.vectors[column]) for column in found.T]
        rows = sides[0] - sides[1] if self.pairs else sides[0]
        if not rows.any():
            raise InvalidInputError(
                f"{self.source}: its pairs do not differ, or its vectors are zero; there is "
                "nothing to learn"
            )
        return rows

    def unknown(self, vectors: WordVectors) -> list[str]:
        """Return the words that have no vector, in the order of the list."""
        words = dict.fromkeys(word for item in self.items for word in item)
        return [word for word in words if word not in vectors]


def _is_list(text: str) -> bool:
    """Return whether this is `he,him` or `he:she` rather than the name of a file."""
    listed = "," in text or (":" in text and os.sep not in text)
    return listed and not os.path.exists(text)


@dataclass(frozen=True, eq=False)
class Concepts:
    """What concepts look like in some vectors, at length 1.

    Attributes
    ----------
    moments : dict of str to Moments
        By name; among them `usage`, where it was asked for.
    remarks : sequence of str
        How many words of which list were unknown, and how `usage` weighs words.
    """

    moments: Mapping[str, Moments]
    remarks: Sequence[str] = ()

    def conceptors(self, aperture: Apertures = "auto") -> dict[str, Conceptor]:
        """Return the conceptors: at one aperture, but for `usage`, or each at its own.

        `auto`, also of those that are not named, is the aperture at which the mean direction in
        use has even odds, so lists of any length and kind count alike; of `usage` it is that of
        `cn`.
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
    """Find out, in one pass, where concepts lie among vectors.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    concepts : mapping of names to lists
        As for `Concept.parse`.
    names : names, optional
        Which of them are needed, by default all. `usage` is always known: what running text
        shares, under the weights that `cn` takes by default.
    options : FitOptions, optional
        How often words are used, for `usage`.
    """
    known = {check_name(name): Concept.parse(value) for name, value in concepts.items()}
    if USAGE in known:
        raise InvalidInputError(
            f"{USAGE} is what running text shares; give the concept another name"
        )
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
                f"{name}: {len(unknown)} of {len(concept.words)} words are not among the vectors "
                f"and were left out: {some}"
            )
    return Concepts(moments, remarks)
