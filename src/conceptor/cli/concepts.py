"""`neighbors` and `debias`: commands that use the algebra of conceptors."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli import output
from conceptor.cli.app import app
from conceptor.cli.output import check_stream

if TYPE_CHECKING:  # heavy
    from conceptor.concepts.neighbors import Unknown
    from conceptor.evaluation.bias import BiasComparison
    from conceptor.report.tables import Table

_WORDS = Argument(metavar="WORD...", help="Words; for texts, a text or a row number from 1.")
_WITHOUT = Option(metavar="WORD,...", help="Exclude the concept of these words. Repeatable (OR).")
_WITHIN = Option(metavar="WORD,...", help="Keep to the concept of these words. Repeatable (OR).")
_NUMBER = Option("--number", "-n", min=1, metavar="N", help="Number of neighbors of each word.")
_AMONG = Option(min=1, metavar="N", help="Search only the first N words.  [default: all]")
_PRIOR = opt.more(
    min=0.0,
    metavar="BETA",
    help="Prefer common words in a file sorted by frequency: cosine − BETA · log(1 + rank/1000).  "
    "[default: 0.02 if the file is sorted, else 0]",
)
_BACKGROUND = opt.more(
    metavar="MAP",
    help="Random pairs of texts saved with this map, for one method.  [default: of the rows]",
)
_CONCEPT = Option(
    metavar="NAME=LIST",
    help="Words, as in he,him,his; pairs, whose differences count, as in he:she,man:woman; or a "
    "file with one word or pair per line. Repeatable.",
)
_EXPRESSION = Option(
    metavar="TEXT",
    help="The part to keep: not, and, or, brackets over concepts and usage, which running text "
    "shares.  [default: not any of the concepts]",
)
_APERTURE = Option(metavar="NUMBER|auto", help="Aperture α of all concepts, for unit vectors.")
_MEASURE = Option("--measure", help="Measure bias and quality before and after; takes minutes.")


@app.command()
def neighbors(
    vectors: opt.Vectors,
    words: Annotated[list[str], _WORDS],
    without: Annotated[list[str] | None, _WITHOUT] = None,
    within: Annotated[list[str] | None, _WITHIN] = None,
    methods: opt.Methods = None,
    number: Annotated[int, _NUMBER] = 10,
    among: Annotated[int | None, _AMONG] = None,
    texts: opt.Texts = None,
    as_json: opt.Json = False,
    prior: Annotated[float | None, _PRIOR] = None,
    background: Annotated[Path | None, _BACKGROUND] = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
) -> None:
    """Show the nearest words, before and after methods.

    For rows of texts it shows the nearest texts, and how rare each cosine is among random pairs.

    For example:

      conceptor neighbors demo organ --without kidney,liver --among 50000
    """
    from conceptor.algebra.background import BackgroundWarning
    from conceptor.concepts.neighbors import as_data, most_similar
    from conceptor.concepts.query import Query
    from conceptor.fit import FitOptions
    from conceptor.report.scores import neighbor_tables, text_neighbor_tables
    from conceptor.vectors.vectors import RowKind, refuse_settings

    opened = opt.open_source(vectors, on_error=on_error, column=column, rows=rows, texts=texts)
    is_text = opened.kind is RowKind.TEXTS
    if is_text:
        refuse_settings(opened, "words", without=without, within=within)
    else:
        refuse_settings(opened, "texts", background=background)
    unknown: list[Unknown] = []
    chosen = opt.read_methods(methods or f"original,{'gentle' if is_text else 'cn'}")
    options = FitOptions(weights, vocabulary)
    query: Query | list[str] = words
    if without or within:
        query = Query(words, *(map(opt.split_list, each or ()) for each in (without, within)))
    with output.print_warnings(BackgroundWarning), on_terminal() as progress:
        near = most_similar(
            opened,
            query,
            chosen,
            options,
            n=number,
            among=among,
            prior=prior,
            background=background,
            unknown=unknown.append,
            progress=progress,
        )
    output.warn(unknown)
    if as_json:
        output.write_json(as_data(near))
    else:
        output.show_tables(text_neighbor_tables(near) if is_text else neighbor_tables(near))


@app.command()
def debias(
    source: opt.In,
    target: opt.Out,
    concept: Annotated[list[str] | None, _CONCEPT] = None,
    expression: Annotated[str | None, _EXPRESSION] = None,
    aperture: Annotated[str, _APERTURE] = "auto",
    measure: Annotated[bool, _MEASURE] = False,
    save_map: opt.SaveMap = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    as_json: opt.SummaryJson = False,
    weights: opt.Weights = None,
    data: opt.Data = None,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
    replace_spaces: opt.ReplaceSpaces = None,
) -> None:
    """Turn down concepts, such as gender, in vectors.

    An expression over word lists defines what is kept. Vectors are scaled to length 1 first.

    For example:

      conceptor debias demo fair.bin --concept gender=he:she,man:woman
    """
    from conceptor.concepts.debias import debias as run
    from conceptor.fit import FitOptions

    check_stream(target, as_json=as_json)
    concepts = _read_concepts(concept or [])
    opened = opt.open_source(
        source, on_error=on_error, column=column, rows=rows, replace_spaces=replace_spaces
    )
    with on_terminal() as progress:
        solved, report = run(
            opened.require_words(),
            target,
            concepts,
            expression,
            aperture=_read_aperture(aperture),
            options=FitOptions(weights, data=data),
            save_map=save_map,
            format=format,
            dtype=dtype,
            force=force,
            progress=progress,
        )
    output.warn(report.remarks)
    summary, comparison = asdict(report), None
    if measure:
        from conceptor.evaluation.bias import compare_bias

        with on_terminal() as progress:
            maps = {"debiased": lambda _, rows: solved.map(rows)}
            comparison = compare_bias(opened, maps, data, progress=progress)
        summary |= comparison.to_dict()
    if as_json:
        output.write_json(summary)
        return
    output.say(
        f"{target}: {report.words:,} words × {report.dimension} in {report.seconds:.1f} s; kept: "
        f"{report.method}; removed: {report.quota:.1%} of the space"
    )
    if comparison is not None:
        note = "Bias: 0 is no bias; p by permutation, two-sided. Quality: × 100."
        output.show_tables([_bias_table(comparison)], closing=[note])
    output.suggest("evaluate", source, target)


def _read_aperture(text: str) -> float | Literal["auto"]:
    with suppress(ValueError):
        if text == "auto" or float(text) >= 0:
            return "auto" if text == "auto" else float(text)
    raise InvalidInputError(f"--aperture is {text}; it must be auto or a number from 0 to inf")


def _read_concepts(texts: list[str]) -> dict[str, str]:
    """Read NAME=LIST, each name once."""
    concepts: dict[str, str] = {}
    for text in texts:
        name, _, words = (part.strip() for part in text.partition("="))
        if not name or not words or name in concepts:
            raise InvalidInputError(
                f"--concept is {text!r}; it must be NAME=LIST, each name once, as in "
                "gender=he:she,man:woman"
            )
        concepts[name] = words
    return concepts


def _bias_table(comparison: BiasComparison) -> Table:
    """Return measures of bias and of quality, before and after."""
    from conceptor.methods import ORIGINAL
    from conceptor.report.tables import Cell, Line, Table

    def show_p(p: float | None) -> str:
        return "" if p is None else f"{p:.3f}" if p >= 0.001 else "<0.001"

    lines = []
    for name in comparison.scores[ORIGINAL]:
        old, new = (comparison.measured(each, name) for each in (ORIGINAL, "debiased"))
        texts = [f"{old['value']:.2f}", show_p(old["p"]), f"{new['value']:.2f}"]
        texts += [f"{new['low']:.2f} to {new['high']:.2f}", show_p(new["p"])]
        lines.append(Line(name, [Cell(text) for text in texts]))
    earlier = comparison.quality_of(ORIGINAL)
    for name, (score, gain) in comparison.quality_of("debiased").items():
        span = "" if gain is None else f"gain {gain.low:+.2f} to {gain.high:+.2f}"
        texts = [f"{earlier[name][0]:.2f}", "", f"{score:.2f}", span, ""]
        lines.append(Line(name, [Cell(text) for text in texts]))
    return Table("", ["before", "p", "after", "95% interval", "p"], lines)
