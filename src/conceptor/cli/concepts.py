"""`neighbors` and `debias`: commands that use the algebra of conceptors."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli import output
from conceptor.cli.app import app

if TYPE_CHECKING:  # heavy
    from conceptor.concepts.lookup import Unknown
    from conceptor.evaluation.bias import BiasComparison
    from conceptor.report.tables import Table

_WORDS = Argument(metavar="WORD...", help="Words; for texts, a text or a row number from 1.")
_WITHOUT = Option(
    metavar="WORD,...", help="Exclude the concept of these words, from one query. Repeatable (OR)."
)
_WITHIN = Option(metavar="WORD,...", help="Keep to the concept of these words; see --without.")
_TOGETHER = Option("--together", help="One query of all words, as with --without and --within.")
_NUMBER = Option("--number", "-n", min=1, help="Number of neighbors for each word.")
_AMONG = Option(min=1, metavar="N", help="Search only the first N words.  \\[default: all]")
_PRIOR = Option(
    min=0.0,
    metavar="BETA",
    help="Prefer common words in a file sorted by frequency: cosine − BETA · log(1 + rank/1000).  "
    "\\[default: 0.02 if the file is sorted, else 0]",
)
_CONCEPT = Option(
    metavar="NAME=LIST",
    help="Words, as in he,him,his; pairs, whose differences are used, as in he:she,man:woman; or a "
    "file with one word or pair per line. Repeatable.",
)
_EXPRESSION = Option(
    metavar="TEXT",
    help="The part to keep: not, and, or, brackets over concepts and [b]usage[/b], which running "
    "text shares.  \\[default: not any of the concepts]",
)
_APERTURE = Option(
    metavar="NUMBER|auto|NAME=NUMBER,...",
    help="Aperture α for unit vectors, for all concepts or per name; auto derives it from spectra.",
)
_POWER = Option(min=0.0, help="Power of the conceptor that is applied to the vectors.")
_MEASURE = Option("--measure", help="Measure bias and quality before and after; takes minutes.")


@app.command()
def neighbors(
    vectors: opt.Vectors,
    words: Annotated[list[str], _WORDS],
    without: Annotated[list[str] | None, _WITHOUT] = None,
    within: Annotated[list[str] | None, _WITHIN] = None,
    together: Annotated[bool, _TOGETHER] = False,
    methods: opt.Methods = None,
    number: Annotated[int, _NUMBER] = 10,
    among: Annotated[int | None, _AMONG] = None,
    prior: Annotated[float | None, _PRIOR] = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    texts: opt.Texts = None,
    background: opt.Background = None,
    as_json: opt.Json = False,
) -> None:
    """Show the nearest words, with score and rank, for several methods.

    For rows of texts it shows the nearest texts, and how rare each cosine is among random pairs.

    [bold]Examples[/bold]

      conceptor neighbors demo doctor --methods original,abtt,cn --among 50000

      conceptor neighbors demo bank finance --without river,shore,water
    """
    from conceptor.algebra.background import BackgroundWarning
    from conceptor.concepts.neighbors import Neighbors, as_data, most_similar, rank_words
    from conceptor.concepts.query import Query
    from conceptor.report.neighbors import neighbor_tables, text_neighbor_tables
    from conceptor.vectors.vectors import RowKind, refuse_settings

    opened = opt.open_source(vectors, on_error, column, rows, texts=texts, folders=True)
    is_text = opened.kind is RowKind.TEXTS
    if is_text:
        refuse_settings(opened, "words", without=without, within=within, together=together)
    else:
        refuse_settings(opened, "texts", background=background)
    unknown: list[Unknown] = []
    chosen = opt.read_methods(methods or f"original,{'gentle' if is_text else 'cn'}")
    options = opt.fit_options(weights, vocabulary, function_words)
    limits: dict[str, Any] = {"n": number, "among": among, "prior": prior}
    with output.print_warnings(BackgroundWarning), on_terminal() as progress:
        if without or within or together:
            query = Query(words, *(map(opt.split_list, each or ()) for each in (without, within)))
            ranked = rank_words(opened, query, chosen, options, **limits, progress=progress)
            near = Neighbors({name: {str(query): best} for name, best in ranked.items()})
        else:
            limits |= {"background": background, "unknown": unknown.append}
            near = most_similar(opened, words, chosen, options, **limits, progress=progress)
    output.warn(map(str, unknown))
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
    power: Annotated[float, _POWER] = 1.0,
    weights: opt.Weights = None,
    measure: Annotated[bool, _MEASURE] = False,
    data: opt.Data = None,
    save_map: opt.SaveMap = None,
    memory: opt.Memory = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Turn down concepts in vectors; an expression over word lists defines them.

    Vectors are scaled to length 1 first.

    [bold]Example[/bold]

      conceptor debias demo fair.bin --concept gender=he:she,man:woman
    """
    from conceptor.concepts.debias import debias as run

    if as_json and target == "-":
        raise InvalidInputError("--json and the vectors cannot both go to standard output")
    if measure and source == "-":
        raise InvalidInputError("--measure reads the vectors twice; name a file instead of -")
    concepts = _read_pairs("concept", concept or [], "gender=he:she,man:woman")
    pairs = _read_pairs("aperture", opt.split_list(aperture) if "=" in aperture else [], "gender=5")
    apertures = {name: opt.read_aperture(value) for name, value in pairs.items()}
    output.check_outputs([output.file_target(target), save_map], [weights, *concepts.values()])
    opened = opt.open_source(source, on_error, column, rows, replace_spaces=replace_spaces)
    opened.require_words()
    with on_terminal() as progress:
        solved, report = run(
            opened,
            target,
            concepts,
            expression,
            aperture=apertures or opt.read_aperture(aperture),
            power=power,
            options=opt.fit_options(weights, data=data),
            memory=opt.read_size(memory),
            save_map=save_map,
            format=format,
            dtype=dtype and dtype.value,
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
    line = (
        f"{report.words:,} words × {report.dimension} in {report.seconds:.1f} s; kept: "
        f"{report.method}; removed: {report.quota:.1%} of the space"
    )
    output.print_summary(summary, line, as_json=as_json)
    if comparison is not None and not as_json:
        note = "Bias: 0 is no bias; p by permutation, two-sided. Quality: × 100."
        output.show_tables([_bias_table(comparison)], closing=[note])


def _read_pairs(option: str, texts: list[str], example: str) -> dict[str, str]:
    """Read NAME=VALUE, each name once."""
    pairs = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value or name in pairs:
            raise InvalidInputError(
                f"--{option} is {text!r}; it must be NAME=VALUE, each name once, as in {example}"
            )
        pairs[name] = value
    return pairs


def _bias_table(comparison: BiasComparison) -> Table:
    """Return measures of bias and of quality, before and after."""
    from conceptor.methods import ORIGINAL
    from conceptor.report.tables import Cell, Line, Table

    def show_p(p: float | None) -> str:
        return "" if p is None else f"{p:.3f}" if p >= 0.001 else "<0.001"

    rows = {}
    for name in comparison.scores[ORIGINAL]:
        old, new = (comparison.measured(each, name) for each in (ORIGINAL, "debiased"))
        span = f"{new['low']:.2f} to {new['high']:.2f}"
        first = f"{old['value']:.2f}", show_p(old["p"])
        rows[name] = *first, f"{new['value']:.2f}", span, show_p(new["p"])
    earlier = comparison.quality_of(ORIGINAL)
    for name, (score, gain) in comparison.quality_of("debiased").items():
        span = "" if gain is None else f"gain {gain.low:+.2f} to {gain.high:+.2f}"
        rows[name] = f"{earlier[name][0]:.2f}", "", f"{score:.2f}", span, ""
    lines = [Line(name, [Cell(text) for text in texts]) for name, texts in rows.items()]
    return Table("", ["before", "p", "after", "95% interval", "p"], lines)
