"""Debiasing as an expression: keep the part of vectors that `not (gender or names)` describes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.gates import scale_free_aperture
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.concepts.expressions import Expression, check_name
from conceptor.concepts.lists import USAGE, learn_concepts
from conceptor.fit import FitOptions
from conceptor.postprocessing import Report, sum_up
from conceptor.vectors.files import as_vectors
from conceptor.vectors.target import check_new_file, plan_target, write
from conceptor.vectors.vectors import keep


class Solved(NamedTuple):
    """The value of an expression for given vectors."""

    conceptor: Conceptor  # the part to keep
    map: AffineMap  # scales vectors to length 1 and applies a power of the conceptor
    remarks: Sequence[str]  # words without a vector, and the usage weights


def solve_expression(
    vectors: object,
    concepts: Mapping[str, object],
    expression: str | None = None,
    *,
    aperture: float | Literal["auto"] = "auto",
    power: float = 1.0,
    options: FitOptions | None = None,
    progress: Progress = silent,
) -> Solved:
    """Learn concepts from vectors in one pass, and evaluate an expression over them.

    Parameters
    ----------
    vectors : path, Vectors, WordVectors, (words, array), ...
    concepts : mapping of names to word lists
        Each a file with a word or a pair per line, `he,him,his`, `he:she,man:woman`, or a
        collection of either; for pairs, the concept describes their differences.
    expression : str
        Over these names and `usage`; by default not any of them.
    aperture : float or "auto"
        For unit vectors, for every concept but `usage`, which has that of `cn`. "auto" keeps half
        of the mean direction in use, so lists of any length and kind count alike.
    power : float
        The power of the conceptor that is applied; `not usage` with ½ is `cn`.
    """
    if expression is None and not concepts:
        raise InvalidInputError("no concept and no expression was given")
    if expression is None:
        expression = f"not ({' or '.join(map(check_name, concepts))})"
    goal = Expression(expression)
    goal.check([*concepts, USAGE])
    moments, remarks = learn_concepts(vectors, concepts, goal.names, options, progress=progress)
    with one_blas_thread():
        conceptors = {}
        for name, each in moments.items():
            spectrum = Spectrum.from_matrix(each.second_moment)
            own = aperture
            if own == "auto" or name == USAGE:
                own = scale_free_aperture(spectrum.values)
            conceptors[name] = Conceptor.from_spectrum(spectrum, own)
        conceptor = goal(conceptors)
        if not conceptor.quota > 0:
            raise InvalidInputError(f"the expression {goal.text!r} leaves nothing of the vectors")
        provenance = {
            "method": "debias",
            "expression": goal.text,
            "concepts": {name: each.count for name, each in moments.items()},
            "aperture": aperture,
            "power": power,
            "library": f"conceptor {__version__}",
        }
        map_ = AffineMap(conceptor.power(power).matrix, provenance=provenance, unit=True)
    return Solved(conceptor, map_, remarks)


def debias(
    source: object,
    target: str | os.PathLike[str],
    concepts: Mapping[str, object],
    expression: str | None = None,
    *,
    aperture: float | Literal["auto"] = "auto",
    power: float = 1.0,
    options: FitOptions | None = None,
    save_map: str | os.PathLike[str] | None = None,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> tuple[Solved, Report]:
    """Apply an expression over concepts to a file's vectors and write them to another file.

    Parameters are those of `solve_expression` and of `conceptor.postprocess`.
    """
    started = time.perf_counter()
    opened = keep(as_vectors(source))
    planned = plan_target(target, opened, format=format, dtype=dtype, force=force)
    if save_map is not None:
        check_new_file(save_map, opened.files, force=force)
        if Path(save_map).resolve() in planned.files:
            raise InvalidInputError(f"{save_map}: cannot hold both the vectors and the map")
    solved = solve_expression(
        opened,
        concepts,
        expression,
        aperture=aperture,
        power=power,
        options=options,
        progress=progress,
    )
    count = write(opened, planned, solved.map, progress)
    if save_map is not None:
        solved.map.save(save_map)
    report = sum_up(opened, started, count, opened.dimension)
    report.method = solved.map.provenance["expression"]
    report.quota = 1 - solved.conceptor.quota
    report.aperture = float(aperture) if isinstance(aperture, int | float) else None
    report.remarks += [f"{opened.name}: {remark}" for remark in solved.remarks]
    return solved, report
