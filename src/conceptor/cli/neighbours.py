"""`neighbors`: the nearest words, before and after."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import open_or_demo, split_list
from conceptor.cli.output import safe_console, to_json, warn

if TYPE_CHECKING:
    from conceptor.neighbours import Neighbour

# Beyond this rank few people know a word.
_FAR = 100_000


@app.command()
def neighbors(
    vectors: Annotated[
        str, typer.Argument(metavar="VECTORS", help="A vectors file, or demo for GloVe 6B 50d.")
    ],
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to look up.")],
    methods: Annotated[
        str,
        typer.Option(help="As in [b]compare[/b], comma-separated; a column for each."),
    ] = "original,cn",
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="How many neighbours of each word.")
    ] = 10,
    among: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only among the first N words.  \\[default: all]"),
    ] = None,
    prior: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="BETA",
            help="Prefer common words of a file sorted by frequency: cosine − BETA · "
            "log(1 + rank/1000). 0.02 to 0.04 are mild.",
        ),
    ] = 0.0,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    as_json: opt.Json = False,
) -> None:
    """Show the nearest words among all words, with cosine and rank, for several methods.

    [bold]Examples[/bold]

      conceptor neighbors glove.840B.300d.txt bank river

      conceptor neighbors demo doctor --methods original,abtt,cn --among 50000
    """
    from conceptor.base.progress import on_terminal
    from conceptor.fitting import FitOptions
    from conceptor.neighbours import most_similar

    source = open_or_demo(
        None if vectors == "demo" and not Path(vectors).exists() else Path(vectors)
    )
    options = FitOptions(weights, vocabulary, function_words=function_words)
    with on_terminal() as progress:
        found = most_similar(
            source,
            words,
            split_list(methods),
            options,
            n=number,
            among=among,
            prior=prior,
            progress=progress,
        )
    if as_json:
        plain = {
            method: {word: [asdict(each) for each in near] for word, near in by_word.items()}
            for method, by_word in found.items()
        }
        typer.echo(to_json(plain), nl=False)
        return
    _show(found)
    warn(_remarks(found))


def _show(found: dict[str, dict[str, list[Neighbour]]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = safe_console()
    for word in next(iter(found.values())):
        table = Table(title=Text(word), title_justify="left", title_style="bold", box=box.SIMPLE)
        for method in found:
            table.add_column(Text(method))
            table.add_column("cosine", justify="right", style="dim")
            table.add_column("rank", justify="right", style="dim")
        columns = [found[method][word] for method in found]
        first = {neighbour.word for neighbour in columns[0]}
        for row in range(max(map(len, columns), default=0)):
            cells: list[Text] = []
            for near in columns:
                if row >= len(near):
                    cells += [Text(""), Text(""), Text("")]
                    continue
                one = near[row]
                # What the first method does not have stands out.
                style = "" if one.word in first else "bold"
                cells += [Text(one.word, style=style), Text(f"{one.score:.3f}")]
                cells.append(Text(f"{one.rank + 1:,}"))
            table.add_row(*cells)
        console.print(table)


def _remarks(found: dict[str, dict[str, list[Neighbour]]]) -> list[str]:
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
