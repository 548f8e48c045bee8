"""`debias` and `align`: the algebra of conceptors at work."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.errors import InvalidInputError, printable
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import open_source, read_apertures, read_size
from conceptor.cli.output import (
    check_json_output,
    check_outputs,
    safe_console,
    warn,
    write_json,
)

if TYPE_CHECKING:
    from conceptor.evaluation.compare.bias import BiasComparison


@app.command()
def debias(
    source: opt.In,
    target: opt.Out,
    concept: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=LIST",
            help="A concept: a file with a word per line, or with two words per line whose "
            "differences matter; or the list itself, as in he,him,his or he:she,man:woman. "
            "Repeatable.",
        ),
    ] = None,
    expression: Annotated[
        str | None,
        Option(
            metavar="TEXT",
            help="What is kept: not, and, or, brackets, over the concepts and [b]usage[/b], "
            "what running text shares.  \\[default: not any of the concepts]",
        ),
    ] = None,
    aperture: Annotated[
        str,
        Option(
            metavar="NUMBER|auto|NAME=NUMBER,...",
            help="Aperture α of the concepts, for vectors of length 1, or of some of them by name; "
            "auto derives it from the spectrum of each.",
        ),
    ] = "auto",
    power: Annotated[
        float, Option(min=0.0, help="Power of the result that is applied to the vectors.")
    ] = 1.0,
    weights: opt.Weights = None,
    measure: Annotated[
        bool,
        Option("--measure", help="Also measure bias and quality before and after; takes minutes."),
    ] = False,
    data: opt.Data = None,
    save_map: opt.SaveMap = None,
    memory: opt.Memory = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Take concepts out of vectors, softly, by an expression over word lists.

    Vectors are brought to length 1 on the way.

    [bold]Examples[/bold]

      conceptor debias vectors.bin fair.bin --concept gender=he:she,man:woman,son:daughter

      conceptor debias vectors.bin fair.bin --concept gender=words.txt --concept names=names.txt
        --expression "not (usage or gender or names)" --measure
    """
    check_json_output(target, as_json=as_json)
    from conceptor.base.progress import on_terminal
    from conceptor.concepts.debias import debias as run
    from conceptor.fitting import FitOptions

    concepts = dict(_read_concept(text) for text in concept or ())
    if len(concepts) < len(concept or ()):
        raise InvalidInputError("--concept: two concepts have the same name; rename one")
    check_outputs([target, save_map], [weights, *concepts.values()])
    opened = open_source(source, on_error, replace_spaces)
    if measure and source == "-":
        raise InvalidInputError("--measure reads the vectors again, which standard input does not")
    with on_terminal() as progress:
        solved, report = run(
            opened,
            target,
            concepts,
            expression,
            aperture=read_apertures(aperture),
            power=power,
            options=FitOptions(weights, data=data),
            memory=read_size(memory),
            save_map=save_map,
            format=format,
            dtype=dtype.value if dtype else None,
            force=force,
            progress=progress,
        )
    warn(report.remarks)
    found: dict[str, Any] = asdict(report)
    if not as_json:
        line = (
            f"{report.words:,} words × {report.dimension} in {report.seconds:.1f} s; kept: "
            f"{report.method}; taken out: {report.quota:.1%} of the space"
        )
        typer.echo(printable(line), err=True)
    if measure:
        from conceptor.evaluation.compare.bias import compare_bias

        with on_terminal() as progress:
            compared = compare_bias(
                opened, {"debiased": lambda _, rows: solved.map(rows)}, data, progress=progress
            )
        if as_json:
            found |= compared.to_dict()
        else:
            _show_bias(compared, "debiased")
    if as_json:
        write_json(found)


@app.command()
def align(
    source: Annotated[str, Argument(metavar="A", help="Vectors file of one language.")],
    target: Annotated[str, Argument(metavar="B", help="Vectors file of the other language.")],
    dictionary: Annotated[
        Path,
        Argument(metavar="DICTIONARY", help="File with a word of A and its translation per line."),
    ],
    out_dir: Annotated[
        Path, Option("--out-dir", metavar="DIR", help="Directory for both files, aligned.")
    ],
    method: Annotated[
        str, Option(metavar="NAME", help="Post-processing of both sides; [b]original[/b] for none.")
    ] = "cn",
    test: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Another dictionary: how many of its words find a translation."
        ),
    ] = None,
    among: Annotated[
        int, Option(min=1, metavar="N", help="For --test, look among the first N words.")
    ] = 200_000,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    as_json: opt.SummaryJson = False,
) -> None:
    """Bring the vectors of two languages into one space.

    Each side is post-processed; then A is turned so that words come near their translations.

    [bold]Example[/bold]

      conceptor align en.vec fr.vec en-fr.tsv --out-dir aligned/ --test more-en-fr.tsv
    """
    from conceptor.base.progress import on_terminal
    from conceptor.concepts.align import align_files, read_dictionary

    if "-" in (source, target):
        raise InvalidInputError("aligned files keep their names, and standard input has none")
    questions = None if test is None else read_dictionary(test)
    left, right = (open_source(each, on_error) for each in (source, target))
    with on_terminal() as progress:
        found, reports = align_files(
            left,
            right,
            dictionary,
            out_dir,
            method=method,
            force=force,
            progress=progress,
        )
    warn([*found.remarks, *(remark for each in reports for remark in each.remarks)])
    result: dict[str, Any] = {
        "pairs": found.pairs,
        "listed": found.listed,
        "files": [str(out_dir / each.path.name) for each in (left, right)],
    }
    if not as_json:
        typer.echo(
            f"{' and '.join(result['files'])}: {found.pairs:,} of {found.listed:,} pairs used",
            err=True,
        )
    if questions is not None:
        from conceptor.evaluation.compare.translations import measure_alignment

        with on_terminal() as progress:
            result["test"] = measure_alignment(left, right, found, questions, among, progress)
        if not as_json:
            _show_translations(result["test"])
    if as_json:
        write_json(result)


def _read_concept(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise InvalidInputError(
            f"--concept is {text!r}; it must be NAME=FILE or NAME=WORD,WORD,..., as in "
            "gender=he:she,man:woman"
        )
    return name, value


def _show_bias(found: BiasComparison, method: str) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("", "before", "p", "after", "95% interval", "p"):
        table.add_column(title, justify="right" if title else "left")

    def p_value(p: float | None) -> str:
        return "" if p is None else f"{p:.3f}" if p >= 0.001 else "<0.001"

    for name in found.measures:
        before, after = (found.measured(each, name) for each in ("original", method))
        table.add_row(
            name,
            f"{before.value:.2f}",
            p_value(before.p),
            f"{after.value:.2f}",
            f"{after.low:.2f} to {after.high:.2f}",
            p_value(after.p),
        )
    earlier = found.quality_of("original")
    for name, (score, gain) in found.quality_of(method).items():
        interval = "" if gain is None else f"gain {gain.low:+.2f} to {gain.high:+.2f}"
        table.add_row(name, f"{earlier[name][0]:.2f}", "", f"{score:.2f}", interval, "")
    console = safe_console()
    console.print(table)
    console.print("Bias: 0 is none; p by permutation, in both directions. Quality: × 100.")


def _show_translations(found: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("", "P@1", "P@10", "MRR"):
        table.add_column(title, justify="right" if title else "left")
    for name in ("cosine", "csls"):
        table.add_row(name, *(f"{found[name][metric]:.1f}" for metric in ("P@1", "P@10", "MRR")))
    console = safe_console()
    console.print(table)
    console.print(
        f"{found['used']:,} of {found['total']:,} words have vectors on both sides; × 100."
    )
