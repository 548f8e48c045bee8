"""`reproduce`: the paper's tables beside what is measured."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer looks it up
from typing import Annotated

import typer

from conceptor.base.errors import InvalidInputError
from conceptor.cli.app import app
from conceptor.cli.evaluation_options import (
    DataOption,
    JsonOption,
    MarkdownOption,
    OfflineOption,
    OutputOption,
    chosen_battery,
    opened,
)
from conceptor.cli.output import as_json_text, check_outputs, one_format, saying, show, write
from conceptor.cli.progress import training_progress


@app.command()
def reproduce(
    word2vec: Annotated[
        Path | None, typer.Option(help="Google News vectors, GoogleNews-vectors-negative300.bin.")
    ] = None,
    glove: Annotated[
        Path | None, typer.Option(help="Common Crawl GloVe, glove.840B.300d.txt.")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Also draw the gating figure there: svg, pdf or png (plots extra)."),
    ] = None,
    dialogue: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="RUNS",
            help="How often dialogue state trackers are trained for each method: minutes each at "
            "50 dimensions, much longer at 300; 0 leaves them out (dialogue extra).",
        ),
    ] = 1,
    data: DataOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    output: OutputOption = None,
) -> None:
    """Run the paper's protocol and print paper, measured and difference for every cell.

    Example: [b]conceptor reproduce --word2vec GoogleNews-vectors-negative300.bin --glove
    glove.840B.300d.txt[/b]
    """
    one_format(as_json, as_markdown)
    check_outputs([output], [word2vec, glove], figure)
    given = {"word2vec": word2vec, "glove": glove}
    sources = {name: opened(path) for name, path in given.items() if path is not None}
    if not sources:
        raise InvalidInputError("name at least one file: --word2vec FILE or --glove FILE")
    from conceptor.base.progress import on_terminal
    from conceptor.comparing import paper as reproduction
    from conceptor.comparing.dialogue import FewWordsWarning
    from conceptor.dialogue import TrackerOptions
    from conceptor.report.paper import draw_gates, gates_text, reproduction_tables

    battery = chosen_battery(None, data, offline=offline, kmeans="categories", extras=False)
    epochs = TrackerOptions().epochs
    with (
        saying(FewWordsWarning),
        on_terminal() as progress,
        training_progress(epochs) as watch,
    ):
        found = reproduction.reproduce(
            sources,
            battery,
            dialogue=dialogue,
            data=data,
            offline=offline,
            progress=progress,
            watch=watch,
        )
    if figure is not None:
        draw_gates(found, figure)
    if as_json:
        write(as_json_text(found.to_dict()), output)
    else:
        tables = reproduction_tables(found)
        show(tables, found.notes, as_markdown, output, after=gates_text(found))
