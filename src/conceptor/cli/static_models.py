"""`distill`: make a static model from a transformer."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from conceptor.base.progress import on_terminal_or_log
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.options import option
from conceptor.cli.output import print_summary

# Number types of static models.
ModelDtype = StrEnum("ModelDtype", ["float32", "float16", "int8"])


@dataclass(frozen=True)
class DistillOptions:
    """How a model is distilled."""

    vocabulary: str = option(
        "wordfreq:en:60000",
        "Whole words on top of the model's tokens: the N most frequent ones of a "
        "language, a file with one word per line, or none.",
        metavar="wordfreq:LANG:N|FILE|tokens",
    )
    weights: str | None = option(
        None,
        "Word frequencies: those of a language, a file of 'word count' lines, or counts "
        "from the sentences.  \\[default: the language of the vocabulary, else English]",
        metavar="wordfreq:LANG|FILE|sentences",
    )
    sentences: str | None = option(
        None,
        "Any text, one sentence or short paragraph per line; for a folder, all .txt "
        "files. Best are the documents that you search. The table is fitted to the "
        "model's vectors for these sentences; no labels are needed. A Parquet or Feather file "
        "holds texts with stored vectors of any origin. If you have no text, "
        "drawn:8192 generates sentences of words sampled by frequency.",
        metavar="FILE|FOLDER|drawn:N",
    )
    text_column: str | None = option(
        None, "If sentences are a table: its column of texts.", metavar="NAME"
    )
    column: str | None = option(
        None, "If sentences are a table: its column of vectors.", metavar="NAME"
    )
    most_sentences: int = option(
        50_000, "Use at most this many sentences, spread over the file.", min=1
    )
    dimensions: int | None = option(
        None, "Keep this many leading directions.  \\[default: all]", min=1
    )
    sif: float | None = option(
        None,
        "Weight tokens with frequency p by a / (a + p), with this a: a larger a gives "
        "frequent tokens more weight.  \\[default: 0.01, with sentences 0.001]",
    )

    @property
    def inputs(self) -> list[str]:
        """The values that may be file names."""
        return [self.vocabulary, *(each for each in (self.weights, self.sentences) if each)]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `conceptor.static_models.distill`."""
        words = None if self.vocabulary == "tokens" else self.vocabulary
        return {**vars(self), "vocabulary": words}


@command()
def distill(
    model: Annotated[
        str, Argument(metavar="MODEL", help="A transformer: its folder, or its name on the hub.")
    ],
    target: Annotated[Path, Argument(metavar="OUT", help="Folder to write.")],
    *,
    how: DistillOptions,
    dtype: Annotated[ModelDtype, Option(help="Number type of OUT.")] = ModelDtype.float32,
    force: Annotated[bool, Option("--force", help="Replace an existing folder.")] = False,
    as_json: opt.SummaryJson = False,
) -> None:
    r"""Distil a static model: a table of token vectors that replaces a transformer.

    OUT is a folder that model2vec and sentence-transformers load; a text is the average of its
    tokens' vectors. Repeat an interrupted run to continue it.

    [bold]Examples[/bold]

      pip install 'conceptor\[static]'

      conceptor distill BAAI/bge-small-en-v1.5 static --vocabulary tokens
    """
    from time import perf_counter

    from conceptor.base.files import hidden_name
    from conceptor.static_models import distill as run
    from conceptor.vectors.target import check_new_folder

    started = perf_counter()
    check_new_folder(target, force=force, inputs=[model, *how.inputs])
    whole = target.resolve()
    keep = whole.with_name(f"{hidden_name(whole.name)}distilling")
    with on_terminal_or_log() as progress:
        made = run(model, **how.arguments, keep=keep, progress=progress)
    made.save(target, dtype=dtype.value, force=force)
    shutil.rmtree(keep, ignore_errors=True)
    tokens, dimension = made.vectors.shape
    seconds = perf_counter() - started
    found = {"tokens": tokens, "dimension": dimension, "seconds": seconds, **made.provenance}
    fitted = made.provenance["sentences"]
    text = f", fitted to {fitted:,} sentences" if fitted else ""
    line = f"{target}: {tokens:,} tokens × {dimension}{text} in {seconds:.0f} s"
    print_summary(found, line, as_json=as_json)
