"""`attach`: fit a static query encoder to vectors that are already stored."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.errors import printable
from conceptor.base.numbers import format_signed
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.output import print_warnings, write_json
from conceptor.cli.static_models import ModelDtype


@dataclass(frozen=True)
class StartOptions:
    """The starting point of the fit."""

    model: Annotated[
        str | None,
        Option(
            metavar="MODEL",
            help="The transformer that made the vectors: its folder, or its name on the hub. The "
            "loss is measured against it.",
        ),
    ] = None
    base: Annotated[
        str | None,
        Option(
            metavar="FOLDER",
            help="Start from this static model instead.  \\[default: from zero]",
        ),
    ] = None
    sentences: Annotated[
        str,
        Option(
            metavar="FILE|FOLDER|drawn:N|none",
            help="With --model: text for the table that the fit starts from, as for distill.",
        ),
    ] = "drawn:8192"
    vocabulary: Annotated[
        str,
        Option(
            metavar="wordfreq:LANG:N|FILE|tokens",
            help="With --model: words that get rows, besides those of the store.",
        ),
    ] = "wordfreq:en:30000"


@dataclass(frozen=True)
class StoreOptions:
    """The texts, their vectors, and relevance judgements."""

    text_column: Annotated[
        str | None, Option(metavar="NAME", help="Column of a table that holds the texts.")
    ] = None
    column: Annotated[
        str | None, Option(metavar="NAME", help="Column of a table that holds the vectors.")
    ] = None
    table: Annotated[str | None, Option(metavar="NAME", help="Table of a database.")] = None
    text_file: Annotated[
        str | None, Option("--texts", metavar="FILE", help="For .npy: the texts, one per line.")
    ] = None
    queries: Annotated[
        str | None,
        Option(metavar="FILE", help="Measure on these queries too: lines of id, tab, query."),
    ] = None
    relevant: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Their relevant documents: lines of query id, tab, document: its row in the store "
            "(from 1), or its id.",
        ),
    ] = None
    id_column: Annotated[
        str | None,
        Option(
            metavar="NAME|rows",
            help="Column of a table with the ids in --relevant.  \\[default: the one that fits]",
        ),
    ] = None


@command()
def attach(
    store: Annotated[
        str,
        Argument(
            metavar="STORE",
            help="Texts with their vectors: a Parquet, Feather or .npy file, a LanceDB folder, or "
            "postgresql://... with pgvector.",
        ),
    ],
    target: Annotated[Path, Argument(metavar="OUT", help="Folder to write.")],
    *,
    start: StartOptions,
    where: StoreOptions,
    dtype: Annotated[ModelDtype, Option(help="Number type of OUT.")] = ModelDtype.float32,
    force: Annotated[bool, Option("--force", help="Replace an existing folder.")] = False,
    as_json: opt.SummaryJson = False,
) -> None:
    """Make queries searchable without the model: fit an encoder to vectors you already store.

    OUT is a static model, which model2vec and sentence-transformers load. The index does not
    change: search it by inner product. The encoder's loss is measured on held-out documents, and
    with --queries and --relevant on your own judgements.

    [bold]Examples[/bold]

      conceptor attach store.parquet query-model/

      conceptor attach store.parquet judged/ --queries q.tsv --relevant r.tsv
    """
    from time import perf_counter

    from conceptor.base.files import hidden_name
    from conceptor.base.progress import on_terminal_or_log
    from conceptor.evaluation.attached import AttachWarning
    from conceptor.evaluation.attached import attach as run
    from conceptor.vectors.target import check_new_folder

    started = perf_counter()
    named = (store, start.model, start.base, where.text_file, where.queries, where.relevant)
    inputs = [each for each in named if each and "://" not in each]
    check_new_folder(target, force=force, inputs=inputs)
    whole = target.resolve()
    keep = whole.with_name(f"{hidden_name(whole.name)}attaching")
    how: dict[str, Any] = {**vars(start), **vars(where)}
    how["sentences"] = None if start.sentences == "none" else start.sentences
    how["vocabulary"] = None if start.vocabulary == "tokens" else start.vocabulary
    with print_warnings(AttachWarning), on_terminal_or_log() as progress:
        made = run(store, **how, keep=keep, progress=progress)
    made.save(target, dtype=dtype.value, force=force)
    shutil.rmtree(keep, ignore_errors=True)
    found = {"tokens": len(made.vectors), "seconds": perf_counter() - started} | made.provenance
    if as_json:
        write_json(found)
        return
    for line in _lines(target, found):
        typer.echo(printable(line), err=True)


def _lines(target: Path, found: dict[str, Any]) -> list[str]:
    """Return the summary: the model, the measurements, and a recommendation."""
    lines = [
        f"{target}: {found['tokens']:,} tokens × {found['dimensions']}, fitted to "
        f"{found['documents']:,} documents in {found['seconds']:.0f} s"
    ]
    if "verdict" in found:
        lines += [f"measured: {found['measured']}", f"verdict: {found['verdict']}"]
    if found.get("documents_named_by", "rows") != "rows":
        lines.append(f"judged documents: by the column {found['documents_named_by']}")
    for row in found.get("judged", ()):
        line = f"{row['name']}: nDCG@10 {row['nDCG@10']:.1f}, recall@10 {row['recall@10']:.1f}"
        if row is not found["judged"][0]:
            gain, low, high = (format_signed(row[k], 1) for k in ("difference", "low", "high"))
            line += f" ({gain} [{low}, {high}] over {found['judged'][0]['name']})"
        lines.append(line)
    return lines
