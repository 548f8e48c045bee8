"""Debiasing as an expression: take out of vectors what `not (gender or names)` leaves out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import memory_bytes, one_blas_thread
from conceptor.concepts.expressions import Expression, check_name
from conceptor.concepts.lists import USAGE, learn_concepts
from conceptor.pipeline import check_map_target, last_pass
from conceptor.vectors.chunks import KeptChunks
from conceptor.vectors.conversion import finish_report
from conceptor.vectors.files import open_vectors
from conceptor.vectors.source import VectorSource
from conceptor.vectors.target import plan_target
from conceptor.vectors.writing import write_chunks

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.conceptors import Conceptor
    from conceptor.base.progress import Progress
    from conceptor.fitting import FitOptions
    from conceptor.vectors.conversion import Report

__all__ = ["Solved", "debias", "solve_expression"]


@dataclass(frozen=True, eq=False)
class Solved:
    """An expression's value for some vectors.

    Attributes
    ----------
    conceptor : Conceptor
        The value: what is kept.
    map : AffineMap
        Brings vectors to length 1 and applies a power of the conceptor.
    remarks : sequence of str
        What users should know: words without a vector, how words were weighed.
    """

    conceptor: Conceptor
    map: AffineMap
    remarks: Sequence[str]


def solve_expression(
    vectors: object,
    concepts: Mapping[str, object],
    expression: str | Expression | None = None,
    *,
    aperture: float | Literal["auto"] = "auto",
    power: float = 1.0,
    options: FitOptions | None = None,
    progress: Progress = silent,
) -> Solved:
    """Learn concepts from vectors, in one pass, and return what an expression makes of them.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    concepts : mapping of names to word lists
        Each a file, `he,him,his`, `he:she,man:woman`, or a collection of words or pairs; the
        concept of pairs is where their differences lie.
    expression : str
        Over these names and `usage`; by default not any of them.
    aperture : float or "auto"
        Of every concept, for vectors of length 1; `usage` has its own.
    power : float
        The conceptor's power that is applied; `not usage` with ½ is `cn`.
    options : FitOptions, optional
        How often words are used, for `usage`.
    """
    wanted = _as_expression(expression, concepts)
    wanted.check([*concepts, USAGE])
    found = learn_concepts(vectors, concepts, wanted.names, options, progress=progress)
    with one_blas_thread():
        conceptor = wanted(found.conceptors(aperture))
        provenance = {
            "method": "debias",
            "expression": wanted.text,
            "concepts": {name: each.count for name, each in found.moments.items()},
            "aperture": aperture,
            "power": power,
            "library": f"conceptor {__version__}",
        }
        map_ = AffineMap(conceptor.power(power).matrix, provenance=provenance, unit=True)
    return Solved(conceptor, map_, found.remarks)


def debias(
    source: VectorSource | str | os.PathLike[str],
    target: str | os.PathLike[str],
    concepts: Mapping[str, object],
    expression: str | Expression | None = None,
    *,
    aperture: float | Literal["auto"] = "auto",
    power: float = 1.0,
    options: FitOptions | None = None,
    memory: int | None = None,
    save_map: str | os.PathLike[str] | None = None,
    format: str | None = None,
    dtype: str = "float32",
    force: bool = False,
    progress: Progress = silent,
) -> tuple[Solved, Report]:
    """Write a file's vectors to another as an expression over concepts leaves them.

    Parameters are those of `solve_expression` and of `conceptor.postprocess`.
    """
    started = time.perf_counter()
    opened = source if isinstance(source, VectorSource) else open_vectors(source)
    wanted = _as_expression(expression, concepts)
    goal = plan_target(target, source=opened, format=format, dtype=dtype, force=force)
    if save_map is not None:
        check_map_target(save_map, opened, goal, force=force)
    kept = KeptChunks(opened, memory_bytes() // 4 if memory is None else memory)
    solved = solve_expression(
        kept,
        concepts,
        wanted,
        aperture=aperture,
        power=power,
        options=options,
        progress=progress,
    )
    words = write_chunks(
        last_pass(kept, progress), goal, opened.count, lambda _, rows: solved.map(rows)
    )
    if save_map is not None:
        solved.map.save(save_map)
    report = finish_report(opened, started, words, goal)
    report.method, report.quota = wanted.text, 1 - solved.conceptor.quota
    report.aperture = None if aperture == "auto" else float(aperture)
    report.remarks += [f"{opened.path}: {remark}" for remark in solved.remarks]
    return solved, report


def _as_expression(
    expression: str | Expression | None, concepts: Mapping[str, object]
) -> Expression:
    if isinstance(expression, Expression):
        return expression
    if expression is None and not concepts:
        raise InvalidInputError("no concept was given, and no expression")
    any_of_them = " or ".join(check_name(name) for name in concepts)
    return Expression(f"not ({any_of_them})" if expression is None else expression)
