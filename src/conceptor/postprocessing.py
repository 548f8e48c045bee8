"""Post-process a file in streaming passes: fit a method, then write the transformed vectors."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.background import FEWEST_ROWS, Background, BackgroundWarning
from conceptor.algebra.itq import MOST_ROWS, fit_itq
from conceptor.base.display import html_table
from conceptor.base.errors import InvalidInputError
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
    """The vectors that were written, and the method that was fitted for them."""

    words: int = 0  # written, or read if only a map was made
    dimension: int = 0
    seconds: float = 0.0
    megabytes_per_second: float = 0.0  # of the input on disk
    rows: str = "words"  # or `tokens`, or `texts`
    remarks: list[str] = field(default_factory=list)  # problems of the input
    estimated_on: int | None = None  # how many vectors
    variance_removed: float | None = None  # see `Solution`
    quota: float | None = None  # ``Σ (1 − g) / n``; for a conceptor, its share of the space
    aperture: float | None = None
    method: str | None = None
    fitted_on: str | None = None  # the words and weights
    lengths: str | None = None  # how the lengths of rows were set: `kept`, `unit` or `usage`

    def describe(self, fitted: Fitted) -> Report:
        """Add a fitted method and its effect on the vectors."""
        self.method, self.lengths = fitted.name, str(fitted.lengths_set)
        assert fitted.weights is not None
        assert fitted.solution is not None
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
    target: str | os.PathLike[str] | None,
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
        Anything that `as_vectors` reads. Rows without words count equally.
    target
        The file to write; its name sets the format; `-` for text on standard output. A static model
        is written as a folder of the same kind, unless the name has the extension of a format.
        None fits and saves the map only.
    method
        A name (`cn`, `cn:n_components=128`) or a `Method`; by default that of `default_method`.
    memory
        Keep decoded vectors between the passes if they fit in this many bytes; by default a quarter
        of the machine's memory.
    save_map
        Also save the map to this file. For rows of texts, it includes the scale of cosines of
        mapped rows (`Background`).
    format
        As for `write_vectors`.
    dtype
        As for `write_vectors`. For `binary`, rows of texts are rotated after the method so that
        their signs lose least (`conceptor.algebra.itq`); one more pass learns the rotation.
    force
        Replace an existing file.
    caution
        Called before anything is written if the method may not help; by default the caution
        becomes a remark of the report.
    **parameters
        Parameters of the method, such as `aperture=2`, as in its name (`cn:aperture=2`).
    """
    started = time.perf_counter()
    opened = as_vectors(source)
    chosen = choose_method(method, opened, options, **parameters)
    goal = None
    if target is not None:
        opened = keep(opened, memory)
        dimension = chosen.output_dimension(opened.dimension)
        goal = plan_target(
            target, opened, dimension=dimension, format=format, dtype=dtype, force=force
        )
    if save_map is not None:
        check_new_file(save_map, opened.files, force=force)
        if goal and Path(save_map).resolve() in goal.files:
            raise InvalidInputError(f"{save_map}: cannot hold both the vectors and the map")
    fits = fit_methods(opened, [chosen], options, doubts=goal is not None, progress=progress)
    fitted = fits.methods[str(chosen)]
    doubts = []
    if fitted.doubt:
        doubts = [f"{opened.name}: {fitted.name} {fitted.doubt}; measure it with compare"]
    map_, count = fitted.map, fits.count
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
    if goal is not None:
        count = write(opened, goal, map_, progress)
    if save_map is not None:
        map_.save(save_map, background=background)
    report = sum_up(opened, started, count, map_.n_out, fitted)
    report.remarks += [f"{opened.name}: {each}" for each in (*warned, *fits.cautions)] + doubts
    return report


def choose_method(
    method: MethodLike | None,
    vectors: Vectors,
    options: FitOptions | None = None,
    **parameters: object,
) -> Method:
    """Return the method to fit, by default that for the kind of rows; raise if it cannot apply."""
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
    """Return the scale of cosines of mapped rows, and warnings about these rows.

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
    **how: Any,  # noqa: ANN401 - as for `postprocess`
) -> Report:
    """Fit a method to the vectors of a file, and save only its map."""
    return postprocess(source, None, method, options, save_map=target, **how)


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
