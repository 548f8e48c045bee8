"""Fit methods to vectors: one pass for moments and wanted rows, then one solution per method.

Every front end calls `fit_methods`: files, shards, objects of other libraries, `compare` and the
page. So the same vectors always get the same map, and `compare` measures the vectors that
`postprocess` writes. Memory depends on the wanted rows and the dimension, not on the length of
the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.methods import Lengths, Method, MethodsLike, Solution, Words, as_methods
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowCollector, RowKind, Vectors, even_chunks, number_chunks
from conceptor.weights import FitOptions, TextShares, Weights

__all__ = ["FitOptions", "Fitted", "FittedMethods", "Gathered", "fit_methods", "gather"]

# Above this participation ratio, running text shares little that could be removed.
EVEN_ENOUGH = 0.5
# This many vectors at the start of a sorted file make up most of running text.
_ENOUGH_TO_DOUBT = 20_000


@dataclass(frozen=True, eq=False)
class Gathered:
    """The results of one pass; `text` has the words that are frequent, if usage is known."""

    moments: Mapping[Weights, Moments]
    rows: WordVectors
    count: int
    text: TextShares | None = None

    def __add__(self, other: Gathered) -> Gathered:
        """Return the results for these vectors, and then others, with the rows of these only."""
        moments = dict(self.moments)
        for weights, more in other.moments.items():
            moments[weights] = moments[weights] + more if weights in moments else more
        text = self.text
        if text is not None and other.text is not None:
            text += other.text
        return Gathered(moments, self.rows, self.count + other.count, text)

    def of(self, weights: Weights) -> Moments:
        """Return the moments for some weights; raise if no row took part."""
        if weights not in self.moments:
            raise InvalidInputError(
                f"the vectors contain none of the words to fit on ({weights.description}); does "
                "the vocabulary or the counts file belong to them?"
            )
        return self.moments[weights]


def gather(
    vectors: Vectors,
    weights: Collection[Weights],
    *,
    wanted: Collection[str] = (),
    first: int = 0,
    usage: Weights | None = None,
    before: int = 0,
    progress: Progress = silent,
) -> Gathered:
    """Read vectors once.

    Several chunks are processed at a time. Sums are in the order of the stream and over fixed
    numbers of rows, so the result does not depend on the number or sizes of the chunks: every
    format of the same vectors gives the same bits.

    Parameters
    ----------
    weights
        Compute the moments for each of these.
    wanted, first
        Keep the rows of these words, and this many of the first rows.
    usage
        Find the words that are frequent by these weights.
    before
        How many rows of the same list came before these.
    """
    totals: dict[Weights, Moments] = {}
    collector = RowCollector(wanted, first)
    text = None if usage is None else TextShares()

    def moments_of(
        chunk: tuple[int, Sequence[str], NDArray[Any]],
    ) -> tuple[int, Sequence[str], NDArray[Any], dict[Weights, Moments]]:
        place, words, rows = chunk
        place += before
        moments = {}
        for each in weights:
            part, shares = each.shares(words, place)
            chosen = rows if part is None else rows[part]
            if len(chosen):
                moments[each] = Moments.from_vectors(chosen, shares, unit=each.unit)
        return place, words, rows, moments

    # One BLAS thread for each of ours: small products do not split well, and the processors stay
    # free for the threads that have work, whether parsing or multiplying.
    with one_blas_thread():
        chunks = number_chunks(even_chunks(vectors.chunks(progress)))
        for place, words, rows, moments in ordered_map(moments_of, chunks, processors()):
            if text is not None and usage is not None:
                text.add(usage, words, place)
            collector.add(words, rows)
            for each, more in moments.items():
                totals[each] = totals[each] + more if each in totals else more
    return Gathered(totals, collector.table(), collector.count, text)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method, fitted to vectors: a function of words and rows.

    Attributes
    ----------
    name : str
    method : Method
    solution : Solution or None
        None for the original vectors.
    lengths : mapping of str to float, or None
        The factors for the rows of frequent words, applied last.
    weights : Weights or None
        The weights that it was fitted with.
    doubt : str
        Why it should not or may not help; empty otherwise.
    """

    name: str
    method: Method
    solution: Solution | None = None
    lengths: Mapping[str, float] | None = None
    weights: Weights | None = None
    doubt: str = ""

    def __call__(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of these words after the method."""
        return rows if self.solution is None else self.map.map_words(words, rows)

    @cached_property
    def map(self) -> AffineMap:
        """The map, with the lengths of words; it can be saved and applied without this class."""
        if self.solution is None:
            raise InvalidInputError(f"{self.name} changes nothing; name a method")
        return replace(self.solution.map, lengths=self.lengths)

    @property
    def lengths_set(self) -> Lengths:
        """How the lengths of rows were set: by `unit` if usage was asked for but is unknown."""
        if self.solution is None or self.solution.aperture == 0:
            return Lengths.KEPT  # at aperture 0 nothing changes
        is_unknown = self.method.lengths is Lengths.USAGE and self.lengths is None
        return Lengths.UNIT if is_unknown else self.method.lengths


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
    """

    methods: Mapping[str, Fitted]
    rows: Mapping[str, WordVectors]
    count: int

    @property
    def cautions(self) -> list[str]:
        """Warnings for users about how words were weighted."""
        cautions: list[str] = []
        for fitted in self.methods.values():
            caution = fitted.weights.caution if fitted.weights else ""
            if caution and caution not in cautions:
                cautions.append(caution)
        return cautions

    @property
    def notes(self) -> list[str]:
        """Lines that describe how the methods were fitted."""
        names: dict[Weights, list[str]] = {}
        for name, fitted in self.methods.items():
            if fitted.weights is not None:
                names.setdefault(fitted.weights, []).append(name)
        lines = []
        for weights, group in names.items():
            solution = self.methods[group[0]].solution
            assert solution is not None  # it has weights
            of = f"{solution.moments.count:,} of {self.count:,} vectors"
            lines.append(f"{', '.join(group)}: fitted on {weights.description} ({of})")
        for name, fitted in self.methods.items():
            if fitted.solution is not None and fitted.solution.aperture is not None:
                lines.append(f"{name}: aperture {fitted.solution.aperture:.4g}")
        for name, fitted in self.methods.items():
            if fitted.lengths is not None:
                lines.append(f"{name}: lengths by usage, {len(fitted.lengths):,} words shortened")
            elif fitted.method.lengths is Lengths.USAGE and fitted.lengths_set is Lengths.UNIT:
                lines.append(f"{name}: lengths of 1, because word frequencies are unknown")
        return lines


def fit_methods(
    vectors: object,
    methods: MethodsLike,
    options: FitOptions | None = None,
    *,
    wanted: Collection[str] = (),
    first: int = 0,
    doubts: bool = True,
    gatherer: Callable[..., Gathered] = gather,
    progress: Progress = silent,
) -> FittedMethods:
    """Fit methods to vectors in one pass.

    Parameters
    ----------
    vectors : path, Vectors, (words, array), ...
    methods : names or `Method`, or a mapping of names to these
        `original` and the other names of `METHODS`, with parameters as in `abtt:n_directions=3`.
    options : FitOptions, optional
        How much words count, and which take part.
    wanted, first
        Words whose rows to keep, and how many of the first rows to keep.
    doubts
        Whether to look for evidence against a method; this costs a few more products.
    gatherer
        The function that reads the vectors: `gather`, or the same on a cluster.
    progress
        Called with the progress of reading.
    """
    chosen = as_methods(methods)
    opened, options = as_vectors(vectors), options or FitOptions()
    for method in chosen.values():
        method.check_rows(opened)

    @cache
    def weights_of(words: Words, unit: bool) -> Weights:
        return options.weights_for(words, opened, unit=unit)

    solved = {name: method for name, method in chosen.items() if not method.is_original}
    # The weights of each method's moment, of the moment that ranks its directions, and of running
    # text before vectors are brought to length 1.
    weights: dict[str, Weights] = {}
    once: dict[str, Weights] = {}
    plain: dict[str, Weights] = {}
    for name, method in solved.items():
        weights[name] = weights_of(method.words, method.unit)
        if method.once is not None:
            once[name] = weights_of(method.once, method.unit)
        if doubts and method.words is Words.USAGE and "aperture" in method.parameters:
            top = min(weights[name].top or _ENOUGH_TO_DOUBT, _ENOUGH_TO_DOUBT)
            plain[name] = replace(weights[name], unit=False, top=top)
    usage = None
    is_of_words = opened.has_words and opened.kind is not RowKind.TEXTS
    if is_of_words and any(method.lengths is Lengths.USAGE for method in solved.values()):
        # Shares do not depend on lengths, so any weights by usage will do.
        is_unit = any(method.words is Words.USAGE and method.unit for method in solved.values())
        usage = weights_of(Words.USAGE, is_unit)
    everything = dict.fromkeys([*weights.values(), *once.values(), *plain.values()])
    gathered = gatherer(
        opened, list(everything), wanted=wanted, first=first, usage=usage, progress=progress
    )
    table = gathered.text.lengths(usage) if gathered.text and usage else None
    fitted = {name: Fitted(name, method) for name, method in chosen.items()}
    for name, method in solved.items():
        leading = gathered.of(once[name]) if name in once else None
        solution = method.solve(gathered.of(weights[name]), leading)
        doubt = _find_doubt(solution, gathered, plain[name]) if name in plain else ""
        is_short = method.lengths is Lengths.USAGE and solution.aperture != 0
        lengths = table if is_short else None
        fitted[name] = Fitted(name, method, solution, lengths, weights[name], doubt)
    rows = dict.fromkeys(fitted, gathered.rows)
    for name in solved if len(gathered.rows) else ():
        with one_blas_thread():
            words, vectors = gathered.rows.words, gathered.rows.vectors
            rows[name] = gathered.rows.with_vectors(fitted[name](words, vectors))
    return FittedMethods(fitted, rows, gathered.count)


def _find_doubt(solution: Solution, gathered: Gathered, plain: Weights) -> str:
    """Return why a negation by usage should not or may not help; an empty string otherwise.

    It looks at running text before vectors are brought to length 1 (`plain`): if frequent words
    are short already, as in models made for averages, little is shared.
    """
    if not solution.spectrum.values.any():
        return "should not help: all vectors are zero"
    if solution.spectrum.rank == 1:
        return "should not help: all vectors are multiples of a single vector"
    if plain not in gathered.moments or solution.moments.count <= solution.moments.dimension:
        return ""
    moment = gathered.moments[plain].second_moment
    scaled = moment / (np.abs(moment).max() or 1.0)
    # (Σ λ)² / Σ λ² / n, as in `isotropy`, without an eigendecomposition.
    participation = np.trace(scaled) ** 2 / (np.vdot(scaled, scaled) or 1.0) / len(scaled)
    if participation < EVEN_ENOUGH:
        return ""
    return (
        "may not help: running text already spreads evenly over the directions (participation "
        f"ratio {participation:.2f}; {EVEN_ENOUGH} or more counts as even)"
    )
