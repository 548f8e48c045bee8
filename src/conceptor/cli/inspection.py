"""`inspect`, `neighbors` and `methods`: look at vectors, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.groups import RowOptions, TextOptions, WeightOptions
from conceptor.cli.options import option, read_methods, split_list
from conceptor.cli.output import (
    check_outputs,
    print_warnings,
    show_tables,
    warn,
    with_flags,
    write_json,
)
from conceptor.vectors.rows import refuse_settings
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from conceptor.concepts.found import Neighbour, Unknown
    from conceptor.inspection import Inspection
    from conceptor.vectors.vectors import Vectors

# Few people know words beyond this rank.
_FAR = 100_000


@command()
def inspect(
    vectors: opt.Vectors = None,
    weights: opt.Weights = None,
    plot: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also draw spectrum and gate to this svg, pdf or png file."),
    ] = None,
    *,
    reading: RowOptions,
    as_json: opt.Json = False,
) -> None:
    """Show norms, spectrum and isotropy before and after, and whether post-processing helps.

    [bold]Example[/bold]

      conceptor inspect demo
    """
    from conceptor.inspection import inspect as run
    from conceptor.vectors import VectorSource

    check_outputs([], [vectors, weights], plot)
    source, name = reading.open_or_demo(vectors)
    with on_terminal() as progress:
        found = run(source, weights, name=name, progress=progress)
    warn(source.findings.lines() if isinstance(source, VectorSource) else ())
    if plot is not None:
        found.draw(plot)
    if as_json:
        write_json(found.to_dict())
    else:
        _show_inspection(found)


def _show_inspection(found: Inspection) -> None:
    from conceptor.report.small_tables import inspection_table, prediction_tables

    title = (
        f"{found.vectors}: {found.count:,} {found.rows}, dimension {found.dimension}; "
        f"{found.fitted_on}"
    )
    suggested = f"suggested aperture {found.aperture:.4g}, " if found.aperture else ""
    closing = [f"{suggested}quota {found.quota:.3f}", with_flags(found.advice)]
    tables = [inspection_table(found), *prediction_tables(found)]
    show_tables(tables, [title], closing)


@dataclass(frozen=True)
class QueryOptions:
    """Conditions of the query besides its words."""

    without: list[str] | None = option(
        None,
        "Exclude the concept of these words; the words to look up become one query. "
        "Repeatable; several lists are joined by OR.",
        metavar="WORD,...",
    )
    within: list[str] | None = option(
        None, "Keep to the concept of these words; else like --without.", metavar="WORD,..."
    )
    together: bool = option(
        False, "One query of all words; --without and --within imply it.", "--together"
    )


@dataclass(frozen=True)
class SearchOptions:
    """How neighbours are searched."""

    number: int = option(10, "Number of neighbours for each word.", "--number", "-n", min=1)
    among: int | None = option(
        None, "Search only the first N words.  \\[default: all]", min=1, metavar="N"
    )
    prior: float | None = option(
        None,
        "Prefer common words in a file sorted by frequency: cosine − BETA · "
        "log(1 + rank/1000).  \\[default: 0.02 if the file is sorted, else 0]",
        min=0.0,
        metavar="BETA",
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a search."""
        return {"n": self.number, "among": self.among, "prior": self.prior}


@command()
def neighbors(
    vectors: Annotated[
        str, Argument(metavar="VECTORS", help="A vectors file; demo for GloVe 6B 50d.")
    ],
    words: Annotated[
        list[str],
        Argument(
            metavar="WORD...", help="Words to look up; for texts, a text or a row number from 1."
        ),
    ],
    *,
    query: QueryOptions,
    methods: opt.Methods = None,
    how: SearchOptions,
    weights: WeightOptions,
    reading: TextOptions,
    background: opt.Background = None,
    as_json: opt.Json = False,
) -> None:
    """Show the nearest words, with score and rank, for several methods.

    For rows of texts it shows the nearest texts, and how rare each cosine is among random pairs.

    [bold]Examples[/bold]

      conceptor neighbors demo bank river

      conceptor neighbors demo doctor --methods original,abtt,cn --among 50000

      conceptor neighbors demo bank finance --without river,shore,water
    """
    from conceptor.algebra.background import BackgroundWarning
    from conceptor.concepts.found import as_data
    from conceptor.report.small_tables import neighbour_tables
    from conceptor.report.texts import text_neighbour_tables

    source, _ = reading.open_or_demo(vectors)
    of_texts = source.kind is RowKind.TEXTS
    if of_texts:
        refuse_settings(source, "words", **vars(query))
    else:
        refuse_settings(source, "texts", background=background)
    unknown: list[Unknown] = []
    chosen = read_methods(methods or f"original,{'gentle' if of_texts else 'cn'}")
    given = how.arguments | {"methods": chosen, "options": weights.fit_options()}
    given |= {"background": background} if background else {}
    with print_warnings(BackgroundWarning), on_terminal() as given["progress"]:
        found = _search(source, words, query, given, unknown)
    warn(map(str, unknown))
    if as_json:
        write_json(as_data(found))
        return
    show_tables(text_neighbour_tables(found) if of_texts else neighbour_tables(found))
    warn(() if of_texts else _far_away(found))


def _search(
    vectors: Vectors,
    words: list[str],
    asked: QueryOptions,
    given: dict[str, Any],
    unknown: list[Unknown],
) -> dict[str, dict[str, list[Neighbour]]]:
    """Search once per word, or once for all words as one query.

    Searches per word add words without a vector to `unknown`.
    """
    if not (asked.without or asked.within or asked.together):
        from conceptor.concepts.neighbours import most_similar

        return most_similar(vectors, words, **given, unknown=unknown.append)
    from conceptor.concepts.query import Query, rank_words

    lists = (asked.without or (), asked.within or ())
    query = Query(words, *([split_list(each) for each in texts] for texts in lists))
    title = " ".join(
        [*query.like]
        + [f"without {', '.join(each)}" for each in query.without]
        + [f"within {', '.join(each)}" for each in query.within]
    )
    found = rank_words(vectors, query, **given)
    return {method: {title: near} for method, near in found.items()}


def _far_away(found: dict[str, dict[str, list[Neighbour]]]) -> list[str]:
    """Warn about methods whose neighbours are mostly rare words."""
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


@command()
def methods() -> None:
    """List all methods with their descriptions and parameters.

    [bold]Example[/bold]

      conceptor methods
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
