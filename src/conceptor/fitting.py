"""Methods fitted to vectors: one pass for moments and wanted rows, then recipe by recipe.

Every front goes through `fit_methods`: files, shards, objects of other libraries, `compare` and
the page. So the same vectors get the same map through every door, and what `compare` measures is
what `postprocess` writes. Memory is set by the wanted rows and the dimension, not by the length
of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
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


# Above this participation ratio running text shares little that could be taken out.
EVEN_ENOUGH = 0.5
# This many vectors at the start of a sorted file make up most of running text.
_ENOUGH_TO_DOUBT = 20_000


@dataclass(frozen=True, eq=False)
class Gathered:
    """What one pass found: moments under each weighting, wanted rows, how many vectors.

    `frequent` are the words that are not rare, where that was asked for and is known.
    """

    moments: dict[Weights, Moments]
    rows: WordVectors
    count: int
    frequent: FrequentWords | None = None

    def of(self, weights: Weights) -> Moments:
        """Return the moments under some weights; raise if no row took part."""
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
    """Read a stream once: moments under each of some weights, and the rows of `wanted` words.

    The first `first` rows are kept as well, and the words that are frequent by `usage`. Unless the
    `whole` stream is to be counted, reading ends where no further row takes part. Several chunks
    are worked on at a time; sums are in the order of the stream and over fixed numbers of rows, so
    the result depends neither on how many nor on the sizes of the chunks: every format of the same
    vectors yields the same bits.
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

    # One BLAS thread in each of ours: small products do not split well, and it keeps the
    # processors for whoever has something to do, be it parsing or multiplying.
    with one_blas_thread():
        for words, rows, found, often in ordered_map(
            moments_of, number_chunks(even_chunks(chunks)), threads or processors()
        ):
            collector.add(words, rows)
            for each, more in zip(weights, found, strict=True):
                if more is not None:
                    totals[each] = totals[each] + more if each in totals else more
            if often is not None:
                frequent = often if frequent is None else frequent.add(often)
    return Gathered(totals, collector.table(), collector.count, frequent)


def _until(chunks: Chunks, tops: Sequence[int | None]) -> Iterator[Any]:
    """Stop reading where no further row takes part."""
    top = None if None in tops else max((top for top in tops if top is not None), default=None)
    rows = 0
    for chunk in chunks:
        yield chunk
        rows += len(chunk[0])
        if top is not None and rows >= top:
            return


def solve(recipe: Recipe, moments: Moments, once: Moments | None = None) -> Solution:
    """Solve a recipe on one processor: see `Recipe.solve`.

    An eigendecomposition of this size is quicker so: several processors mostly wait for each
    other, and on a busy machine for a second.
    """
    with one_blas_thread():
        return recipe.solve(moments, once)


def find_doubt(solution: Solution, participation: float) -> str:
    """Return why a negation by usage should or may make nothing better; an empty string if not.

    `participation` is that of running text as it is, before any vector is brought to length 1:
    where frequent words are short already, as in models made for averages, little is shared.
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
        f"{participation:.2f}, where {EVEN_ENOUGH} is even enough)"
    )


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

    weights: Weights | WeightsLike | None = None
    vocabulary: object = None
    lexicon: Lexicon | None = None
    function_words: object = None
    data: str | os.PathLike[str] | None = None

    def weights_for(self, words: Words, vectors: Vectors, *, unit: bool = False) -> Weights:
        """Return the weights that a method asks for, for some vectors."""
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
    """A method, or several one after the other, fitted to vectors.

    Attributes
    ----------
    name : str
    steps : sequence of Solution, Swapped or fitted lexicon methods
    lengths : LengthTable or None
        What rows are multiplied by after all steps.
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
        lengths = self.lengths
        if lengths is None:
            return tuple(steps)
        if steps:  # each of them returns rows of its own
            return (*steps, lengths.scale)
        return (lambda words, rows: lengths.scale(words, np.array(rows)),)

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
        maps = [step.others if isinstance(step, Swapped) else step for step in self.steps]
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
        """All steps as one map, with the lengths; raises where there is none."""
        maps = [step.map for step in self.steps if isinstance(step, Solution)]
        if len(maps) < len(self.steps) or not maps:
            raise InvalidInputError(f"{self.name} moves single words; it is not a single map")
        return reduce(matmul, maps).with_lengths(self.lengths)


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
    doubts : mapping of name to str
        Why a method should make nothing better, for those that should not.
    lengths : mapping of name to Lengths
        What became of the lengths of rows.
    without_usage : set of str
        The methods whose lengths were to be by usage, which is unknown; they are 1 instead.
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
        for name, fitted in self.methods.items():
            if fitted.lengths is not None:
                found.append(f"{name}: lengths by usage, {len(fitted.lengths):,} words shortened")
            elif name in self.without_usage:
                found.append(f"{name}: lengths of 1, as the usage of words is unknown")
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
        """Return moments under each of some weights, the rows of wanted words, frequent words."""


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
    """Fit methods to vectors, in one pass; each further step of a chain takes passes of its own.

    Parameters
    ----------
    vectors : path, Vectors, (words, array), ...
    methods : names, recipes or `Method`, or a mapping of names to these
        `original`, names of `METHODS`, chains such as `cn+counterfit`.
    options : FitOptions, optional
        What words weigh, which take part, and the lexicon.
    wanted, first
        Words whose rows are kept on the way, and how many first rows besides.
    whole
        Whether to count all rows, also where only the first take part.
    doubts
        Whether to look for evidence against a method, at the price of a few more products.
    gatherer
        What reads the vectors.
    progress
        Told how far the reading is, and the fitting to a lexicon.
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
    # BLAS threads wait for each other by spinning, which on a busy machine takes long.
    with one_blas_thread():
        return fit.run(chosen, wanted, first, whole=whole, doubts=doubts)


class _Fit:
    """Fits methods to the same vectors; what their chains share is fitted once."""

    def __init__(
        self, vectors: Vectors, options: FitOptions, gatherer: Gatherer, progress: Progress
    ) -> None:
        self._vectors, self._options = vectors, options
        self._gather, self._progress = gatherer, progress
        self._weights: dict[tuple[Words, bool], Weights] = {}
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
        """Read the vectors once, then solve step after step."""
        chains = {name: _directions(method) for name, method in methods.items()}
        heads = dict.fromkeys(chain[0] for chain in chains.values() if chain)
        self._exact = {
            (words, step.unit)
            for chain in chains.values()
            for step in chain
            if isinstance(step, Recipe) and not step.bears_rounding
            for words in _words_of(step)
        }
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

    def _weights_for(self, words: Words, *, unit: bool) -> Weights:
        key = words, unit
        if key not in self._weights:
            chosen = self._options.weights_for(words, self._vectors, unit=unit)
            self._weights[key] = replace(chosen, single=key not in self._exact)
        return self._weights[key]

    def _weightings(self, recipe: Recipe) -> list[Weights]:
        return [self._weights_for(words, unit=recipe.unit) for words in _words_of(recipe)]

    def _steps_of(self, chain: Chain) -> tuple[Step, ...]:
        """Fit a chain on what its beginning leaves."""
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
        # Both maps must lead to the same coordinates: the leading ones of what both leave.
        common = replace(self._weights_for(Words.TYPES, unit=False), single=False)
        left = self._gather(self._after((*before, pair)), [common]).of(common)
        keep = solve(leading_directions(recipe.n_components), left).map
        others, own = (replace(one, map=one.map @ keep) for one in (pair.others, pair.own))
        return Swapped(others, own, known)

    def _usage(self, methods: Iterable[Method]) -> Weights | None:
        """Return what lengths go by, if a method asks for it and rows are words."""
        vectors = self._vectors
        if not vectors.has_words or vectors.kind is RowKind.TEXTS:
            return None
        if not any(method.lengths is Lengths.USAGE for method in methods):
            return None
        # At whatever length moments are taken: shares are the same.
        unit = (Words.USAGE, True) in self._weights
        return self._weights_for(Words.USAGE, unit=unit)

    def _lengths_of(self, method: Method, steps: Sequence[Step]) -> LengthTable | None:
        """Return the length of each word that is frequent enough for it to matter."""
        asked = len(method.turning) < len(method.steps)
        if method.lengths is not Lengths.USAGE or (_changes_nothing(steps) and not asked):
            return None
        frequent, usage = self._gathered.frequent, self._usage([method])
        found = None if frequent is None or usage is None else frequent.lengths(usage)
        if found is None and asked:
            usage = self._weights_for(Words.USAGE, unit=False)
            raise InvalidInputError(
                "sif needs to know how often words are used, and they count equally here (",
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
    """Return the steps without what lengths are by usage, which comes after all of them."""
    return tuple(
        replace(step, lengths=Lengths.UNIT)
        if isinstance(step, Recipe) and step.lengths is Lengths.USAGE
        else step
        for step in method.turning
    )


def _words_of(recipe: Recipe) -> list[Words]:
    """Return which words a recipe needs moments of."""
    return [words for words in (recipe.words, recipe.once) if words is not None]


def _changes_nothing(steps: Sequence[Step]) -> bool:
    """Return whether all steps have an aperture of 0; then lengths stay too."""
    return bool(steps) and all(isinstance(s, Solution) and s.aperture == 0 for s in steps)


def _lengths(method: Method, fitted: Fitted) -> Lengths:
    """Return what became of lengths."""
    if method.lengths is not Lengths.USAGE or fitted.lengths is not None:
        return method.lengths
    return Lengths.KEPT if _changes_nothing(fitted.steps) else Lengths.UNIT


def _may_doubt(recipe: Recipe) -> bool:
    """Return whether evidence can speak against a method: a negation by usage."""
    return recipe.words is Words.USAGE and "aperture" in recipe.parameters


def _of_first(weights: Weights) -> Weights:
    """Return the weights of running text as it is, as far as the first vectors tell."""
    top = min(weights.top or _ENOUGH_TO_DOUBT, _ENOUGH_TO_DOUBT)
    return replace(weights, unit=False, top=top)


def _participation(gathered: Gathered, weights: Weights) -> float:
    """Return the participation ratio of running text; 0 if none of its words was found."""
    if weights not in gathered.moments:
        return 0.0
    moment = gathered.moments[weights].second_moment
    scaled = moment / (np.abs(moment).max() or 1.0)
    # (Σ λ)² / Σ λ² / n, as `isotropy` has it, without an eigendecomposition.
    return float(np.trace(scaled) ** 2 / (np.vdot(scaled, scaled) or 1.0) / len(scaled))


def _rows_after(fitted: Fitted, kept: WordVectors) -> WordVectors:
    """Return the rows that were kept as a method leaves them."""
    if not fitted.transforms or not len(kept):
        return kept
    with one_blas_thread():
        return kept.with_vectors(fitted(kept.words, kept.vectors))


def _named(name: str, progress: Progress) -> Progress:
    return lambda label, fraction, words: progress(f"{name}: {label}", fraction, words)
