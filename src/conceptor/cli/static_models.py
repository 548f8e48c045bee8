"""`distill` and `attach`: static models from transformers, and for vectors that are stored."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.errors import printable
from conceptor.base.files import hidden_name
from conceptor.base.folders import check_folder
from conceptor.base.numbers import format_signed
from conceptor.base.progress import on_terminal_or_log
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import print_summary, print_warnings, write_json

if TYPE_CHECKING:  # heavy
    from conceptor.static_models import StaticModel

Name = str | None
Folder = Annotated[Path, Argument(metavar="OUT", help="Folder to write.")]
Dtype = Annotated[opt.ModelDtype, Option(help="Number type of OUT.")]
Force = Annotated[bool, Option("--force", help="Replace an existing folder.")]
_WORDS = "wordfreq:LANG:N|FILE|tokens"
_MODEL = "its folder, or its name on the hub"
_VOCABULARY = Option(
    metavar=_WORDS, help="Words on top of the model's tokens: N of a language, of a file, or none."
)
_WEIGHTS = Option(
    metavar="wordfreq:LANG|FILE|sentences",
    help="Word frequencies.  \\[default: the language of the vocabulary, else English]",
)
_SENTENCES = Option(
    metavar="FILE|FOLDER|drawn:N",
    help="Text to fit the table to, one sentence or short paragraph per line; for a folder, all "
    ".txt files. Best are the documents that you search. A Parquet or Feather file holds texts "
    "with stored vectors. If you have no text, drawn:8192 samples words by frequency.",
)
_TEXT_COLUMN = Option(metavar="NAME", help="Column of a table that holds the texts.")
_COLUMN = Option(metavar="NAME", help="Column of a table that holds the vectors.")
_MOST = Option(min=1, help="Use at most this many sentences, spread over the file.")
_DIMENSIONS = Option(min=1, help="Keep this many leading directions.  \\[default: all]")
_SIF = Option(
    help="Weight tokens with frequency p by a / (a + p), with this a: a larger a gives frequent "
    "tokens more weight.  \\[default: 0.01, with sentences 0.001]"
)
_STORE = Argument(
    metavar="STORE",
    help="Texts with their vectors: a Parquet, Feather or .npy file, a LanceDB folder, or "
    "postgresql://... with pgvector.",
)
_TEACHER = Option(
    metavar="MODEL", help=f"The transformer that made the vectors, for the measure: {_MODEL}."
)
_BASE = Option(metavar="FOLDER", help="Start from this static model.  \\[default: from zero]")
_START = Option(
    metavar="FILE|FOLDER|drawn:N|none",
    help="With --model: text for the table that the fit starts from, as for distill.",
)
_MORE_WORDS = Option(metavar=_WORDS, help="With --model: more words that get rows.")
_TABLE = Option(metavar="NAME", help="Table of a database.")
_TEXTS = Option("--texts", "--text-file", metavar="FILE", help="For .npy: the texts, one per line.")
_QUESTIONS = Option(
    "--questions", metavar="FILE", help="Measure on these too: lines of id, tab, question."
)
_RELEVANT = Option(
    metavar="FILE", help="Their relevant documents: lines of query id, tab, row (from 1) or id."
)
_ID_COLUMN = Option(
    metavar="NAME|rows", help="Column with the ids in --relevant.  \\[default: the one that fits]"
)


@app.command()
def distill(
    model: Annotated[str, Argument(metavar="MODEL", help=f"A transformer: {_MODEL}.")],
    target: Folder,
    vocabulary: Annotated[str, _VOCABULARY] = "wordfreq:en:60000",
    weights: Annotated[Name, _WEIGHTS] = None,
    sentences: Annotated[Name, _SENTENCES] = None,
    text_column: Annotated[Name, _TEXT_COLUMN] = None,
    column: Annotated[Name, _COLUMN] = None,
    most_sentences: Annotated[int, _MOST] = 50_000,
    dimensions: Annotated[int | None, _DIMENSIONS] = None,
    sif: Annotated[float | None, _SIF] = None,
    dtype: Dtype = opt.ModelDtype.float32,
    force: Force = False,
    as_json: opt.SummaryJson = False,
) -> None:
    r"""Distill a static model: a table of token vectors that replaces a transformer.

    OUT is a folder that model2vec and sentence-transformers load; a text is the average of its
    tokens' vectors. Repeat an interrupted run to continue it.

    [bold]Examples[/bold]

      pip install 'conceptor\[static]'

      conceptor distill BAAI/bge-small-en-v1.5 static --vocabulary tokens
    """
    from conceptor.static_models import distill as run

    make = partial(
        run,
        model,
        vocabulary=None if vocabulary == "tokens" else vocabulary,
        weights=weights,
        sentences=sentences,
        text_column=text_column,
        column=column,
        most_sentences=most_sentences,
        dimensions=dimensions,
        sif=sif,
    )
    inputs = [model, vocabulary, weights, sentences]
    result, summary = _make_model(make, target, inputs, dtype, force=force)
    text = f", fitted to {summary['sentences']:,} sentences" if summary["sentences"] else ""
    text += f" in {summary['seconds']:.0f} s"
    line = f"{target}: {summary['tokens']:,} tokens × {result.dimension}{text}"
    print_summary({"dimension": result.dimension} | summary, line, as_json=as_json)


@app.command()
def attach(
    store: Annotated[str, _STORE],
    target: Folder,
    model: Annotated[Name, _TEACHER] = None,
    base: Annotated[Name, _BASE] = None,
    sentences: Annotated[str, _START] = "drawn:8192",
    vocabulary: Annotated[str, _MORE_WORDS] = "wordfreq:en:30000",
    text_column: Annotated[Name, _TEXT_COLUMN] = None,
    column: Annotated[Name, _COLUMN] = None,
    table: Annotated[Name, _TABLE] = None,
    text_file: Annotated[Name, _TEXTS] = None,
    queries: Annotated[Name, _QUESTIONS] = None,
    relevant: Annotated[Name, _RELEVANT] = None,
    id_column: Annotated[Name, _ID_COLUMN] = None,
    dtype: Dtype = opt.ModelDtype.float32,
    force: Force = False,
    as_json: opt.SummaryJson = False,
) -> None:
    """Make queries searchable without the model: fit an encoder to vectors you already store.

    OUT is a static model, which model2vec and sentence-transformers load. The index does not
    change: search it by inner product. The encoder's loss is measured on held-out documents, and
    with --questions and --relevant on your own judgments.

    [bold]Examples[/bold]

      conceptor attach store.parquet query-model/

      conceptor attach store.parquet judged/ --questions q.tsv --relevant r.tsv
    """
    from conceptor.evaluation.attached import AttachWarning
    from conceptor.evaluation.attached import attach as run

    make = partial(
        run,
        store,
        model=model,
        base=base,
        sentences=None if sentences == "none" else sentences,
        vocabulary=None if vocabulary == "tokens" else vocabulary,
        queries=queries,
        relevant=relevant,
        table=table,
        text_column=text_column,
        column=column,
        text_file=text_file,
        id_column=id_column,
    )
    inputs = [store, model, base, text_file, queries, relevant]
    with print_warnings(AttachWarning):
        _, summary = _make_model(make, target, inputs, dtype, force=force)
    if as_json:
        write_json(summary)
        return
    lines = [
        f"{target}: {summary['tokens']:,} tokens × {summary['dimensions']}, fitted to "
        f"{summary['documents']:,} documents in {summary['seconds']:.0f} s"
    ]
    lines += [f"{key}: {summary[key]}" for key in ("measured", "verdict") if key in summary]
    if summary.get("documents_named_by", "rows") != "rows":
        lines.append(f"judged documents: by the column {summary['documents_named_by']}")
    for number, row in enumerate(summary.get("judged", ())):
        line = f"{row['name']}: nDCG@10 {row['nDCG@10']:.1f}, recall@10 {row['recall@10']:.1f}"
        if number:
            gain, low, high = (format_signed(row[k], 1) for k in ("difference", "low", "high"))
            line += f" ({gain} [{low}, {high}] over {summary['judged'][0]['name']})"
        lines.append(line)
    typer.echo(printable("\n".join(lines)), err=True)


def _make_model(
    make: Callable[..., StaticModel],
    target: Path,
    inputs: list[str | None],
    dtype: opt.ModelDtype,
    *,
    force: bool,
) -> tuple[StaticModel, dict[str, Any]]:
    """Make and save a model; a hidden folder beside it lets an interrupted run continue."""
    from conceptor.vectors.formats.static_model import parts_of

    started = perf_counter()
    files = [name for name in inputs if name and "://" not in name]
    check_folder(target, "static model", parts_of, inputs=files, force=force)
    keep = target.resolve().with_name(f"{hidden_name(target.resolve().name)}unfinished")
    with on_terminal_or_log() as progress:
        result = make(keep=keep, progress=progress)
    result.save(target, dtype=dtype.value, force=force)
    shutil.rmtree(keep, ignore_errors=True)
    summary = {"tokens": len(result.vectors), "seconds": perf_counter() - started}
    return result, summary | result.provenance
