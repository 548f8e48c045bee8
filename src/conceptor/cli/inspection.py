"""`inspect`, `neighbors` and `methods`: look at vectors, before and after."""

from __future__ import annotations

from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.numbers import format_number, format_signed
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import DEMO, open_or_demo, split_list
from conceptor.cli.output import check_outputs, safe_console, warn, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from conceptor.concepts.neighbours import Neighbour
    from conceptor.concepts.spelling import Unknown
    from conceptor.inspection import Inspection

# Beyond this rank few people know a word.
_FAR = 100_000


@app.command()
def inspect(
    vectors: opt.Vectors = None,
    weights: Annotated[
        str | None,
        Option(
            metavar="uniform|zipf|wordfreq:LANG|FILE",
            help="Word frequencies; values and default as in postprocess.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also draw spectrum and gate to this svg, pdf or png file."),
    ] = None,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    as_json: opt.Json = False,
) -> None:
    """Show norms, spectrum and isotropy before and after, and whether post-processing helps.

    Example: [b]conceptor inspect glove.840B.300d.txt --plot spectrum.svg[/b]
    """
    from conceptor.base.progress import on_terminal
    from conceptor.inspection import inspect as run
    from conceptor.vectors import VectorSource

    check_outputs([], [vectors, weights], plot)
    source = open_or_demo(vectors, on_error, wordless=True)
    with on_terminal() as progress:
        found = run(source, weights, name=str(vectors or DEMO), progress=progress)
    warn(source.findings.lines() if isinstance(source, VectorSource) else ())
    if plot is not None:
        found.draw(plot)
    if as_json:
        write_json(found.to_dict())
    else:
        _show_inspection(found)


def _show_inspection(found: Inspection) -> None:
    from rich import box
    from rich.table import Table

    console = safe_console()
    console.print(
        f"{found.vectors}: {found.count:,} vectors, dimension {found.dimension}; {found.fitted_on}",
        markup=False,
    )
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("", "before", "after"):
        table.add_column(title, justify="left" if not title else "right")
    before, after = (
        {
            "length: mean": f"{side.norms[0]:.4g}",
            "length: smallest to largest": f"{side.norms[1]:.4g} – {side.norms[2]:.4g}",
            "leading eigenvalues, % of total": " ".join(
                f"{100 * value:.1f}" for value in side.eigenvalues
            ),
            "their correlation with log frequency": " ".join(
                format_signed(value) for value in side.frequency
            )
            or "unknown",
            "partition ratio (Mu & Viswanath)": f"{side.partition_ratio:.3g}",
            "IsoScore": f"{side.isoscore:.3f}",
            "participation in running text": f"{side.participation:.3f}",
        }
        for side in (found.before, found.after)
    )
    for label, cell in before.items():
        table.add_row(label, cell, after[label])
    console.print(table)
    suggested = f"suggested aperture {found.aperture:.4g}, " if found.aperture else ""
    console.print(f"{suggested}quota {found.quota:.3f}")
    console.print(found.advice, markup=False)
    if found.predictions:
        predicted = Table("family", "prediction", "on sets it was made without", box=box.SIMPLE)
        for family, each in found.predictions.items():
            predicted.add_row(family, each.said, each.record)
        console.print(predicted)


@app.command()
def neighbors(
    vectors: Annotated[
        str, Argument(metavar="VECTORS", help="A vectors file, or demo for GloVe 6B 50d.")
    ],
    words: Annotated[list[str], Argument(metavar="WORD...", help="Words to look up.")],
    without: Annotated[
        list[str] | None,
        Option(
            metavar="WORD,...",
            help="Exclude what is like these words; the words to look up are then one query. "
            "Repeat it for another list, joined by OR.",
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        Option(
            metavar="WORD,...", help="Keep to what is like these words; otherwise as --without."
        ),
    ] = None,
    together: Annotated[
        bool, Option("--together", help="One query of all words, without --without or --within.")
    ] = False,
    methods: Annotated[
        str,
        Option(
            autocompletion=opt.complete_method,
            help="As in [b]compare[/b], comma-separated; a column for each.",
        ),
    ] = "original,cn",
    number: Annotated[
        int, Option("--number", "-n", min=1, help="How many neighbours of each word.")
    ] = 10,
    among: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Only among the first N words.  \\[default: all]"),
    ] = None,
    prior: Annotated[
        float | None,
        Option(
            min=0.0,
            metavar="BETA",
            help="Prefer common words of a file sorted by frequency: cosine − BETA · "
            "log(1 + rank/1000).  \\[default: 0.02 if it is sorted, else 0]",
        ),
    ] = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    as_json: opt.Json = False,
) -> None:
    """Show the nearest words among all words, with score and rank, for several methods.

    [bold]Examples[/bold]

      conceptor neighbors glove.840B.300d.txt bank river

      conceptor neighbors demo doctor --methods original,abtt,cn --among 50000

      conceptor neighbors demo bank finance --without river,shore,water
    """
    from conceptor.base.progress import on_terminal
    from conceptor.fitting import FitOptions

    source = open_or_demo(
        None if vectors == "demo" and not Path(vectors).exists() else Path(vectors)
    )
    options = FitOptions(weights, vocabulary, function_words=function_words)
    unknown: list[Unknown] = []
    search = _search(words, without or [], within or [], together, unknown)
    with on_terminal() as progress:
        found = search(
            source,
            split_list(methods),
            options,
            n=number,
            among=among,
            prior=prior,
            progress=progress,
        )
    warn(map(str, unknown))
    if as_json:
        write_json(
            {
                method: {word: [asdict(each) for each in near] for word, near in by_word.items()}
                for method, by_word in found.items()
            }
        )
        return
    _show_neighbours(found)
    warn(_far_away(found))


def _search(
    words: list[str],
    without: list[str],
    within: list[str],
    together: bool,
    unknown: list[Unknown],
) -> Callable[..., dict[str, dict[str, list[Neighbour]]]]:
    """Return a search for each of the words, or for all of them as one query.

    The first kind adds to `unknown` the words that have no vector.
    """
    if not (without or within or together):
        from conceptor.concepts.neighbours import most_similar

        return lambda vectors, *given, **named: most_similar(
            vectors, words, *given, unknown=unknown.append, **named
        )
    from conceptor.concepts.query import Query, rank_words

    query = Query(words, *([split_list(each) for each in lists] for lists in (without, within)))
    title = " ".join(
        [*query.like]
        + [f"without {', '.join(each)}" for each in query.without]
        + [f"within {', '.join(each)}" for each in query.within]
    )

    def search(vectors: object, *given: Any, **named: Any) -> dict[str, Any]:  # noqa: ANN401
        found = rank_words(vectors, query, *given, **named)
        return {method: {title: near} for method, near in found.items()}

    return search


def _show_neighbours(found: dict[str, dict[str, list[Neighbour]]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = safe_console()
    for word in next(iter(found.values())):
        table = Table(title=Text(word), title_justify="left", title_style="bold", box=box.SIMPLE)
        for method in found:
            table.add_column(Text(method))
            table.add_column("score", justify="right", style="dim")
            table.add_column("rank", justify="right", style="dim")
        columns = [found[method][word] for method in found]
        first = {neighbour.word for neighbour in columns[0]}
        for row in zip_longest(*columns):
            cells: list[Text | str] = []
            for one in row:
                if one is None:
                    cells += ["", "", ""]
                    continue
                # What the first method does not have stands out.
                name = Text(one.word, style="" if one.word in first else "bold")
                cells += [name, format_number(one.score, 3), f"{one.rank + 1:,}"]
            table.add_row(*cells)
        console.print(table)


def _far_away(found: dict[str, dict[str, list[Neighbour]]]) -> list[str]:
    """Say which methods lead far from common words."""
    shares = {}
    for method, by_word in found.items():
        ranks = [one.rank for near in by_word.values() for one in near]
        shares[method] = sum(rank > _FAR for rank in ranks) / max(len(ranks), 1)
    first = next(iter(shares.values()))
    return [
        f"{method}: {share:.0%} of the neighbours lie beyond rank {_FAR:,} ({first:.0%} for "
        f"{next(iter(shares))}); --among or --prior keep to common words"
        for method, share in shares.items()
        if share > first + 0.1
    ]


@app.command()
def methods() -> None:
    """List all methods with their descriptions and parameters.

    Example: [b]conceptor methods[/b]
    """
    from conceptor.algebra.recipes import METHODS, Recipe

    indent = max(map(len, METHODS)) + 2
    wrap = TextWrapper(get_terminal_size().columns, subsequent_indent=" " * indent)
    for name, recipe in METHODS.items():
        typer.echo(wrap.fill(f"{name:<{indent}}{recipe.description}"))
        if isinstance(recipe, Recipe) and recipe.parameters:
            given = ", ".join(f"{key}={value}" for key, value in recipe.parameters.items())
            fitted = f"fitted on {recipe.words}; {given.replace('=None', '')}"
            typer.echo(wrap.fill(" " * indent + fitted))
