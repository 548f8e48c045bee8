"""Post-process a file in streaming passes: fit a method, then write the transformed vectors."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.background import FEWEST_ROWS, Background, BackgroundWarning
from conceptor.algebra.itq import MOST_ROWS, fit_itq
from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_table
from conceptor.base.progress import Progress, silent
from conceptor.fit import FitOptions, Fitted, fit_methods
from conceptor.methods import Method, MethodLike, Words, as_method, default_method
from conceptor.vectors.files import as_vectors
from conceptor.vectors.target import check_new_file, plan_target, write
from conceptor.vectors.texts import BACKGROUND_ROWS, read_some
from conceptor.vectors.vectors import RowKind, Vectors, keep

__all__ = ["Report", "convert", "fit", "postprocess"]

# A smaller share of the variance is rounding.
_NOTHING = 1e-12


@dataclass
class Report:
    """The vectors that were written, and the method that was fitted for them.

    Attributes
    ----------
    words, dimension
        How many vectors were written (or read, if only a map was made), and their dimension.
    seconds, megabytes_per_second
        The time taken, and the input's megabytes on disk divided by it.
    rows
        What rows are: `words`, `tokens` or `texts`.
    remarks
        Problems of the input: duplicates, skipped rows, a wrong count in the header.
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
        How the lengths of rows were set: `kept`, `unit` or `usage`.
    """

    words: int = 0
    dimension: int = 0
    seconds: float = 0.0
    megabytes_per_second: float = 0.0
    rows: str = "words"
    remarks: list[str] = field(default_factory=list)
    estimated_on: int | None = None
    variance_removed: float | None = None
    quota: float | None = None
    aperture: float | None = None
    method: str | None = None
    fitted_on: str | None = None
    lengths: str | None = None

    def describe(self, fitted: Fitted) -> Report:
        """Add a fitted method and its effect on the vectors."""
        self.method, self.lengths = fitted.name, str(fitted.lengths_set)
        if fitted.weights is None or fitted.solution is None:
            return self
        solution, self.fitted_on = fitted.solution, fitted.weights.description
        self.estimated_on, self.aperture = solution.moments.count, solution.aperture
        self.variance_removed = solution.variance_removed
        if self.variance_removed is not None:
            self.quota = float((1 - solution.gate).mean())
            if self.variance_removed > 1 - _NOTHING:
                self.remarks.append("the method removed all the variance of the vectors")
        return self

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, [])}
        if self.remarks:
            values["remarks"] = "; ".join(self.remarks)
        return html_table("Report", values)


def postprocess(
    source: object,
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
    **parameters: object,
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
        A name (`cn`, `cn:n_components=128`) or a `Method`; by default that of `default_method`.
    options : FitOptions, optional
        Usage weights and the words to fit on; the default depends on the method.
    memory
        Keep decoded vectors between the passes if they fit in this many bytes, to save decoding
        them again; by default a quarter of the machine's memory.
    save_map
        Also save the map to this file. For rows of texts, it includes the scale of cosines of
        mapped rows (`Background`).
    format, dtype, force
        As for `write_vectors`. For `binary`, rows of texts are rotated after the method so that
        their signs lose least (`conceptor.algebra.itq`); one more pass learns the rotation.
    progress
        Called with the progress of the passes.
    caution
        Called before anything is written if the method may not help; by default the caution
        becomes a remark of the report.
    **parameters
        Parameters of the method, such as `aperture=2`, as in its name (`cn:aperture=2`).
    """
    started = time.perf_counter()
    opened = keep(as_vectors(source), memory)
    chosen = choose_method(method, opened, options, **parameters)
    goal = plan_target(
        target,
        opened,
        dimension=chosen.output_dimension(opened.dimension),
        format=format,
        dtype=dtype,
        force=force,
    )
    if save_map is not None:
        check_new_file(save_map, opened.files, force=force)
        if Path(save_map).resolve() in goal.files:
            raise InvalidInputError(f"{save_map}: cannot hold both the vectors and the map")
    fits = fit_methods(opened, [chosen], options, progress=progress)
    fitted = fits.methods[str(chosen)]
    doubts = []
    if fitted.doubt:
        doubts = [f"{opened.name}: {fitted.name} {fitted.doubt}; measure it with compare"]
    map_ = fitted.map
    if dtype == "binary" and opened.kind is RowKind.TEXTS:
        if chosen.words is Words.USAGE:
            doubts.append(
                f"{opened.name}: {fitted.name} flattens directions, and all bits count equally; "
                "gentle keeps more neighbors in bits"
            )
        # The rotation whose signs lose least, if there are enough rows to learn it.
        sample = read_some(opened, MOST_ROWS)
        rows = map_(sample.vectors[sample.sample])
        map_ = map_ @ fit_itq(rows) if len(rows) > map_.n_out else map_
    if caution is not None:
        for doubt in doubts:
            caution(doubt)
        doubts = []
    background, warned = (None, []) if save_map is None else _fit_background(opened, map_)
    count = write(opened, goal, map_, progress)
    if save_map is not None:
        map_.save(save_map, background=background)
    report = sum_up(opened, started, count, map_.n_out, fitted)
    if goal.format.name == "fasttext" and report.lengths == "usage":
        report.lengths = "kept"  # its rows are parts of words, and are summed
    report.remarks += [f"{opened.name}: {each}" for each in (*warned, *fits.cautions)] + doubts
    return report


def choose_method(
    method: MethodLike | None,
    vectors: Vectors,
    options: FitOptions | None = None,
    **parameters: object,
) -> Method:
    """Return the method to fit, by default that for the kind of rows; raise if it does not apply.

    `parameters` replace those of the method.
    """
    chosen = default_method(vectors) if method is None else as_method(method)
    if options is not None and options.weights is not None and not chosen.weighs_by_usage:
        raise InvalidInputError(
            f"--weights does not apply to {chosen}, which counts each word once; leave it out, or "
            "use cn or zipf-whitening"
        )
    chosen = chosen.with_parameters(**parameters)
    if chosen.is_original:
        raise InvalidInputError(f"{chosen} changes nothing; name a method")
    chosen.check_rows(vectors)
    return chosen


def sum_up(
    vectors: Vectors, started: float, count: int, dimension: int, fitted: Fitted | None = None
) -> Report:
    """Return the report on a pass that began at `started`."""
    seconds = time.perf_counter() - started
    speed = vectors.size / 1e6 / seconds
    remarks = vectors.findings.lines()
    report = Report(count, dimension, seconds, speed, str(vectors.kind), remarks)
    return report if fitted is None else report.describe(fitted)


def _fit_background(vectors: Vectors, map_: AffineMap) -> tuple[Background | None, list[str]]:
    """Return the scale of cosines of mapped rows, in one pass, and warnings about these rows.

    The scale is None for words, which do not need it, and for fewer than 100 rows.
    """
    if vectors.kind is not RowKind.TEXTS:
        return None, []
    sample = read_some(vectors, BACKGROUND_ROWS)
    rows = map_(sample.vectors[sample.sample])
    if np.count_nonzero(rows.any(axis=1)) < FEWEST_ROWS:
        return None, []
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", BackgroundWarning)
        background = Background.fit(rows)
    return background, [str(each.message) for each in raised]


def fit(
    source: object,
    target: str | os.PathLike[str],
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    *,
    force: bool = False,
    progress: Progress = silent,
    **parameters: object,
) -> Report:
    """Fit a method to the vectors of a file, and save its map, as `save_map` of `postprocess`."""
    started = time.perf_counter()
    opened = as_vectors(source)
    chosen = choose_method(method, opened, options, **parameters)
    check_new_file(target, opened.files, force=force)
    fits = fit_methods(opened, [chosen], options, progress=progress)
    fitted = fits.methods[str(chosen)]
    background, warned = _fit_background(opened, fitted.map)
    fitted.map.save(target, background=background)
    report = sum_up(opened, started, fits.count, fitted.map.n_out, fitted)
    report.remarks += [f"{opened.name}: {each}" for each in (*warned, *fits.cautions)]
    return report


def convert(
    source: object,
    target: str | os.PathLike[str],
    map_: AffineMap | None = None,
    *,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Report:
    """Write a file's vectors to another, in another format, through a map, or both."""
    started = time.perf_counter()
    opened = as_vectors(source)
    if map_ is not None and map_.n_in != opened.dimension:
        raise InvalidInputError(
            f"{opened.name}: its vectors have {opened.dimension} dimensions; "
            f"the map is for {map_.n_in}-dimensional vectors"
        )
    dimension = opened.dimension if map_ is None else map_.n_out
    goal = plan_target(target, opened, dimension=dimension, format=format, dtype=dtype, force=force)
    count = write(opened, goal, map_, progress)
    return sum_up(opened, started, count, dimension)
