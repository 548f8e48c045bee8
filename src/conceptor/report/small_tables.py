"""Tables of inspections, neighbours, bias and translations."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from conceptor.base.numbers import format_number, format_signed
from conceptor.report.forms import Cell, Line, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.concepts.found import Neighbour
    from conceptor.evaluation.compare.bias import BiasComparison, Measured
    from conceptor.inspection import Inspection, Side


def inspection_table(found: Inspection) -> Table:
    """Return norms, spectrum and isotropy, before and after."""
    of_texts = found.rows == "texts"
    before, after = (
        _describe_side(side, of_texts=of_texts) for side in (found.before, found.after)
    )
    lines = [Line(label, [Cell(text), Cell(after[label])]) for label, text in before.items()]
    return Table("", ["before", "after"], lines)


def prediction_tables(found: Inspection) -> list[Table]:
    """Return the prediction for each family, with its record; no table without predictions."""
    if not found.predictions:
        return []
    lines = [
        Line(family, [Cell(each.said), Cell(each.record)])
        for family, each in found.predictions.items()
    ]
    return [Table("family", ["prediction", "record on held-out sets"], lines)]


def _describe_side(side: Side, *, of_texts: bool) -> dict[str, str]:
    shares = " ".join(f"{100 * value:.1f}" for value in side.eigenvalues)
    frequency = " ".join(format_signed(value) for value in side.frequency) or "unknown"
    by_usage = {} if of_texts else {"their correlation with log frequency": frequency}
    over = "over all texts" if of_texts else "in running text"
    return {
        "length: mean": f"{side.norms[0]:.4g}",
        "length: smallest to largest": f"{side.norms[1]:.4g} – {side.norms[2]:.4g}",
        "leading eigenvalues, % of total": shares,
        **by_usage,
        "partition ratio (Mu & Viswanath)": f"{side.partition_ratio:.3g}",
        "IsoScore": f"{side.isoscore:.3f}",
        f"participation {over}": f"{side.participation:.3f}",
    }


def neighbour_tables(found: Mapping[str, Mapping[str, Sequence[Neighbour]]]) -> list[Table]:
    """Return a table for each word, with the neighbours that each method finds.

    Neighbours that the first method does not find are highlighted.
    """
    tables = []
    for word in next(iter(found.values())):
        columns = [found[method][word] for method in found]
        first = {one.word for one in columns[0]}
        lines = [
            Line(str(place), [cell for one in row for cell in _neighbour_cells(one, first)])
            for place, row in enumerate(zip_longest(*columns), start=1)
        ]
        names = [name for method in found for name in (method, "score", "rank")]
        tables.append(Table(word, names, lines, span=3))
    return tables


def _neighbour_cells(one: Neighbour | None, first: set[str]) -> list[Cell]:
    if one is None:
        return [Cell("")] * 3
    return [
        Cell(one.word, best=one.word not in first),
        Cell(format_number(one.score, 3), faint=True),
        Cell(f"{one.rank:,}", faint=True),
    ]


def bias_table(found: BiasComparison, method: str) -> Table:
    """Return measures of bias and of quality, before and after."""
    lines = []
    for name in found.measures:
        before, after = (found.measured(each, name) for each in ("original", method))
        span = f"{after.low:.2f} to {after.high:.2f}"
        texts = [f"{before.value:.2f}", _p(before), f"{after.value:.2f}", span, _p(after)]
        lines.append(Line(name, [Cell(text) for text in texts]))
    earlier = found.quality_of("original")
    for name, (score, gain) in found.quality_of(method).items():
        span = "" if gain is None else f"gain {gain.low:+.2f} to {gain.high:+.2f}"
        texts = [f"{earlier[name][0]:.2f}", "", f"{score:.2f}", span, ""]
        lines.append(Line(name, [Cell(text) for text in texts]))
    return Table("", ["before", "p", "after", "95% interval", "p"], lines)


def _p(measured: Measured) -> str:
    if measured.p is None:
        return ""
    return f"{measured.p:.3f}" if measured.p >= 0.001 else "<0.001"


def translation_table(found: Mapping[str, Any]) -> Table:
    """Return how many words find their translation."""
    metrics = ("P@1", "P@10", "MRR")
    lines = [
        Line(name, [Cell(f"{found[name][metric]:.1f}") for metric in metrics])
        for name in ("cosine", "csls")
    ]
    return Table("Translations found (× 100)", metrics, lines)
