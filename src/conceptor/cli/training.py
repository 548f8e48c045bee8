"""`train-ppmi` and `counterfit`: train vectors on plain text, adjust vectors to a lexicon."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.groups import LexiconOptions, RowOptions, WriteOptions
from conceptor.cli.options import option
from conceptor.cli.output import check_outputs, print_summary, warn, write_output

if TYPE_CHECKING:
    from conceptor.paper.ppmi import PPMIVectors

# How text is split into tokens, and the unit that windows do not cross.
Tokens = StrEnum("Tokens", ["words", "spaces"])
Unit = StrEnum("Unit", ["line", "paragraph", "document"])


@dataclass(frozen=True)
class TrainingOptions:
    """How vectors are trained."""

    dimension: int = option(300, "Dimension of the vectors.", min=1)
    window: int = option(5, "Number of context tokens on each side.", min=1)
    power: float = option(0.5, "Exponent p of the singular values: vectors are Θ D^p.")
    min_count: int = option(10, "Ignore words with fewer occurrences.", min=1)
    max_words: int | None = option(None, "Keep only the most frequent words.", min=1)
    flat_window: bool = option(
        False, "Give all tokens of a window the same weight.", "--flat-window"
    )
    subsample: float | None = option(
        None, "Subsample words more frequent than this share, e.g. 1e-5."
    )
    smoothing: float = option(0.75, "Exponent of the context counts.", min=0.0, max=1.0)
    shift: float = option(1.0, "k; log k is subtracted from the PMI.", min=1.0)
    tokens: Tokens = option(Tokens.words, "Runs of letters and digits, or anything between spaces.")
    keep_case: bool = option(False, "Do not convert to lower case.", "--keep-case")
    unit: Unit = option(
        Unit.line, "Unit that windows do not cross; paragraph for text with wrapped lines."
    )

    def estimator(self) -> PPMIVectors:
        """Return the model to train."""
        from conceptor.paper.ppmi import PPMIVectors

        given = {**vars(self), "tokens": self.tokens.value, "unit": self.unit.value}
        flat, keeps = given.pop("flat_window"), given.pop("keep_case")
        return PPMIVectors(**given, dynamic_window=not flat, lowercase=not keeps)


@command("train-ppmi")
def train_ppmi(
    corpus: Annotated[
        list[Path], Argument(metavar="CORPUS...", help="Plain text in UTF-8; may be compressed.")
    ],
    target: Annotated[Path, Argument(metavar="OUT", help="Vectors file to write.")],
    *,
    training: TrainingOptions,
    counts: Annotated[
        Path | None, Option(metavar="FILE", help="Also write 'word count' lines, for --weights.")
    ] = None,
    writing: WriteOptions,
) -> None:
    """Train word vectors on plain text: co-occurrence, PPMI, truncated SVD.

    [bold]Example[/bold]

      conceptor train-ppmi README.md vectors.bin --dimension 20 --min-count 2
    """
    from conceptor.vectors import write_vectors
    from conceptor.vectors.target import check_new_file, plan_target

    plan_target(target, **writing.arguments)
    check_outputs([target, counts], corpus)
    if counts is not None:
        check_new_file(counts, force=writing.force)
    started = time.perf_counter()
    trained = training.estimator()
    with on_terminal() as progress:
        trained.fit(corpus, progress=progress)
    words = len(trained.words)
    rows = [(trained.words, trained.vectors())]
    write_vectors(target, rows, count=words, **writing.arguments)
    if counts is not None:
        write_output("".join(f"{word} {n}\n" for word, n in trained.counts.items()), counts)
    seconds = time.perf_counter() - started
    found = {"words": words, "tokens": trained.tokens_, "seconds": seconds}
    line = (
        f"{words:,} words × {training.dimension} from {trained.tokens_:,} tokens in {seconds:.1f} s"
    )
    print_summary(found, line, as_json=writing.as_json)


@command()
def counterfit(
    source: opt.In,
    target: opt.Out,
    *,
    lists: LexiconOptions,
    retrofit: Annotated[
        bool, Option("--retrofit", help="Use retrofitting instead, with synonyms only.")
    ] = False,
    epochs: Annotated[
        int | None, Option(min=0, help="Number of steps.  \\[default: 20, or 10 for retrofitting]")
    ] = None,
    radius: Annotated[
        float, Option(min=0.0, max=2.0, help="Keep neighbours within this cosine distance close.")
    ] = 0.2,
    writing: WriteOptions,
    reading: RowOptions,
) -> None:
    r"""Pull synonyms together and push antonyms apart; other words keep their vectors.

    [bold]Examples[/bold]

      printf '%s\n' 'cheap inexpensive' 'costly expensive' > synonyms.txt

      conceptor counterfit demo better.bin --synonyms synonyms.txt
    """
    from conceptor.lexicon import CounterFitting, Retrofitting
    from conceptor.vectors.chunks import read_chunks
    from conceptor.vectors.target import plan_target, write_chunks

    if not lists.files:
        raise InvalidInputError(
            "no lexicon was given; use --synonyms FILE, --antonyms FILE or both"
        )
    if retrofit and lists.antonyms:
        raise InvalidInputError("--antonyms does not apply to --retrofit; remove one of them")
    writing.check(target)
    steps = (10 if retrofit else 20) if epochs is None else epochs
    method: CounterFitting | Retrofitting = (
        Retrofitting(lists.synonyms, iterations=steps)
        if retrofit
        else CounterFitting(lists.synonyms, lists.antonyms, radius=radius, epochs=steps)
    )
    check_outputs([target], lists.files)
    started = time.perf_counter()
    opened = reading.open(source)
    goal = plan_target(target, source=opened, **writing.arguments)
    with on_terminal() as progress:
        method.fit(opened, progress=progress)
        chunks = read_chunks(opened, progress, "writing")
        words = write_chunks(chunks, goal, opened.count, method.transform)
    warn(opened.findings.lines())
    changed, seconds = len(method.words_), time.perf_counter() - started
    pairs = method.pairs_ if isinstance(method, CounterFitting) else None
    report = {"words": words, "changed": changed, "pairs": pairs, "seconds": seconds}
    line = f"{words:,} words, {changed:,} of them changed, in {seconds:.1f} s"
    print_summary(report, line, as_json=writing.as_json)
