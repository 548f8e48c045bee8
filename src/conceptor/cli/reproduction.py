"""`reproduce`: the paper's tables next to measured scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conceptor.base.errors import InvalidInputError
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import load_benchmarks, open_source
from conceptor.cli.output import (
    check_one_format,
    check_outputs,
    print_warnings,
    show_tables,
    write_json,
)
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
        typer.Option(
            help="Also draw the gating figure to this svg, pdf or png file (plots extra)."
        ),
    ] = None,
    dialogue: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="RUNS",
            help="Dialogue state trackers to train for each method: minutes per run at 50 "
            "dimensions, much longer at 300; 0 for none (dialogue extra).",
        ),
    ] = 1,
    data: opt.Data = None,
    offline: opt.Offline = False,
    as_json: opt.Json = False,
    as_markdown: opt.Markdown = False,
    output: opt.Output = None,
) -> None:
    """Run the paper's protocol and compare its published scores with the measured ones.

    Example: [b]conceptor reproduce --word2vec GoogleNews-vectors-negative300.bin --glove
    glove.840B.300d.txt[/b]
    """
    check_one_format(as_json, as_markdown)
    check_outputs([output], [word2vec, glove], figure)
    given = {"word2vec": word2vec, "glove": glove}
    sources = {name: open_source(path) for name, path in given.items() if path is not None}
    if not sources:
        raise InvalidInputError("no vectors were given; use --word2vec FILE or --glove FILE")
    from conceptor.base.progress import on_terminal
    from conceptor.comparing.dialogue import FewWordsWarning
    from conceptor.comparing.paper import reproduce as run
    from conceptor.dialogue import TrackerOptions
    from conceptor.report.paper import draw_gates, gates_text, reproduction_tables

    battery = load_benchmarks(None, data, offline=offline, kmeans="categories", extras=False)
    with (
        print_warnings(FewWordsWarning),
        on_terminal() as progress,
        training_progress(TrackerOptions().epochs) as watch,
    ):
        found = run(
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
        write_json(found.to_dict(), output)
    else:
        tables = reproduction_tables(found)
        show_tables(tables, found.notes, as_markdown, output, after=gates_text(found))
