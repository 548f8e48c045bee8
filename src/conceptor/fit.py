"""Fit methods to vectors: one pass for moments and wanted rows, then one solution per method.

Every front end calls `fit_methods`, so the same vectors always get the same map, and `compare`
measures the vectors that `postprocess` writes. Memory depends on the wanted rows and the dimension,
not on the length of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import isotropy
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map
from conceptor.methods import Lengths, Method, MethodsLike, Solution, Words, as_methods
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowCollector, RowKind, Vectors, even_chunks
from conceptor.weights import RARE, FitOptions, Weights, sif_weights

__all__ = ["FitOptions", "Fitted", "FittedMethods", "Gathered", "fit_methods", "gather"]

# Above this participation ratio, running text shares little that could be removed.
EVEN_ENOUGH = 0.5
# This many vectors at the start of a sorted file make up most of running text.
_ENOUGH_TO_DOUBT = 20_000


@dataclass(eq=False)
class Gathered:
    """The sums of one pass; `+=` adds those of the rows that follow."""

    moments: dict[Weights, Moments] = field(default_factory=dict)
    count: int = 0
    usage: float = 0.0  # the sum of all words' usage weights
    frequent: dict[str, float] = field(default_factory=dict)  # these weights, without rare words
    rows: WordVectors | None = None

    def __iadd__(self, other: Gathered) -> Gathered:
        for weights, more in other.moments.items():
            ours = self.moments.get(weights)
            self.moments[weights] = more if ours is None else ours + more
        for word, weight in other.frequent.items():  # the first row of a word counts
            self.frequent.setdefault(word, weight)
        self.count += other.count
        self.usage += other.usage
        return self

    def of(self, weights: Weights) -> Moments:
        """Return the moments for some weights; raise if no row took part."""
        if weights not in self.moments:
            raise InvalidInputError(
                f"the vectors contain none of the words to fit on ({weights.description}); does "
                "the vocabulary or the counts file belong to them?"
            )
        return self.moments[weights]

    def lengths(self, usage: Weights | None) -> dict[str, float] | None:
        """Return SIF's weight of each frequent word; None if there are none.

        Shares are of all counted text, including words without a vector.
        """
        counts = usage.counts if usage else None
        total = max(self.usage, sum((counts or {}).values()))
        shares = {word: w / total for word, w in self.frequent.items() if w > RARE * total}
        factors = sif_weights(np.array(list(shares.values())))
        return dict(zip(shares, factors.tolist(), strict=True)) or None


def gather(
    vectors: Vectors,
    weights: Collection[Weights],
    *,
    wanted: Collection[str] | None = None,
    first: int = 0,
    usage: Weights | None = None,
    before: int = 0,
    progress: Progress = silent,
) -> Gathered:
    """Read vectors once, several chunks at a time.

    Sums are in the order of the stream and over fixed numbers of rows, so every format of the same
    vectors gives the same bits, on any number of processors.

    Parameters
    ----------
    weights
        Compute the moments for each of these.
    wanted, first
        Keep the rows of these words, and this many of the first rows.
    usage
        Find the words that are frequent by these weights.
    before
        The number of rows before these.
    """
    total = Gathered()
    collector = None if wanted is None else RowCollector(wanted, first)

    def add_up(
        chunk: tuple[int, Sequence[str], NDArray[Any]],
    ) -> tuple[Sequence[str], NDArray[Any], Gathered]:
        place, words, rows = chunk
        part = Gathered(count=len(words))
        for each in weights:
            chosen, shares = each.shares(words, before + place)
            taking_part = rows if chosen is None else rows[chosen]
            if len(taking_part):
                part.moments[each] = Moments.from_vectors(taking_part, shares, unit=each.unit)
        chosen, shares = usage.shares(words, before + place) if usage else (None, None)
        if shares is not None:
            part.usage = float(shares.sum())
            # The total only grows, so a word that is rare now stays rare.
            for i in np.flatnonzero(shares > RARE * (total.usage + part.usage)).tolist():
                word = words[i if chosen is None else chosen[i]]
                part.frequent.setdefault(word, float(shares[i]))
        return words, rows, part

    # One BLAS thread for each of ours: small products do not split well, and the processors stay
    # free for the threads that have work, whether parsing or multiplying.
    with one_blas_thread():
        for words, rows, part in ordered_map(add_up, even_chunks(vectors.chunks(progress))):
            total += part
            if collector is not None:
                collector.add(words, rows)
    total.rows = None if collector is None else collector.table()
    return total


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method, fitted to vectors: a function of words and rows."""

    name: str
    method: Method
    solution: Solution | None = None  # None for the original vectors
    lengths: Mapping[str, float] | None = None  # factors for frequent words, applied last
    weights: Weights | None = None  # that it was fitted with
    doubt: str = ""  # why it should not or may not help

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
    """Methods fitted to the same vectors, by name."""

    methods: Mapping[str, Fitted]
    rows: Mapping[str, WordVectors]  # after each method, if rows were wanted
    count: int  # of the vectors that were read

    @property
    def cautions(self) -> list[str]:
        """Warnings for users about how words were weighted."""
        cautions = [each.weights.caution for each in self.methods.values() if each.weights]
        return list(dict.fromkeys(filter(None, cautions)))

    @property
    def notes(self) -> list[str]:
        """Lines that describe how the methods were fitted."""
        names: dict[str, list[str]] = {}
        lines = []
        for name, fitted in self.methods.items():
            if fitted.weights is not None and fitted.solution is not None:
                of = f"{fitted.solution.moments.count:,} of {self.count:,} vectors"
                names.setdefault(f"{fitted.weights.description} ({of})", []).append(name)
                if fitted.solution.aperture is not None:
                    lines.append(f"{name}: aperture {fitted.solution.aperture:.4g}")
        lines[:0] = [f"{', '.join(group)}: fitted on {what}" for what, group in names.items()]
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
    wanted: Collection[str] | None = None,
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
    wanted, first
        Words whose rows to keep, and how many of the first rows to keep.
    doubts
        Whether to look for evidence against a method; this costs a few more products.
    gatherer
        The function that reads the vectors: `gather`, or the same on a cluster.
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
            # By rank the first vectors are enough; counts may belong to any row.
            top = weights[name].top
            if weights[name].kind == "zipf":
                top = min(top or _ENOUGH_TO_DOUBT, _ENOUGH_TO_DOUBT)
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
    table = gathered.lengths(usage)
    fitted = {name: Fitted(name, method) for name, method in chosen.items()}
    for name, method in solved.items():
        leading = gathered.of(once[name]) if name in once else None
        solution = method.solve(gathered.of(weights[name]), leading)
        doubt = _find_doubt(solution, gathered, plain[name]) if name in plain else ""
        is_short = method.lengths is Lengths.USAGE and solution.aperture != 0
        lengths = table if is_short else None
        fitted[name] = Fitted(name, method, solution, lengths, weights[name], doubt)
    rows = {}
    if gathered.rows is not None:
        rows = dict.fromkeys(fitted, gathered.rows)
        for name in solved if len(gathered.rows) else ():
            with one_blas_thread():
                changed = fitted[name](gathered.rows.words, gathered.rows.vectors)
            rows[name] = gathered.rows.with_vectors(changed)
    return FittedMethods(fitted, rows, gathered.count)


def _find_doubt(solution: Solution, gathered: Gathered, plain: Weights) -> str:
    """Return why a negation by usage should not or may not help; an empty string otherwise.

    Of running text before vectors are brought to length 1 (`plain`), little is shared if frequent
    words are short already, as in models made for averages.
    """
    if not solution.spectrum.values.any():
        return "should not help: all vectors are zero"
    if solution.spectrum.rank == 1:
        return "should not help: all vectors are multiples of a single vector"
    is_few = solution.moments.count <= solution.moments.dimension
    # Neither words that count once each nor ranks that are no frequencies make running text.
    is_text = plain.kind == "counts" or (plain.kind == "zipf" and not plain.caution)
    if not is_text or plain not in gathered.moments or is_few:
        return ""
    participation = isotropy(gathered.moments[plain].second_moment)
    if participation < EVEN_ENOUGH:
        return ""
    return (
        "may not help: running text already spreads evenly over the directions (participation "
        f"ratio {participation:.2f}; {EVEN_ENOUGH} or more counts as even)"
    )
