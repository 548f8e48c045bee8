"""`counterfit`: adjust vectors to the synonyms and antonyms of a lexicon."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from conceptor.base.errors import InvalidInputError
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import open_source
from conceptor.cli.output import check_json_output, check_outputs, warn


@app.command()
def counterfit(
    source: opt.In,
    target: opt.Out,
    synonyms: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="File with one pair of synonyms per line; repeatable."),
    ] = None,
    antonyms: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="File with one pair of antonyms per line; repeatable."),
    ] = None,
    retrofit: Annotated[
        bool, typer.Option("--retrofit", help="Use retrofitting instead, with synonyms only.")
    ] = False,
    epochs: Annotated[
        int | None,
        typer.Option(min=0, help="Number of steps.  \\[default: 20, or 10 for retrofitting]"),
    ] = None,
    radius: Annotated[
        float,
        typer.Option(min=0.0, max=2.0, help="Keep neighbours within this cosine distance near."),
    ] = 0.2,
    format: opt.Format = None,
    dtype: opt.Dtype = opt.DtypeChoice.float32,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    as_json: opt.SummaryJson = False,
) -> None:
    """Pull synonyms together and push antonyms apart; other words keep their vectors.

    [bold]Example[/bold]

      conceptor counterfit glove.txt better.txt --synonyms ppdb_synonyms.txt
      --antonyms ppdb_antonyms.txt --antonyms wordnet_antonyms.txt
    """
    from conceptor.base.progress import on_terminal
    from conceptor.lexicon import CounterFitting, Retrofitting
    from conceptor.vectors.chunks import read_chunks
    from conceptor.vectors.target import plan_target
    from conceptor.vectors.writing import write_chunks

    if not synonyms and not antonyms:
        raise InvalidInputError(
            "no lexicon was given; use --synonyms FILE, --antonyms FILE or both"
        )
    if retrofit and antonyms:
        raise InvalidInputError("--antonyms does not apply to --retrofit; remove one of them")
    check_json_output(target, as_json=as_json)
    method: CounterFitting | Retrofitting
    if retrofit:
        method = Retrofitting(synonyms, iterations=10 if epochs is None else epochs)
    else:
        steps = 20 if epochs is None else epochs
        method = CounterFitting(synonyms, antonyms, radius=radius, epochs=steps)
    check_outputs([target], [*(synonyms or ()), *(antonyms or ())])
    started = time.perf_counter()
    opened = open_source(source, on_error)
    goal = plan_target(target, source=opened, format=format, dtype=dtype.value, force=force)
    with on_terminal() as progress:
        method.fit(opened, progress=progress)
        rows = read_chunks(opened, progress, "writing")
        words = write_chunks(rows, goal, opened.count, method.transform)
    warn(opened.findings.lines())
    changed, seconds = len(method.words_), time.perf_counter() - started
    pairs = getattr(method, "pairs_", None)
    report = {"words": words, "changed": changed, "pairs": pairs, "seconds": seconds}
    line = f"{words:,} words, {changed:,} of them changed, in {seconds:.1f} s"
    typer.echo(json.dumps(report) if as_json else line, err=not as_json)
