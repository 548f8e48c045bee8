"""`distill` and `attach`: static models from transformers, and for vectors that are stored."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from conceptor.base.display import format_signed
from conceptor.base.files import check_new_folder, hidden_name
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import print_warnings, say, write_json

if TYPE_CHECKING:  # heavy
    from conceptor.static_models import StaticModel

Name = str | None
Folder = Annotated[Path, Argument(metavar="OUT", help="Folder to write.")]
Dtype = Annotated[Literal["float32", "float16", "int8"], Option(help="Number type of OUT.")]
_MODEL = "its folder, or its name on the hub"
_VOCABULARY = Option(
    metavar="wordfreq:LANG:N|FILE|tokens",
    help="Words on top of the model's tokens: N of a language, of a file, or none.",
)
_SENTENCES = Option(
    metavar="FILE|FOLDER|drawn:N",
    help="Text to fit the table to, best the documents that you search: a line each, or all .txt "
    "files of a folder. Without text, drawn:8192 samples words by frequency.",
)
_DIMENSIONS = Option(min=1, metavar="N", help="Keep this many leading directions.  [default: all]")
_WEIGHTS = opt.more(
    metavar="wordfreq:LANG|FILE|sentences",
    help="Word frequencies.  [default: the language of the vocabulary, else English]",
)
TextColumn = Annotated[str | None, opt.more(metavar="NAME", help="A table's column of texts.")]
Column = Annotated[str | None, opt.more(metavar="NAME", help="A table's column of vectors.")]
_STORE = Argument(
    metavar="STORE",
    help="Texts with their vectors: a Parquet, Feather or .npy file, a LanceDB folder, or "
    "postgresql://... with pgvector.",
)
_QUESTIONS = Option("--questions", metavar="FILE", help="Measure on these: id, tab, question.")
_RELEVANT = Option(
    metavar="FILE", help="Their relevant documents: lines of query id, tab, row (from 1) or id."
)
_TEXTS = Option("--texts", "--text-file", metavar="FILE", help="For .npy: the texts, one per line.")
_TEACHER = Option(metavar="MODEL", help=f"The transformer that made the vectors: {_MODEL}.")
_TABLE = opt.more(metavar="NAME", help="Table of a database.")
_ID_COLUMN = opt.more(
    metavar="NAME|rows", help="Column with the ids in --relevant.  [default: the one that fits]"
)


@app.command()
def distill(
    model: Annotated[str, Argument(metavar="MODEL", help=f"A transformer: {_MODEL}.")],
    target: Folder,
    vocabulary: Annotated[str, _VOCABULARY] = "wordfreq:en:60000",
    sentences: Annotated[Name, _SENTENCES] = None,
    dimensions: Annotated[int | None, _DIMENSIONS] = None,
    dtype: Dtype = "float32",
    as_json: opt.SummaryJson = False,
    weights: Annotated[Name, _WEIGHTS] = None,
) -> None:
    """Distill a transformer into a table of token vectors.

    OUT is a folder that model2vec and sentence-transformers load. Repeat an interrupted run to
    continue it.

    For example:

      conceptor distill BAAI/bge-small-en-v1.5 static --vocabulary tokens
    """
    from conceptor.static_models import distill as run

    make = partial(
        run,
        model,
        vocabulary=None if vocabulary == "tokens" else vocabulary,
        weights=weights,
        sentences=sentences,
        dimensions=dimensions,
    )
    summary = _make_model(make, target, dtype)
    if as_json:
        write_json(summary)
        return
    text = f", fitted to {summary['sentences']:,} sentences" if summary["sentences"] else ""
    size = f"{summary['tokens']:,} tokens × {summary['dimension']}"
    say(f"{target}: {size}{text} in {summary['seconds']:.0f} s")


@app.command()
def attach(
    store: Annotated[str, _STORE],
    target: Folder,
    queries: Annotated[Name, _QUESTIONS] = None,
    relevant: Annotated[Name, _RELEVANT] = None,
    text_file: Annotated[Name, _TEXTS] = None,
    model: Annotated[Name, _TEACHER] = None,
    dtype: Dtype = "float32",
    as_json: opt.SummaryJson = False,
    text_column: TextColumn = None,
    column: Column = None,
    table: Annotated[Name, _TABLE] = None,
    id_column: Annotated[Name, _ID_COLUMN] = None,
) -> None:
    """Fit a query encoder to vectors that you already store.

    Queries are then searchable without the model that made the vectors, in the same index, by inner
    product. OUT is a static model. Its loss is measured on held-out documents, and with --questions
    and --relevant on your own judgments.

    For example:

      conceptor attach store.parquet judged/ --questions q.tsv --relevant r.tsv
    """
    from conceptor.evaluation.attached import AttachWarning
    from conceptor.evaluation.attached import attach as run

    make = partial(
        run,
        store,
        model=model,
        queries=queries,
        relevant=relevant,
        table=table,
        text_column=text_column,
        column=column,
        text_file=text_file,
        id_column=id_column,
    )
    with print_warnings(AttachWarning):
        summary = _make_model(make, target, dtype)
    if as_json:
        write_json(summary)
        return
    for key in ("verdict", "measured"):
        if key in summary:
            say(f"{key}: {summary[key]}")
    for number, row in enumerate(summary.get("judged", ())):
        line = f"{row['name']}: nDCG@10 {row['nDCG@10']:.1f}, recall@10 {row['recall@10']:.1f}"
        if number:
            gain, low, high = (format_signed(row[k], 1) for k in ("difference", "low", "high"))
            line += f" ({gain} [{low}, {high}] over {summary['judged'][0]['name']})"
        say(line)
    say(
        f"{target}: {summary['tokens']:,} tokens × {summary['dimensions']}, fitted to "
        f"{summary['documents']:,} documents in {summary['seconds']:.0f} s"
    )


def _make_model(make: Callable[..., StaticModel], target: Path, dtype: str) -> dict[str, Any]:
    """Make and save a model; a hidden folder beside it lets an interrupted run continue."""
    started = perf_counter()
    path = check_new_folder(target)
    keep = path.with_name(f"{hidden_name(path.name)}unfinished")
    with on_terminal() as progress:
        result = make(keep=keep, progress=progress)
    result.save(target, dtype=dtype)
    shutil.rmtree(keep, ignore_errors=True)
    size = {"dimension": result.dimension, "tokens": len(result.vectors)}
    return size | {"seconds": perf_counter() - started} | result.provenance
