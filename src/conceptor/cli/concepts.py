"""`debias` and `align`: commands that use the algebra of conceptors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.groups import ReadOptions, RowOptions, WriteOptions
from conceptor.cli.options import option, read_apertures, read_size
from conceptor.cli.output import check_outputs, print_summary, show_tables, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.concepts.align import Alignment
    from conceptor.report.forms import Table
    from conceptor.vectors.source import VectorSource

    Dictionary = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ConceptOptions:
    """Concepts, and how they are combined and applied."""

    concept: list[str] | None = option(
        None,
        "A concept: a file with one word per line, or one pair per line (differences are "
        "used); or the list itself, as in he,him,his or he:she,man:woman. "
        "Repeatable.",
        metavar="NAME=LIST",
    )
    expression: str | None = option(
        None,
        "The part to keep: not, and, or, brackets over the concepts and [b]usage[/b], "
        "the directions that running text shares.  \\[default: not any of the concepts]",
        metavar="TEXT",
    )
    aperture: str = option(
        "auto",
        "Aperture α for vectors of length 1: one for all concepts, or one per name; "
        "auto derives it from the spectrum of each concept.",
        metavar="NUMBER|auto|NAME=NUMBER,...",
    )
    power: float = option(1.0, "Power of the conceptor that is applied to the vectors.", min=0.0)

    @property
    def concepts(self) -> dict[str, str]:
        """The list or file of each concept, by name."""
        found = dict(_read_concept(text) for text in self.concept or ())
        if len(found) < len(self.concept or ()):
            raise InvalidInputError("--concept: two concepts have the same name; rename one")
        return found


@command()
def debias(
    source: opt.In,
    target: opt.Out,
    *,
    chosen: ConceptOptions,
    weights: opt.Weights = None,
    measure: Annotated[
        bool,
        Option("--measure", help="Also measure bias and quality before and after; takes minutes."),
    ] = False,
    data: opt.Data = None,
    save_map: opt.SaveMap = None,
    memory: opt.Memory = None,
    writing: WriteOptions,
    reading: ReadOptions,
) -> None:
    """Turn down concepts in vectors; an expression over word lists defines them.

    Vectors are scaled to length 1 first.

    [bold]Example[/bold]

      conceptor debias demo fair.bin --concept gender=he:she,man:woman
    """
    writing.check(target)
    from conceptor.concepts.debias import debias as run
    from conceptor.fitting import FitOptions

    concepts = chosen.concepts
    check_outputs([target, save_map], [weights, *concepts.values()])
    opened = reading.open(source)
    if measure and source == "-":
        raise InvalidInputError("--measure reads the vectors twice; name a file instead of -")
    with on_terminal() as progress:
        solved, report = run(
            opened,
            target,
            concepts,
            chosen.expression,
            aperture=read_apertures(chosen.aperture),
            power=chosen.power,
            options=FitOptions(weights, data=data),
            memory=read_size(memory),
            save_map=save_map,
            **writing.arguments,
            progress=progress,
        )
    warn(report.remarks)
    line = (
        f"{report.words:,} words × {report.dimension} in {report.seconds:.1f} s; kept: "
        f"{report.method}; removed: {report.quota:.1%} of the space"
    )
    more, tables, closing = _measure_bias(opened, solved.map, data) if measure else ({}, [], [])
    _show(asdict(report) | more, line, tables, closing, as_json=writing.as_json)


def _measure_bias(
    opened: Any,  # noqa: ANN401
    map_: Any,  # noqa: ANN401
    data: Path | None,
) -> tuple[dict[str, Any], list[Table], list[str]]:
    from conceptor.evaluation.compare.bias import compare_bias
    from conceptor.report.small_tables import bias_table

    with on_terminal() as progress:
        found = compare_bias(
            opened, {"debiased": lambda _, rows: map_(rows)}, data, progress=progress
        )
    note = "Bias: 0 is no bias; p by permutation, two-sided. Quality: × 100."
    return found.to_dict(), [bias_table(found, "debiased")], [note]


def _show(
    found: dict[str, Any],
    line: str,
    tables: list[Table],
    closing: list[str],
    *,
    as_json: bool,
) -> None:
    """Print JSON, or a summary and the measurements."""
    print_summary(found, line, as_json=as_json)
    if tables and not as_json:
        show_tables(tables, closing=closing)


@command()
def align(
    source: Annotated[str, Argument(metavar="A", help="Vectors file of one language.")],
    target: Annotated[str, Argument(metavar="B", help="Vectors file of the other language.")],
    dictionary: Annotated[
        Path,
        Argument(metavar="DICTIONARY", help="One word of A and its translation in B per line."),
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
            metavar="FILE", help="Test dictionary: report how many words find their translation."
        ),
    ] = None,
    among: Annotated[
        int, Option(min=1, metavar="N", help="For --test, search only the first N words.")
    ] = 200_000,
    force: opt.Force = False,
    *,
    reading: RowOptions,
    as_json: opt.SummaryJson = False,
) -> None:
    r"""Bring the vectors of two languages into one space.

    Both files are post-processed; then A is rotated so that words are near their translations.

    [bold]Examples[/bold]

      conceptor postprocess demo other.bin

      printf '%s\n' 'dog dog' 'cat cat' 'sun sun' 'tree tree' > pairs.txt

      conceptor align demo other.bin pairs.txt --out-dir aligned
    """
    from conceptor.concepts.align import align_files, read_dictionary

    if "-" in (source, target):
        raise InvalidInputError("aligned files keep their names; name a file instead of -")
    questions = None if test is None else read_dictionary(test)
    left, right = (reading.open(each) for each in (source, target))
    with on_terminal() as progress:
        found, reports = align_files(
            left, right, dictionary, out_dir, method=method, force=force, progress=progress
        )
    warn([*found.remarks, *(remark for each in reports for remark in each.remarks)])
    files = [str(out_dir / each.path.name) for each in (left, right)]
    result: dict[str, Any] = {"pairs": found.pairs, "listed": found.listed, "files": files}
    tables: list[Table] = []
    closing: list[str] = []
    if questions is not None:
        result["test"], tables, closing = _test_alignment(left, right, found, questions, among)
    line = f"{' and '.join(files)}: {found.pairs:,} of {found.listed:,} pairs used"
    _show(result, line, tables, closing, as_json=as_json)


def _test_alignment(
    left: VectorSource, right: VectorSource, found: Alignment, questions: Dictionary, among: int
) -> tuple[dict[str, Any], list[Table], list[str]]:
    from conceptor.evaluation.translation import measure_alignment
    from conceptor.report.small_tables import translation_table

    with on_terminal() as progress:
        sides = (left, found.source), (right, found.target)
        tested = measure_alignment(sides, questions, among, progress)
    note = f"{tested['used']:,} of {tested['total']:,} words have vectors on both sides."
    return tested, [translation_table(tested)], [note]


def _read_concept(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise InvalidInputError(
            f"--concept is {text!r}; it must be NAME=FILE or NAME=WORD,WORD,..., as in "
            "gender=he:she,man:woman"
        )
    return name, value
