"""`counterfit`: a lexicon's synonyms and antonyms put into a file of vectors."""

from __future__ import annotations

import json
import time
from pathlib import Path  # noqa: TC003 - Typer looks it up
from typing import Annotated

import typer

from conceptor.base.errors import InvalidInputError
from conceptor.cli.app import app
from conceptor.cli.file_options import (
    Dtype,
    DtypeOption,
    Force,
    Format,
    In,
    Json,
    OnError,
    OnErrorOption,
    Out,
)
from conceptor.cli.output import check_outputs, warn


@app.command()
def counterfit(
    source: In,
    target: Out,
    synonyms: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Pairs of synonyms, one a line; may be repeated."),
    ] = None,
    antonyms: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Pairs of antonyms, one a line; may be repeated."),
    ] = None,
    retrofit: Annotated[
        bool, typer.Option("--retrofit", help="Retrofitting instead, to synonyms only.")
    ] = False,
    epochs: Annotated[
        int | None, typer.Option(min=0, help="Steps.  \\[default: 20, of retrofitting 10]")
    ] = None,
    radius: Annotated[
        float,
        typer.Option(
            min=0.0, max=2.0, help="Neighbours within this cosine distance are kept near."
        ),
    ] = 0.2,
    format: Format = None,
    dtype: DtypeOption = Dtype.float32,
    force: Force = False,
    on_error: OnErrorOption = OnError.error,
    as_json: Json = False,
) -> None:
    """Pull synonyms together and push antonyms apart; other words keep their vectors.

    [bold]Example[/bold]

      conceptor counterfit glove.txt better.txt --synonyms ppdb_synonyms.txt
      --antonyms ppdb_antonyms.txt --antonyms wordnet_antonyms.txt
    """
    from conceptor.base.progress import on_terminal
    from conceptor.lexicon import CounterFitting, Retrofitting
    from conceptor.vectors.chunks import read_chunks
    from conceptor.vectors.files import open_vectors
    from conceptor.vectors.target import plan_target
    from conceptor.vectors.writing import write_chunks

    if not synonyms and not antonyms:
        raise InvalidInputError("a lexicon is needed: --synonyms FILE, --antonyms FILE or both")
    if retrofit and antonyms:
        raise InvalidInputError("--antonyms has no meaning for --retrofit")
    if as_json and target == "-":
        raise InvalidInputError("--json and vectors cannot both go to standard output")
    method: CounterFitting | Retrofitting
    if retrofit:
        method = Retrofitting(synonyms, iterations=10 if epochs is None else epochs)
    else:
        steps = 20 if epochs is None else epochs
        method = CounterFitting(synonyms, antonyms, radius=radius, epochs=steps)
    check_outputs([target], [*(synonyms or ()), *(antonyms or ())])
    started = time.perf_counter()
    opened = open_vectors(source, on_error="skip" if on_error is OnError.skip else "raise")
    goal = plan_target(target, source=opened, format=format, dtype=dtype.value, force=force)
    with on_terminal() as progress:
        method.fit(opened, progress=progress)
        rows = read_chunks(opened, progress, "writing")
        words = write_chunks(rows, goal, opened.count, method.transform)
    warn(opened.findings.lines())
    report = {
        "words": words,
        "changed": len(method.words_),
        "pairs": getattr(method, "pairs_", None),
        "seconds": time.perf_counter() - started,
    }
    if as_json:
        typer.echo(json.dumps(report))
    else:
        typer.echo(
            f"{words:,} words, {len(method.words_):,} of them changed, in "
            f"{report['seconds']:.1f} s",
            err=True,
        )
