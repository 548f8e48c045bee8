"""Fit methods to vectors: one pass for moments and wanted rows, then one recipe after another.

Every front end calls `fit_methods`: files, shards, objects of other libraries, `compare` and the
page. So the same vectors always get the same map, and `compare` measures the vectors that
`postprocess` writes. Memory depends on the wanted rows and the dimension, not on the length of
the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import matmul
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from conceptor.algebra.lengths import Lengths
from conceptor.algebra.recipes import Recipe, Solution, Words, leading_directions
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.methods import as_methods
from conceptor.vectors.chunks import (
    MappedVectors,
    RowCollector,
    as_vectors,
    even_chunks,
    keep_vectors,
    number_chunks,
    read_chunks,
    through,
)
from conceptor.vectors.vectors import RowKind
from conceptor.vectors.words import PackedWords, WordIndex
from conceptor.weights import FrequentWords, choose_weights, common_content_words

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.lengths import LengthTable
    from conceptor.algebra.moments import Moments
    from conceptor.algebra.recipes import LexiconRecipe
    from conceptor.base.progress import Progress
    from conceptor.lexicon.files import Lexicon
    from conceptor.lexicon.fitting import LexiconMethod
    from conceptor.methods import Method, MethodsLike
    from conceptor.vectors.chunks import Chunks, Transform
    from conceptor.vectors.table import WordVectors
    from conceptor.vectors.vectors import Vectors
    from conceptor.weights import Weights, WeightsLike

    Chain = tuple[Recipe | LexiconRecipe, ...]
    Step: TypeAlias = "Solution | Swapped | LexiconMethod"

__all__ = [
    "FitOptions",
    "Fitted",
    "FittedMethods",
    "Gathered",
    "fit_methods",
    "gather",
    "solve",
]


# Above this participation ratio, running text shares little that could be removed.
EVEN_ENOUGH = 0.5
# This many vectors at the start of a sorted file make up most of running text.
_ENOUGH_TO_DOUBT = 20_000


@dataclass(frozen=True, eq=False)
class Gathered:
    """The results of one pass: moments for each weighting, wanted rows, the number of vectors.

    `frequent` are the words that are not rare, if requested and known.
    """

    moments: dict[Weights, Moments]
    rows: WordVectors
    count: int
    frequent: FrequentWords | None = None

    def of(self, weights: Weights) -> Moments:
        """Return the moments for some weights; raise if no row took part."""
        if weights not in self.moments:
            raise InvalidInputError(
                f"the vectors contain none of the words to fit on ({weights.description}); does "
                "the vocabulary or the counts file belong to them?"
            )
        return self.moments[weights]


def gather(
    chunks: Chunks,
    weights: Collection[Weights] = (),
    wanted: Collection[str] = (),
    *,
    first: int = 0,
    whole: bool = True,
    usage: Weights | None = None,
    threads: int | None = None,
) -> Gathered:
    """Read a stream once: compute moments for each weighting, and keep the rows of `wanted` words.

    The first `first` rows are kept as well, and the words that are frequent by `usage`. With
    `whole` the whole stream is counted; otherwise reading stops when no further row takes part.
    Several chunks are processed at a time. Sums are in the order of the stream and over fixed
    numbers of rows, so the result does not depend on the number or sizes of the chunks: every
    format of the same vectors gives the same bits.
    """
    by = [*weights, *([] if usage is None else [usage])]
    if not whole and not wanted and not first:
        chunks = _until(chunks, [each.top for each in by])
    totals: dict[Weights, Moments] = {}
    frequent: FrequentWords | None = None
    collector = RowCollector(wanted, first)
    needs_words = bool(wanted) or first > 0 or any(each.by_word for each in by)

    def moments_of(
        part: tuple[int, Sequence[str], NDArray[Any]],
    ) -> tuple[Sequence[str], NDArray[Any], list[Moments | None], FrequentWords | None]:
        before, words, rows = part
        if needs_words:  # packed words become strings once, not once for every weighting
            words = list(words)
        often = None if usage is None else FrequentWords.of(usage, words, before)
        return words, rows, [each.moments(words, rows, before) for each in weights], often

    # One BLAS thread for each of ours: small products do not split well, and the processors stay
    # free for the threads that have work, whether parsing or multiplying.
    with one_blas_thread():
        for words, rows, found, often in ordered_map(
            moments_of, number_chunks(even_chunks(chunks)), threads or processors()
        ):
            if often is not None:
                frequent = often if frequent is None else frequent.add(often)
            collector.add(words, rows)
            for each, more in zip(weights, found, strict=True):
                if more is not None:
                    totals[each] = totals[each] + more if each in totals else more
    return Gathered(totals, collector.table(), collector.count, frequent)


def _until(chunks: Chunks, tops: Sequence[int | None]) -> Iterator[Any]:
    """Stop reading when no further row takes part."""
    top = None if None in tops else max((top for top in tops if top is not None), default=None)
    rows = 0
    for chunk in chunks:
        yield chunk
        rows += len(chunk[0])
        if top is not None and rows >= top:
            return


def solve(recipe: Recipe, moments: Moments, once: Moments | None = None) -> Solution:
    """Solve a recipe on one processor: see `Recipe.solve`.

    An eigendecomposition of this size is faster on one: several processors mostly wait for each
    other, on a busy machine for a second.
    """
    with one_blas_thread():
        return recipe.solve(moments, once)


def find_doubt(solution: Solution, participation: float) -> str:
    """Return why a negation by usage should not or may not help; an empty string otherwise.

    `participation` is the participation ratio of running text before vectors are brought to length
    1: if frequent words are short already, as in models made for averages, little is shared.
    """
    if solution.aperture is None or solution.recipe.words is not Words.USAGE:
        return ""
    if not solution.spectrum.values.any():
        return "should not help: all vectors are zero"
    if solution.spectrum.rank == 1:
        return "should not help: all vectors are multiples of a single vector"
    if participation < EVEN_ENOUGH or solution.moments.count <= solution.moments.dimension:
        return ""
    return (
        "may not help: running text already spreads evenly over the directions (participation "
        f"ratio {participation:.2f}; {EVEN_ENOUGH} or more counts as even)"
    )


@dataclass(frozen=True, eq=False)
class FitOptions:
    """The options for fitting; None leaves the choice to `conceptor.weights.choose_weights`.

    Attributes
    ----------
    weights
        How often words are used: `zipf`, `uniform`, `wordfreq:LANG`, a file of counts, a mapping,
        or `Weights`; for the methods that are weighted by usage.
    vocabulary
        Which words take part: `top:N`, a file, or words.
    lexicon
        The synonyms and antonyms; the paper's by default.
    function_words
        A file of function words, or the words, for half-sibling regression; English by default.
    data
        A directory to search first for known data files.
    """

    weights: Weights | WeightsLike | None = None
    vocabulary: object = None
    lexicon: Lexicon | None = None
    function_words: object = None
    data: str | os.PathLike[str] | None = None

    def weights_for(self, words: Words, vectors: Vectors, *, unit: bool = False) -> Weights:
        """Return the weights that a method needs, for some vectors."""
        return choose_weights(
            words,
            vectors,
            weights=self.weights,
            vocabulary=self.vocabulary,
            function_words=self.function_words,
            data=self.data,
            unit=unit,
        )


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


class Gatherer(Protocol):
    """Reads vectors once: in this process, or on a cluster."""

    def __call__(
        self,
        vectors: Vectors,
        weights: Sequence[Weights],
        *,
        wanted: Collection[str] = (),
        first: int = 0,
        whole: bool = True,
        usage: Weights | None = None,
        progress: Progress = silent,
    ) -> Gathered:
        """Return moments for each weighting, the rows of wanted words, and the frequent words."""


def gather_here(
    vectors: Vectors,
    weights: Sequence[Weights],
    *,
    wanted: Collection[str] = (),
    first: int = 0,
    whole: bool = True,
    usage: Weights | None = None,
    progress: Progress = silent,
) -> Gathered:
    """Read vectors once, in this process."""
    chunks = read_chunks(vectors, progress)
    return gather(chunks, weights, wanted, first=first, whole=whole, usage=usage)


def fit_methods(
    vectors: object,
    methods: MethodsLike,
    options: FitOptions | None = None,
    *,
    wanted: Collection[str] = (),
    first: int = 0,
    whole: bool = True,
    doubts: bool = True,
    gatherer: Gatherer = gather_here,
    progress: Progress = silent,
) -> FittedMethods:
    """Fit methods to vectors in one pass; each further step of a chain needs more passes.

    Parameters
    ----------
    vectors : path, Vectors, (words, array), ...
    methods : names, recipes or `Method`, or a mapping of names to these
        `original`, names of `METHODS`, chains such as `cn+counterfit`.
    options : FitOptions, optional
        How much words count, which take part, and the lexicon.
    wanted, first
        Words whose rows to keep, and how many of the first rows to keep.
    whole
        Whether to count all rows, even if only the first ones take part.
    doubts
        Whether to look for evidence against a method; this costs a few more products.
    gatherer
        The function that reads the vectors.
    progress
        Called with the progress of reading and of fitting to a lexicon.
    """
    chosen = as_methods(methods)
    rereads = any(
        len(method.turning) > 1 or (method.turning and method.needs_words)
        for method in chosen.values()
    )
    opened = keep_vectors(as_vectors(vectors, wordless=True), None if rereads else 0)
    for method in chosen.values():
        method.check_words(opened)
    fit = _Fit(opened, options or FitOptions(), gatherer, progress)
    # BLAS threads wait for each other by spinning, which is slow on a busy machine.
    with one_blas_thread():
        return fit.run(chosen, wanted, first, whole=whole, doubts=doubts)


class _Fit:
    """Fits methods to the same vectors; shared beginnings of chains are fitted once."""

    def __init__(
        self, vectors: Vectors, options: FitOptions, gatherer: Gatherer, progress: Progress
    ) -> None:
        self._vectors, self._options = vectors, options
        self._gather, self._progress = gatherer, progress
        self._weights: dict[tuple[Words, bool, bool], Weights] = {}
        self._steps: dict[Chain, tuple[Step, ...]] = {(): ()}

    def run(
        self,
        methods: Mapping[str, Method],
        wanted: Collection[str],
        first: int,
        *,
        whole: bool,
        doubts: bool,
    ) -> FittedMethods:
        """Read the vectors once, then solve one step after another."""
        chains = {name: _directions(method) for name, method in methods.items()}
        heads = dict.fromkeys(chain[0] for chain in chains.values() if chain)
        used = {head: self._weightings(head) for head in heads if isinstance(head, Recipe)}
        doubtful = [each[0] for head, each in used.items() if doubts and _may_doubt(head)]
        raw = {each: _of_first(each) for each in doubtful}
        weights = dict.fromkeys([each for some in used.values() for each in some])
        gathered = self._gather(
            self._vectors,
            [*weights, *raw.values()],
            wanted=wanted,
            first=first,
            whole=whole,
            usage=self._usage(methods.values()),
            progress=self._progress,
        )
        self._gathered = gathered
        fitted = {
            name: Fitted(name, steps, self._lengths_of(methods[name], steps))
            for name, chain in chains.items()
            for steps in [self._steps_of(chain)]
        }
        fitted_on = {
            name: used[chain[0]][0]
            for name, chain in chains.items()
            if chain and isinstance(chain[0], Recipe)
        }
        reasons = {
            name: find_doubt(each.solution, _participation(gathered, raw[fitted_on[name]]))
            for name, each in fitted.items()
            if each.solution is not None and fitted_on[name] in raw
        }
        rows = {name: _rows_after(each, gathered.rows) for name, each in fitted.items()}
        against = {name: reason for name, reason in reasons.items() if reason}
        lengths = {name: _lengths(methods[name], each) for name, each in fitted.items()}
        unknown = {
            name
            for name, each in lengths.items()
            if methods[name].lengths is Lengths.USAGE and each is Lengths.UNIT
        }
        return FittedMethods(fitted, rows, gathered.count, fitted_on, against, lengths, unknown)

    def _weights_for(self, words: Words, *, unit: bool, single: bool = False) -> Weights:
        key = words, unit, single
        if key not in self._weights:
            chosen = self._options.weights_for(words, self._vectors, unit=unit)
            self._weights[key] = replace(chosen, single=single)
        return self._weights[key]

    def _weightings(self, recipe: Recipe) -> list[Weights]:
        """Return the weights of a recipe, in its own precision whatever else is fitted."""
        kinds = (recipe.words, recipe.once)
        return [
            self._weights_for(words, unit=recipe.unit, single=recipe.bears_rounding)
            for words in kinds
            if words is not None
        ]

    def _steps_of(self, chain: Chain) -> tuple[Step, ...]:
        """Fit the last step of a chain to the vectors after the steps before it."""
        if chain not in self._steps:
            *beginning, last = chain
            before = self._steps_of(tuple(beginning))
            self._steps[chain] = (*before, self._fit_step(before, last))
        return self._steps[chain]

    def _fit_step(self, before: tuple[Step, ...], last: Recipe | LexiconRecipe) -> Step:
        if isinstance(last, Recipe):
            chosen = self._weightings(last)
            moments = self._moments_after(before, chosen)
            if last.swaps:
                return self._swapped(last, moments[0], before)
            solution = solve(last, *moments)
            if solution.is_settled:
                return solution
            exact = [replace(each, single=False) for each in chosen]
            found = self._gather(self._after(before), exact)
            return solve(last, *map(found.of, exact))
        from conceptor.lexicon.files import Lexicon

        known = self._options.lexicon or Lexicon(data=self._options.data)
        progress = _named(last.name, self._progress)
        return known.method(last).fit(self._after(before), progress=progress)

    def _moments_after(self, before: tuple[Step, ...], chosen: Sequence[Weights]) -> list[Moments]:
        found = self._gather(self._after(before), chosen) if before else self._gathered
        return [found.of(each) for each in chosen]

    def _swapped(self, recipe: Recipe, moments: Moments, before: tuple[Step, ...]) -> Swapped:
        known = self._weights_for(recipe.words, unit=recipe.unit).vocabulary or frozenset()
        every = (word for words, _ in read_chunks(self._vectors) for word in words)
        content = common_content_words(every, known, self._options.data)
        whole = replace(recipe, n_components=None)
        own = solve(whole, self._gather(self._after(before), [content]).of(content))
        pair = Swapped(solve(whole, moments), own, known)
        if recipe.n_components is None:
            return pair
        # Both maps must have the same coordinates: the leading directions of all mapped words.
        common = self._weights_for(Words.TYPES, unit=False)
        left = self._gather(self._after((*before, pair)), [common]).of(common)
        keep = solve(leading_directions(recipe.n_components), left).map
        others, own = (replace(one, map=one.map @ keep) for one in (pair.others, pair.own))
        return Swapped(others, own, known)

    def _usage(self, methods: Iterable[Method]) -> Weights | None:
        """Return the usage weights for lengths, if a method needs them and rows are words."""
        vectors = self._vectors
        if not vectors.has_words or vectors.kind is RowKind.TEXTS:
            return None
        if not any(method.lengths is Lengths.USAGE for method in methods):
            return None
        # Shares depend neither on lengths nor on precision, so take the weights that exist.
        existing = (each for (words, *_), each in self._weights.items() if words is Words.USAGE)
        return next(existing, None) or self._weights_for(Words.USAGE, unit=False)

    def _lengths_of(self, method: Method, steps: Sequence[Step]) -> LengthTable | None:
        """Return the lengths of the words that are frequent enough to need one."""
        asked = len(method.turning) < len(method.steps)
        if method.lengths is not Lengths.USAGE or (_changes_nothing(steps) and not asked):
            return None
        frequent, usage = self._gathered.frequent, self._usage([method])
        found = None if frequent is None or usage is None else frequent.lengths(usage)
        if found is None and asked:
            usage = self._weights_for(Words.USAGE, unit=False)
            raise InvalidInputError(
                "sif needs word frequencies, but all words count equally here (",
                usage.caution or usage.description,
                ")",
            )
        return found

    def _after(self, before: tuple[Step, ...]) -> Vectors:
        if not before:
            return self._vectors
        done = Fitted("", before)
        return MappedVectors(self._vectors, done.transforms, done.n_out)


def _directions(method: Method) -> Chain:
    """Return the steps without lengths by usage, which are applied after all steps."""
    return tuple(
        replace(step, lengths=Lengths.UNIT)
        if isinstance(step, Recipe) and step.lengths is Lengths.USAGE
        else step
        for step in method.turning
    )


def _changes_nothing(steps: Sequence[Step]) -> bool:
    """Return whether all steps have an aperture of 0; then lengths stay too."""
    return bool(steps) and all(isinstance(s, Solution) and s.aperture == 0 for s in steps)


def _lengths(method: Method, fitted: Fitted) -> Lengths:
    """Return how lengths were set."""
    if method.lengths is not Lengths.USAGE or fitted.lengths is not None:
        return method.lengths
    return Lengths.KEPT if _changes_nothing(fitted.steps) else Lengths.UNIT


def _may_doubt(recipe: Recipe) -> bool:
    """Return whether evidence against a method is possible: only for a negation by usage."""
    return recipe.words is Words.USAGE and "aperture" in recipe.parameters


def _of_first(weights: Weights) -> Weights:
    """Return the weights of running text, without `unit`, over the first vectors only."""
    top = min(weights.top or _ENOUGH_TO_DOUBT, _ENOUGH_TO_DOUBT)
    return replace(weights, unit=False, top=top)


def _participation(gathered: Gathered, weights: Weights) -> float:
    """Return the participation ratio of running text; 0 if none of its words was found."""
    if weights not in gathered.moments:
        return 0.0
    moment = gathered.moments[weights].second_moment
    scaled = moment / (np.abs(moment).max() or 1.0)
    # (Σ λ)² / Σ λ² / n, as in `isotropy`, without an eigendecomposition.
    return float(np.trace(scaled) ** 2 / (np.vdot(scaled, scaled) or 1.0) / len(scaled))


def _rows_after(fitted: Fitted, kept: WordVectors) -> WordVectors:
    """Return the kept rows after a method."""
    if not fitted.transforms or not len(kept):
        return kept
    with one_blas_thread():
        return kept.with_vectors(fitted(kept.words, kept.vectors))


def _named(name: str, progress: Progress) -> Progress:
    return lambda label, fraction, words: progress(f"{name}: {label}", fraction, words)
