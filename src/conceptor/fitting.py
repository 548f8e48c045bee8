"""Methods fitted to vectors: one pass for moments and wanted rows, then recipe by recipe.

Every command goes through `fit_methods`, so what `compare` measures is what `postprocess` writes.
Memory is set by the wanted rows and the dimension, not by the length of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add, matmul
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conceptor.algebra.aperture import isotropy
from conceptor.algebra.methods import (
    Recipe,
    Solution,
    Words,
    leading_directions,
    parse_methods,
)
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors.chunks import (
    MappedVectors,
    RowCollector,
    as_vectors,
    number_chunks,
    read_chunks,
    rows_to_keep,
    through,
    vectors_name,
)
from conceptor.weights import (
    RARE,
    SAMPLE,
    Weights,
    choose_weights,
    common_content_words,
    sif_factors,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence, Set

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.methods import LexiconRecipe
    from conceptor.algebra.moments import Moments
    from conceptor.base.progress import Progress
    from conceptor.lexicon.files import Lexicon
    from conceptor.lexicon.fitting import LexiconMethod
    from conceptor.vectors.chunks import Chunks, Transform, Vectors
    from conceptor.vectors.table import WordVectors

    Chain = tuple[Recipe | LexiconRecipe, ...]
    Step: TypeAlias = "Solution | Swapped | RowFactors | LexiconMethod"

__all__ = [
    "FitOptions",
    "Fitted",
    "FittedMethods",
    "Gathered",
    "first_words",
    "fit_methods",
    "gather",
    "solve",
]


# Above this participation ratio running text shares little that could be taken out.
EVEN_ENOUGH = 0.5
# So many vectors at the start of a file tell: most of running text, where it is sorted.
_ENOUGH_TO_DOUBT = 20_000


def first_words(vectors: object) -> list[str]:
    """Return the first words, as many as tell whether the file is sorted by frequency."""
    found: list[str] = []
    for words, _ in read_chunks(vectors):
        found.extend(words[:SAMPLE])
        if len(found) >= SAMPLE:
            break
    return found[:SAMPLE]


@dataclass(frozen=True, eq=False)
class Gathered:
    """What one pass found: moments under each weighting, wanted rows, how many vectors."""

    moments: dict[Weights, Moments]
    rows: WordVectors
    count: int


def gather(
    chunks: Chunks,
    weights: Collection[Weights] = (),
    wanted: Collection[str] = (),
    *,
    first: int = 0,
    threads: int | None = None,
) -> Gathered:
    """Read a stream once: moments under each of some weights, and the rows of `wanted` words.

    The first `first` rows are kept as well. Several chunks are worked on at a time; sums are in
    the order of the stream, so the result does not depend on how many.
    """
    totals: dict[Weights, Moments] = {}
    collector = RowCollector(wanted, first)
    needs_words = bool(wanted) or first > 0 or any(each.by_word for each in weights)

    def moments_of(
        part: tuple[int, Sequence[str], NDArray[Any]],
    ) -> tuple[Sequence[str], NDArray[Any], list[Moments | None]]:
        before, words, rows = part
        if needs_words:  # packed words become strings once, not once for every weighting
            words = list(words)
        return words, rows, [each.moments(words, rows, before) for each in weights]

    # One BLAS thread in each of ours: small products do not split well, and it keeps the
    # processors for whoever has something to do, be it parsing or multiplying.
    with one_blas_thread():
        for words, rows, found in ordered_map(
            moments_of, number_chunks(chunks), threads or processors()
        ):
            collector.add(words, rows)
            for each, more in zip(weights, found, strict=True):
                if more is not None:
                    totals[each] = totals[each] + more if each in totals else more
    for each in weights:
        if each not in totals:
            raise InvalidInputError(
                f"the vectors contain none of the words to fit on ({each.description}); does the "
                "vocabulary or the counts file belong to them?"
            )
    return Gathered(totals, collector.table(), collector.count)


def solve(recipe: Recipe, moments: Moments, once: Moments | None = None) -> Solution:
    """Solve a recipe on one processor: see `Recipe.solve`.

    An eigendecomposition of this size is quicker so: several processors mostly wait for each
    other, and on a busy machine for a second.
    """
    with one_blas_thread():
        return recipe.solve(moments, once)


def find_doubt(solution: Solution, participation: float) -> str:
    """Return why a negation by usage should make nothing better; an empty string if it may.

    `participation` is that of running text as it is, before any vector is brought to length 1:
    where frequent words are short already, as in models made for averages, little is shared.
    """
    if solution.aperture is None or solution.recipe.words is not Words.USAGE:
        return ""
    if not solution.spectrum.values.any():
        return "all vectors are zero"
    if solution.spectrum.rank == 1:
        return "all vectors are multiples of a single vector"
    if participation < EVEN_ENOUGH or solution.moments.count <= solution.moments.dimension:
        return ""
    return (
        "running text already spreads evenly over the directions (participation "
        f"{participation:.2f}, where {EVEN_ENOUGH} is even enough)"
    )


def participation_of_first(vectors: object, weights: Weights) -> float:
    """Return the participation ratio of running text, as far as the first vectors tell."""
    raw, seen = replace(weights, unit=False), 0
    found: list[Moments] = []
    for before, words, rows in number_chunks(read_chunks(vectors)):
        moments = raw.moments(list(words), rows, before)
        if moments is not None:
            found.append(moments)
        seen += len(words)
        if seen >= _ENOUGH_TO_DOUBT:
            break
    if not found:
        return 0.0
    return isotropy(Spectrum.from_matrix(reduce(add, found).second_moment).values)


@dataclass(frozen=True, eq=False)
class FitOptions:
    """What methods are fitted with; None leaves it to `conceptor.weights.choose_weights`.

    Attributes
    ----------
    weights
        How often words are used: `zipf`, `uniform`, `wordfreq:LANG`, a file of counts, a mapping,
        or `Weights`; for the methods that weigh by usage.
    vocabulary
        Which words take part: `top:N`, a file, or words.
    lexicon
        Where synonyms and antonyms are; the paper's by default.
    function_words
        A file of them, or words, for half-sibling regression; by default English ones.
    data
        A directory in which known data files are looked for first.
    """

    weights: Weights | str | os.PathLike[str] | Mapping[str, float] | None = None
    vocabulary: object = None
    lexicon: Lexicon | None = None
    function_words: object = None
    data: str | os.PathLike[str] | None = None

    def weights_for(self, words: Words, vectors: object, *, unit: bool = False) -> Weights:
        """Return the weights that a method asks for, for some vectors."""
        source = getattr(vectors, "source", vectors)
        if not getattr(source, "has_words", True):
            return self._rows_alike(vectors, unit=unit)
        chosen = choose_weights(
            words,
            lambda: first_words(vectors),
            weights=self.weights,
            vocabulary=self.vocabulary,
            function_words=self.function_words,
            data=self.data,
            tokens=getattr(source, "token_counts", None),
            where=vectors_name(vectors),
            counts=lambda: getattr(vectors, "counts", None),
        )
        return replace(chosen, unit=True) if unit else chosen

    def _rows_alike(self, vectors: object, *, unit: bool) -> Weights:
        """Return equal weights for rows without words; raise for what needs words."""
        given = {
            "weights": self.weights not in (None, "uniform"),
            "vocabulary": self.vocabulary is not None,
            "function_words": self.function_words is not None,
        }
        for name, is_given in given.items():
            if is_given:
                raise InvalidInputError(
                    f"{vectors_name(vectors)}: its rows have no words, so {name} does not apply"
                )
        return Weights(description="all rows, once each", unit=unit)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method, or several one after the other, fitted to vectors.

    Attributes
    ----------
    name : str
    steps : sequence of Solution, Swapped, RowFactors or fitted lexicon methods
    """

    name: str
    steps: tuple[Step, ...] = ()

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """The steps as functions of words and rows."""
        return tuple(
            _mapping(step.map) if isinstance(step, Solution) else step.transform
            for step in self.steps
        )

    def __call__(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Take rows through all steps."""
        result: NDArray[Any] = through(words, rows, self.transforms)
        return result

    @property
    def solution(self) -> Solution | None:
        """The only step, where it is a spectral one."""
        only = self.steps[0] if len(self.steps) == 1 else None
        return only if isinstance(only, Solution) else None

    @property
    def n_out(self) -> int | None:
        """The dimension of the result; None where it is the input's."""
        maps = [getattr(step, "others", step) for step in self.steps]
        sizes = [each.map.n_out for each in maps if isinstance(each, Solution)]
        return sizes[-1] if sizes else None

    @property
    def is_map(self) -> bool:
        """Whether all steps together are one map of all vectors."""
        maps = [step.map for step in self.steps if isinstance(step, Solution)]
        whole = 0 < len(maps) == len(self.steps)
        return whole and not any(each.unit for each in maps[1:])

    @property
    def map(self) -> AffineMap:
        """All steps as one map; raises where there is none."""
        maps = [step.map for step in self.steps if isinstance(step, Solution)]
        if len(maps) < len(self.steps) or not maps:
            raise InvalidInputError(f"{self.name} moves single words and is no map of all vectors")
        return reduce(matmul, maps)


@dataclass(frozen=True, eq=False)
class Swapped:
    """A map for all words but some, and another for those."""

    others: Solution
    own: Solution
    words: Set[str]

    def transform(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Take each row through its map."""
        mapped = self.others.map(rows)
        some = [i for i, word in enumerate(words) if word in self.words]
        mapped[some] = self.own.map(rows[some])
        return mapped


@dataclass(frozen=True, eq=False)
class RowFactors:
    """Rows of some words multiplied by a number each."""

    factors: Mapping[str, float]

    def transform(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Multiply the rows of these words."""
        each = np.array([self.factors.get(word, 1.0) for word in words], dtype=rows.dtype)
        return np.asarray(rows * each[:, np.newaxis])


def _mapping(map_: AffineMap) -> Transform:
    return lambda _, rows: map_(rows)


@dataclass(frozen=True, eq=False)
class FittedMethods:
    """Methods fitted to the same vectors.

    Attributes
    ----------
    methods : mapping of name to Fitted
    rows : mapping of name to WordVectors
        The wanted rows and the first ones, as each method leaves them.
    count : int
        How many vectors were read.
    weights : mapping of name to Weights
        What each method's first step was fitted on, for spectral ones.
    """

    methods: Mapping[str, Fitted]
    rows: Mapping[str, WordVectors]
    count: int
    weights: Mapping[str, Weights]

    @property
    def cautions(self) -> list[str]:
        """What users should know about how words were weighed."""
        return list(dict.fromkeys(each.caution for each in self.weights.values() if each.caution))

    @property
    def notes(self) -> list[str]:
        """What the methods were fitted on."""
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
        return found


def fit_methods(
    vectors: object,
    methods: Sequence[str] | Mapping[str, Sequence[Recipe | LexiconRecipe]],
    options: FitOptions | None = None,
    *,
    wanted: Collection[str] = (),
    first: int = 0,
    progress: Progress = silent,
) -> FittedMethods:
    """Fit methods to vectors, in one pass; each further step of a chain takes passes of its own.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    methods : names, or recipes by name
        `original`, names of `METHODS`, chains such as `cn+counterfit`.
    options : FitOptions, optional
        What words weigh, which take part, and the lexicon.
    wanted, first
        Words whose rows are kept on the way, and how many first rows besides.
    progress
        Told how far the reading is, and the fitting to a lexicon.
    """
    chains = dict(methods) if isinstance(methods, Mapping) else parse_methods(methods)
    opened = as_vectors(vectors)
    chosen_options = options or FitOptions()

    @cache
    def weights_for(words: Words, unit: bool) -> Weights:
        return chosen_options.weights_for(words, opened, unit=unit)

    def weightings(recipe: Recipe) -> list[Weights]:
        kinds = (recipe.words, recipe.once)
        return [weights_for(words, recipe.unit) for words in kinds if words is not None]

    heads = {chain[0]: None for chain in chains.values() if chain}
    used = {recipe: weightings(recipe) for recipe in heads if isinstance(recipe, Recipe)}
    gathered = gather(
        read_chunks(opened, progress),
        list(dict.fromkeys(each for kinds in used.values() for each in kinds)),
        wanted,
        first=first,
    )
    steps: dict[Chain, tuple[Step, ...]] = {(): ()}

    def steps_of(chain: Chain) -> tuple[Step, ...]:
        """Fit a chain on what its beginning leaves; what chains share is fitted once."""
        if chain not in steps:
            *beginning, last = chain
            before = steps_of(tuple(beginning))
            step: Step
            if isinstance(last, Recipe):
                moments = moments_after(before, last)
                step = swapped(last, moments[0], before) if last.swaps else solve(last, *moments)
            elif last.name == "sif":
                step = RowFactors(sif_factors(frequent_words()))
            else:
                from conceptor.lexicon.files import Lexicon

                known = chosen_options.lexicon or Lexicon(data=chosen_options.data)
                step = known.method(last).fit(after(before), progress=_named(last.name, progress))
            steps[chain] = (*before, step)
        return steps[chain]

    def moments_after(before: tuple[Step, ...], recipe: Recipe) -> list[Moments]:
        chosen = weightings(recipe)
        found = gather(after(before).chunks(), chosen) if before else gathered
        return [found.moments[each] for each in chosen]

    def swapped(recipe: Recipe, moments: Moments, before: tuple[Step, ...]) -> Swapped:
        known = weights_for(recipe.words, recipe.unit).vocabulary or frozenset()
        every = (word for words, _ in read_chunks(opened) for word in words)
        content = common_content_words(every, known, chosen_options.data)
        whole = replace(recipe, n_components=None)
        own = solve(whole, gather(after(before).chunks(), [content]).moments[content])
        pair = Swapped(solve(whole, moments), own, known)
        if recipe.n_components is None:
            return pair
        # Both maps must lead to the same coordinates: the leading ones of what both leave.
        common = weights_for(Words.TYPES, unit=False)
        left = gather(after((*before, pair)).chunks(), [common]).moments[common]
        keep = solve(leading_directions(recipe.n_components), left).map
        others, own = (replace(one, map=one.map @ keep) for one in (pair.others, pair.own))
        return Swapped(others, own, known)

    def frequent_words() -> dict[str, float]:
        """Return the share of running text of every word that is not too rare to matter."""
        usage = weights_for(Words.USAGE, unit=False)
        found: dict[str, float] = {}
        total = 0.0
        for before, packed, _ in number_chunks(read_chunks(opened)):
            words = list(packed)
            taken, weights = usage.shares(words, before)
            if weights is None:
                raise InvalidInputError(
                    f"sif needs to know how often words are used, and they count equally here "
                    f"({usage.caution or usage.description})"
                )
            total += float(weights.sum())
            # The share can only fall as the total grows, so what is rare by now stays so.
            for i in np.flatnonzero(weights > RARE * total).tolist():
                found.setdefault(words[i if taken is None else taken[i]], float(weights[i]))
        return {word: weight / total for word, weight in found.items()}

    def after(before: tuple[Step, ...]) -> Vectors:
        return MappedVectors(opened, Fitted("", before).transforms) if before else opened

    fitted = {name: Fitted(name, steps_of(tuple(chain))) for name, chain in chains.items()}
    fitted_on = {
        name: used[chain[0]][0]
        for name, chain in chains.items()
        if chain and isinstance(chain[0], Recipe)
    }
    rows = dict.fromkeys(fitted, gathered.rows)
    if wanted or first:
        rows |= _rows_after(fitted, opened, gathered.rows, wanted, first)
    return FittedMethods(fitted, rows, gathered.count, fitted_on)


def _rows_after(
    fitted: Mapping[str, Fitted],
    vectors: Vectors,
    kept: WordVectors,
    wanted: Collection[str],
    first: int,
) -> dict[str, WordVectors]:
    """Return the rows that were kept as each method leaves them, in one more pass.

    Whole chunks are transformed, as when they are written: the last bit of a matrix product may
    depend on where in the matrix a row stands. Chunks with nothing to keep are passed over.
    """
    changing = {name: each.transforms for name, each in fitted.items() if each.steps}
    found: dict[str, list[NDArray[Any]]] = {name: [] for name in changing}

    def kept_of(part: tuple[int, Sequence[str], NDArray[Any]]) -> list[NDArray[Any]]:
        before, packed, rows = part
        words = list(packed)
        keep = rows_to_keep(words, wanted, first - before)
        return [
            through(words, rows, steps)[keep] if keep else rows[:0] for steps in changing.values()
        ]

    if changing:
        with one_blas_thread():
            for parts in ordered_map(kept_of, number_chunks(read_chunks(vectors)), processors()):
                for name, part in zip(found, parts, strict=True):
                    if len(part):
                        found[name].append(part)
    return {
        name: kept.with_vectors(np.concatenate(parts) if parts else kept.vectors)
        for name, parts in found.items()
    }


def _named(name: str, progress: Progress) -> Progress:
    return lambda label, fraction, words: progress(f"{name}: {label}", fraction, words)
