"""Details of a method: its leading directions, and concepts of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.conceptors import Conceptor
from conceptor.base.arrays import Float64, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.found import split_known
from conceptor.explore import answers
from conceptor.weights import rank_weights

if TYPE_CHECKING:
    from conceptor.algebra.recipes import Solution
    from conceptor.explore.table import PageTable
    from conceptor.explore.views import View

# The number of first words searched for the ends of directions and the words of concepts.
_ENDS_AMONG = 20_000
_EVIDENCE_AMONG = 50_000
_LEADING = 10
_END_WORDS = 8
_EVIDENCE_WORDS = 40
# The aperture of conceptors of a few words at length 1.
CONCEPT_APERTURE = 3.0


def find_directions(table: PageTable, solution: Solution, *, by_rank: bool) -> answers.Directions:
    """Return the words at both ends of the leading directions, by the method's own moment.

    `by_rank` means that ranks show how common words are.
    """
    among = min(_ENDS_AMONG, len(table))
    rows = np.asarray(table.rows[:among], dtype=np.float64)
    if solution.map.unit:
        rows = rows / table.lengths[:among, np.newaxis]
    count = min(_LEADING, table.dimension)
    coordinates = (rows - solution.map.offset) @ solution.spectrum.vectors[:, :count]
    logs = np.log(rank_weights(0, among))
    values = solution.spectrum.values
    total = float(values.sum()) or 1.0
    found = []
    for k in range(count):
        order = np.argsort(coordinates[:, k], kind="stable").tolist()
        found.append(
            answers.Direction(
                number=k + 1,
                share=float(values[k]) / total,
                frequency=_correlation(coordinates[:, k], logs) if by_rank else None,
                kept=float(solution.gate[k]),
                low=[table.words[i] for i in order[:_END_WORDS]],
                high=[table.words[i] for i in order[: -_END_WORDS - 1 : -1]],
            )
        )
    return answers.Directions(found, among)


def combine_concepts(
    view: View, lists: dict[str, list[str]], expression: str, aperture: float
) -> answers.CombinedConcepts:
    """Return the relations between concepts, and the words with most evidence for an expression.

    The concepts are conceptors of the words' directions after the method.
    """
    from conceptor.concepts.expressions import Expression, check_name

    words, vectors = view.table.words, view.table.vectors
    conceptors, missing = {}, []
    given: set[str] = set()
    for name, examples in lists.items():
        known, unknown = split_known(examples, vectors)
        if not known:
            raise InvalidInputError(f"none of the words of the concept {name} has a vector")
        missing += unknown
        given.update(known)
        rows = unit_rows(view.rows(vectors.rows(known)))
        conceptors[check_name(name)] = Conceptor.from_vectors(rows, aperture)
    wanted = Expression(expression or next(iter(lists)))
    evidence = wanted(conceptors).evidence(view.rows(slice(0, min(_EVIDENCE_AMONG, len(words)))))
    order = np.argsort(-evidence, kind="stable")[:_EVIDENCE_WORDS].tolist()
    names = list(conceptors)
    return answers.CombinedConcepts(
        names=names,
        quotas=[conceptors[name].quota for name in names],
        similarity=[[conceptors[a].similarity(conceptors[b]) for b in names] for a in names],
        order=[[a, b] for a in names for b in names if a != b and conceptors[a] <= conceptors[b]],
        expression=wanted.text,
        words=[
            answers.Evidence(words[row], float(evidence[row]), row + 1, words[row] in given)
            for row in order
        ],
        missing=missing,
    )


def _correlation(a: Float64, b: Float64) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / spread if spread > 0 else None
