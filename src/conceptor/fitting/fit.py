"""`fit_methods`, the one place where recipes are solved for vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conceptor.algebra.lengths import Lengths
from conceptor.algebra.recipes import Recipe, Solution, Words, leading_directions
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread
from conceptor.fitting.doubts import find_doubt, may_doubt, of_first, participation_of
from conceptor.fitting.fitted import Fitted, FittedMethods, Swapped
from conceptor.fitting.gathering import Request, gather_here
from conceptor.methods import as_methods
from conceptor.vectors.chunks import MappedVectors, as_vectors, keep_vectors, read_chunks
from conceptor.vectors.vectors import RowKind
from conceptor.weights import choose_weights, common_content_words

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from conceptor.algebra.lengths import LengthTable
    from conceptor.algebra.moments import Moments
    from conceptor.algebra.recipes import LexiconRecipe
    from conceptor.base.progress import Progress
    from conceptor.fitting.fitted import Step
    from conceptor.fitting.gathering import Gatherer
    from conceptor.lexicon.files import Lexicon
    from conceptor.methods import Method, MethodsLike
    from conceptor.vectors.table import WordVectors
    from conceptor.vectors.vectors import Vectors
    from conceptor.weights import Weights, WeightsLike

    Chain = tuple[Recipe | LexiconRecipe, ...]


def solve(recipe: Recipe, moments: Moments, once: Moments | None = None) -> Solution:
    """Solve a recipe on one processor: see `Recipe.solve`.

    An eigendecomposition of this size is faster on one: several processors mostly wait for each
    other, on a busy machine for a second.
    """
    with one_blas_thread():
        return recipe.solve(moments, once)


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
        doubtful = [each[0] for head, each in used.items() if doubts and may_doubt(head)]
        raw = {each: of_first(each) for each in doubtful}
        weights = dict.fromkeys([each for some in used.values() for each in some])
        usage = self._usage(methods.values())
        request = Request([*weights, *raw.values()], wanted, first, whole, usage)
        self._gathered = gathered = self._gather(self._vectors, request, self._progress)
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
            name: find_doubt(each.solution, participation_of(gathered, raw[fitted_on[name]]))
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
            return solve(last, *self._moments_of(self._after(before), exact))
        from conceptor.lexicon.files import Lexicon

        known = self._options.lexicon or Lexicon(data=self._options.data)
        progress = _named(last.name, self._progress)
        return known.method(last).fit(self._after(before), progress=progress)

    def _moments_after(self, before: tuple[Step, ...], chosen: Sequence[Weights]) -> list[Moments]:
        if before:
            return self._moments_of(self._after(before), chosen)
        return [self._gathered.of(each) for each in chosen]

    def _moments_of(self, vectors: Vectors, chosen: Sequence[Weights]) -> list[Moments]:
        """Read vectors once more."""
        found = self._gather(vectors, Request(chosen), silent)
        return [found.of(each) for each in chosen]

    def _swapped(self, recipe: Recipe, moments: Moments, before: tuple[Step, ...]) -> Swapped:
        known = self._weights_for(recipe.words, unit=recipe.unit).vocabulary or frozenset()
        every = (word for words, _ in read_chunks(self._vectors) for word in words)
        content = common_content_words(every, known, self._options.data)
        whole = replace(recipe, n_components=None)
        own = solve(whole, *self._moments_of(self._after(before), [content]))
        pair = Swapped(solve(whole, moments), own, known)
        if recipe.n_components is None:
            return pair
        # Both maps must have the same coordinates: the leading directions of all mapped words.
        common = self._weights_for(Words.TYPES, unit=False)
        left = self._moments_of(self._after((*before, pair)), [common])
        keep = solve(leading_directions(recipe.n_components), *left).map
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


def _rows_after(fitted: Fitted, kept: WordVectors) -> WordVectors:
    """Return the kept rows after a method."""
    if not fitted.transforms or not len(kept):
        return kept
    with one_blas_thread():
        return kept.with_vectors(fitted(kept.words, kept.vectors))


def _named(name: str, progress: Progress) -> Progress:
    return lambda label, fraction, words: progress(f"{name}: {label}", fraction, words)
