"""Post-process a file in streaming passes: fit a method, then write the transformed vectors."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.background import FEWEST_ROWS, Background, BackgroundWarning
from conceptor.algebra.itq import ITQ, MOST_ROWS
from conceptor.algebra.lengths import Lengths
from conceptor.base.errors import InvalidInputError, Message
from conceptor.base.progress import silent
from conceptor.fitting import FitOptions, fit_methods
from conceptor.methods import Method
from conceptor.vectors.chunks import keep_vectors, number_chunks, read_chunks
from conceptor.vectors.conversion import Written, sum_up
from conceptor.vectors.files import open_vectors
from conceptor.vectors.source import VectorSource
from conceptor.vectors.target import check_new_file, plan_target, write_chunks
from conceptor.vectors.texts import BACKGROUND_ROWS, read_some
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.recipes import Solution
    from conceptor.base.progress import Progress
    from conceptor.fitting import Fitted, FittedMethods
    from conceptor.methods import MethodLike
    from conceptor.vectors.chunks import KeptVectors, Transform
    from conceptor.vectors.target import Target
    from conceptor.vectors.vectors import Vectors

    Source = VectorSource | str | os.PathLike[str]

_BITS = "binary"
_LEVELS = (
    "flattens directions, and all bits count equally; gentle keeps more neighbours in bits "
    "(docs/studies/smaller.md)"
)
# A smaller share of the variance is rounding.
_NOTHING = 1e-12


@dataclass
class Report(Written):
    """The vectors written, and the method fitted for them.

    Attributes
    ----------
    estimated_on
        The number of vectors that the map was estimated on.
    variance_removed
        ``1 − Σ g² λ / Σ λ`` over the spectrum that the map was derived from.
    quota
        ``Σ (1 − g) / n``; for a conceptor, its share of the space.
    aperture
        The α that was used, if the method has one.
    method, fitted_on
        The method's name, and the words and weights it was fitted on.
    lengths
        How the lengths of rows were set: `kept`, `unit` or `usage` (`Lengths`).
    """

    estimated_on: int | None = None
    variance_removed: float | None = None
    quota: float | None = None
    aperture: float | None = None
    method: str | None = None
    fitted_on: str | None = None
    lengths: str | None = None

    @classmethod
    def of(
        cls, written: Written, found: FittedMethods | None = None, name: str | None = None
    ) -> Report:
        """Return a report on written vectors, with the fitted method if there is one."""
        report = cls(**vars(written), method=name)
        if found is None or name is None:
            return report
        report.lengths = str(found.lengths[name])
        if name in found.weights:
            report.fitted_on = found.weights[name].description
        solution = found.methods[name].solution
        return report if solution is None else report.describe(solution)

    def describe(self, solution: Solution) -> Report:
        """Add the effect of a solved recipe on the vectors."""
        self.estimated_on, self.aperture = solution.moments.count, solution.aperture
        gate, values = solution.gate, solution.spectrum.values
        if not (gate**2 * values).sum() > _NOTHING * values.sum():
            self.remarks.append("the method removed all the variance of the vectors")
        self.variance_removed = solution.variance_removed
        if self.variance_removed is not None:
            self.quota = float((1 - gate).mean())
        return self


def postprocess(
    source: Source,
    target: str | os.PathLike[str],
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    *,
    memory: int | None = None,
    save_map: str | os.PathLike[str] | None = None,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    progress: Progress = silent,
    caution: Callable[[str], object] | None = None,
) -> Report:
    """Fit a method to the vectors of a file and write all improved vectors to another file.

    Parameters
    ----------
    source
        A file, the folder of a static model, `-`, or a result of `open_vectors`. It may also be an
        array or a table without words; then all rows count equally.
    target
        The file to write; its name sets the format; `-` for text on standard output. A static model
        is written as a folder of the same kind, unless the name has the extension of a format.
    method
        A name (`cn`, `cn:n_components=128`), a chain (`cn+counterfit`), a recipe or a `Method`; by
        default `Method.default_for` the vectors.
    options : FitOptions, optional
        Usage weights, the words to fit on, and the lexicon; the default depends on the method
        (`conceptor.weights.choose_weights`).
    memory
        Keep decoded vectors between the passes if they fit in this many bytes, to save decoding
        them again; by default a quarter of the machine's memory.
    save_map
        Also save the map to this file. For rows of texts, it includes the scale of cosines of
        mapped rows (`Background`).
    format, dtype, force
        As for `write_vectors`. For `binary`, rows of texts are rotated after the method so that
        their signs lose least (`ITQ`); one more pass learns the rotation.
    progress
        Called with the progress of the passes.
    caution
        Called before anything is written if the evidence is against it; by default the caution
        becomes a remark of the report.
    """
    started = time.perf_counter()
    opened = _open(source)
    chosen = _choose_method(method, opened)
    goal, kept = plan_passes(
        opened, target, memory, save_map, format=format, dtype=dtype, force=force
    )
    if save_map is not None or goal.kind.rewrite:
        why = "there is no map to save or to write into a model"
        chosen.require_map(why, of_words=goal.kind.rewrite is None)
    name = chosen.name
    found = fit_methods(kept, [chosen], options, progress=progress)
    fitted = found.methods[name]
    doubts = describe_doubts(found, opened.name)
    of_bits = goal.dtype == _BITS and opened.kind is RowKind.TEXTS and chosen.is_map
    if of_bits and chosen.weighs_by_usage:
        doubts.append(f"{opened.name}: {name} {_LEVELS}")
    if caution is not None:
        for doubt in doubts:
            caution(doubt)
        doubts = []
    transform: Transform = fitted
    map_ = fitted.map if save_map is not None or goal.kind.rewrite or of_bits else None
    if of_bits and map_ is not None:
        map_ = rotate_for_bits(kept, map_)
        transform = partial(_through_map, map_)
    background, said = None, list[str]()
    if save_map is not None and map_ is not None:
        background, said = fit_background(kept, map_)
    words = write_last(
        kept,
        goal,
        transform,
        map_,
        save_map,
        progress,
        dimension=fitted.n_out,
        background=background,
    )
    written = sum_up(opened, started, words, goal, fitted.n_out)
    written.remarks += [f"{opened.name}: {each}" for each in said]
    written.remarks += [*(Message(opened.name, ": ", each) for each in found.cautions), *doubts]
    report = Report.of(written, found, name)
    if goal.kind.rewrite and report.lengths == Lengths.USAGE:
        report.lengths = str(Lengths.KEPT)  # its rows are parts of words, and are summed
    return report


def rotate_for_bits(vectors: Vectors, map_: AffineMap) -> AffineMap:
    """Return a map followed by the rotation whose signs lose least of the mapped rows.

    One pass learns it from rows spread over the file; with too few rows, the map has no rotation.
    """
    step = -(-(vectors.count or 1) // MOST_ROWS)
    taken: list[Any] = []
    missing = MOST_ROWS
    for before, _, rows in number_chunks(read_chunks(vectors)):
        some = rows[-before % step :: step][:missing]
        taken.append(map_(some))
        missing -= len(some)
        if not missing:
            break
    mapped = np.concatenate(taken)
    return map_ @ ITQ.fit(mapped).map if len(mapped) > map_.n_out else map_


def fit_background(vectors: Vectors, map_: AffineMap) -> tuple[Background | None, list[str]]:
    """Return the scale of cosines of mapped rows, in one pass, and cautions about these rows.

    The scale is None for words, which do not need it, and for fewer than 100 rows.
    """
    if vectors.kind is not RowKind.TEXTS:
        return None, []
    some = read_some(vectors, BACKGROUND_ROWS)
    rows = map_(some.vectors[some.sample])
    if np.count_nonzero(rows.any(axis=1)) < FEWEST_ROWS:
        return None, []
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", BackgroundWarning)
        found = Background.fit(rows)
    return found, [str(each.message) for each in raised]


def _through_map(map_: AffineMap, _: object, rows: Any) -> Any:  # noqa: ANN401
    return map_(rows)


def describe_doubts(found: FittedMethods, where: str) -> list[str]:
    """Describe the methods that should or may not help, and why."""
    return [
        f"{where}: {name} {reason}; measure it with compare"
        for name, reason in found.doubts.items()
    ]


def fit(
    source: Source,
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> tuple[Fitted, Report]:
    """Fit a single spectral method to the vectors of a file, in one pass."""
    started = time.perf_counter()
    opened = _open(source)
    chosen = _choose_method(method, opened)
    if chosen.recipe is None or not chosen.is_map:
        raise InvalidInputError(f"{chosen}: a map needs a single spectral method")
    found = fit_methods(opened, [chosen], options, whole=False, progress=progress)
    fitted = found.methods[chosen.name]
    written = sum_up(opened, started, opened.count or found.count)
    written.remarks += [Message(opened.name, ": ", each) for each in found.cautions]
    return fitted, Report.of(written, found, chosen.name)


def _open(source: Source) -> VectorSource:
    return source if isinstance(source, VectorSource) else open_vectors(source, wordless=True)


def _choose_method(method: MethodLike | None, source: VectorSource) -> Method:
    chosen = Method.default_for(source) if method is None else Method.of(method)
    chosen.check_changes()
    chosen.check_words(source)
    return chosen


def plan_passes(
    source: VectorSource,
    target: str | os.PathLike[str],
    memory: int | None,
    save_map: str | os.PathLike[str] | None,
    *,
    format: str | None,
    dtype: str | None,
    force: bool,
) -> tuple[Target, KeptVectors]:
    """Return the target of the vectors, and the source, wrapped for rereading.

    Raise if the vectors cannot be written there, or the map cannot be saved beside them.
    """
    goal = plan_target(target, source=source, format=format, dtype=dtype, force=force)
    if save_map is not None:
        check_new_file(save_map, source.files(), force=force)
        if Path(save_map).resolve() in goal.files:
            raise InvalidInputError(f"{save_map}: cannot hold both the vectors and the map")
    # A model is written from its encoded rows, so decoded rows are not kept.
    return goal, keep_vectors(source, 0 if goal.kind.rewrite else memory)


def write_last(
    kept: KeptVectors,
    goal: Target,
    transform: Transform,
    map_: AffineMap | None,
    save_map: str | os.PathLike[str] | None,
    progress: Progress,
    *,
    dimension: int | None = None,
    background: Background | None = None,
) -> int:
    """Write the vectors, or a whole model, in the last pass; return their number.

    `map_` is the map of `transform`; it is needed only to save it or to write it into a model.
    `background` is saved with it.
    """
    source = kept.wrapped
    if goal.kind.rewrite is not None and goal.path is not None:
        words = goal.kind.rewrite(source, goal.path, map_, progress)
    else:
        words = write_chunks(
            _last_pass(kept, progress), goal, source.count, transform, dimension=dimension
        )
    if save_map is not None and map_ is not None:
        map_.save(save_map, background=background)
    return words


def _last_pass(kept: KeptVectors, progress: Progress) -> Iterator[Any]:
    """Yield the chunks for the last time, as they are written."""
    words = 0
    for chunk in kept.last_chunks():
        words += len(chunk.words)
        progress("writing", kept.fraction_read(), words)
        yield chunk
