"""Debiasing as an expression: keep the part of vectors that `not (gender or names)` describes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError, Message
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.concepts.expressions import Expression, check_name
from conceptor.concepts.lists import USAGE, learn_concepts
from conceptor.postprocessing import Report, plan_passes, write_last
from conceptor.vectors.conversion import sum_up
from conceptor.vectors.files import open_vectors
from conceptor.vectors.source import VectorSource

if TYPE_CHECKING:
    import os

    from conceptor.algebra.conceptors import Conceptor
    from conceptor.concepts.lists import Apertures
    from conceptor.fitting import FitOptions


@dataclass(frozen=True, eq=False)
class Solved:
    """The value of an expression for given vectors.

    Attributes
    ----------
    conceptor : Conceptor
        The value: the part to keep.
    map : AffineMap
        Scales vectors to length 1 and applies a power of the conceptor.
    remarks : sequence of str
        Notes for users: words without a vector, and the usage weights.
    """

    conceptor: Conceptor
    map: AffineMap
    remarks: Sequence[str]


def solve_expression(
    vectors: object,
    concepts: Mapping[str, object],
    expression: str | Expression | None = None,
    *,
    aperture: Apertures = "auto",
    power: float = 1.0,
    options: FitOptions | None = None,
    progress: Progress = silent,
) -> Solved:
    """Learn concepts from vectors in one pass, and evaluate an expression over them.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    concepts : mapping of names to word lists
        Each a file, `he,him,his`, `he:she,man:woman`, or a collection of words or pairs; for
        pairs, the concept describes their differences.
    expression : str
        Over these names and `usage`; by default not any of them.
    aperture : float, "auto", or mapping of names to these
        For vectors of length 1: one for every concept but `usage`, or one per name; others are
        "auto". See `Concepts.conceptors`.
    power : float
        The power of the conceptor that is applied; `not usage` with ½ is `cn`.
    options : FitOptions, optional
        Usage weights, for `usage`.
    """
    wanted = _as_expression(expression, concepts)
    wanted.check([*concepts, USAGE])
    for name in aperture if isinstance(aperture, Mapping) else ():
        if name not in wanted.names:
            raise InvalidInputError(
                f"an aperture was given for {name}, which is not in the expression {wanted.text!r}"
            )
    found = learn_concepts(vectors, concepts, wanted.names, options, progress=progress)
    with one_blas_thread():
        conceptor = wanted(found.conceptors(aperture))
        if not conceptor.quota > 0:
            raise InvalidInputError(f"the expression {wanted.text!r} leaves nothing of the vectors")
        provenance = {
            "method": "debias",
            "expression": wanted.text,
            "concepts": {name: each.count for name, each in found.moments.items()},
            "aperture": dict(aperture) if isinstance(aperture, Mapping) else aperture,
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
    aperture: Apertures = "auto",
    power: float = 1.0,
    options: FitOptions | None = None,
    memory: int | None = None,
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
    opened = source if isinstance(source, VectorSource) else open_vectors(source)
    wanted = _as_expression(expression, concepts)
    goal, kept = plan_passes(
        opened, target, memory, save_map, format=format, dtype=dtype, force=force
    )
    solved = solve_expression(
        kept,
        concepts,
        wanted,
        aperture=aperture,
        power=power,
        options=options,
        progress=progress,
    )
    words = write_last(kept, goal, lambda _, rows: solved.map(rows), solved.map, save_map, progress)
    report = Report.of(sum_up(opened, started, words, goal), name=wanted.text)
    report.quota = 1 - solved.conceptor.quota
    report.aperture = float(aperture) if isinstance(aperture, int | float) else None
    report.remarks += [Message(opened.name, ": ", remark) for remark in solved.remarks]
    return solved, report


def _as_expression(
    expression: str | Expression | None, concepts: Mapping[str, object]
) -> Expression:
    if isinstance(expression, Expression):
        return expression
    if expression is None and not concepts:
        raise InvalidInputError("no concept and no expression was given")
    any_of_them = " or ".join(check_name(name) for name in concepts)
    return Expression(f"not ({any_of_them})" if expression is None else expression)
