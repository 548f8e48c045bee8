"""What commands do with rows of texts: open them with their texts, and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from conceptor.base.errors import InvalidInputError
from conceptor.base.numbers import format_number
from conceptor.cli import options as opt
from conceptor.cli import output as out
from conceptor.cli.inputs import open_or_demo, split_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.concepts.found import Neighbour
    from conceptor.vectors.vectors import Vectors

__all__ = [
    "Shown",
    "compare_rows",
    "list_methods",
    "open_rows",
    "refuse_for_texts",
    "refuse_for_words",
    "show_text_neighbours",
]


# Letters of a text that a table shows.
_SHOWN = 160


class Shown(NamedTuple):
    """How results are shown, and where."""

    as_json: bool = False
    as_markdown: bool = False
    as_csv: bool = False
    as_html: bool = False
    output: Path | None = None


def open_rows(
    vectors: Path | None,
    texts: Path | None,
    rows: opt.RowsChoice | None = None,
    on_error: opt.OnErrorChoice = opt.OnErrorChoice.error,
) -> Vectors:
    """Open vectors, whose rows may be words or texts; with a file of texts they are texts."""
    if texts is None:
        return open_or_demo(vectors, on_error, wordless=True, rows=rows)
    if vectors is None or rows is opt.RowsChoice.words:
        why = "no vectors are named" if vectors is None else "--rows says that rows are words"
        raise InvalidInputError(f"--texts {texts} belongs to vectors of texts, and {why}")
    if on_error is not opt.OnErrorChoice.error:
        raise InvalidInputError(
            "--on-error skip would leave rows out, and then --texts does not match them"
        )
    from conceptor.vectors.texts import as_texts

    return as_texts(vectors, texts)


def list_methods(methods: str | None) -> list[str] | None:
    """Return the methods that are named; None leaves the choice to the kind of rows."""
    from conceptor.methods import ORIGINAL, spectral_methods

    if methods is None:
        return None
    return [ORIGINAL, *spectral_methods()] if methods == "all" else split_list(methods)


def refuse_for_texts(name: str, **given: object) -> None:
    """Raise for options that are about words."""
    for option, value in given.items():
        if value:
            raise InvalidInputError(
                f"{name}: its rows are texts, and --{option.replace('_', '-')} is for words; leave "
                "it out, or say --rows words"
            )


def refuse_for_words(**given: object) -> None:
    """Raise for options that are about texts."""
    for option, value in given.items():
        if value is not None:
            raise InvalidInputError(
                f"the rows are words, and --{option} is for texts; leave it out, or say --rows "
                "texts"
            )


def compare_rows(
    vectors: Vectors,
    title: str,
    *,
    methods: str | None,
    weights: str | None,
    vocabulary: str | None,
    pairs: Sequence[Path],
    queries: Path | None,
    relevant: Path | None,
    sizes: str | None,
    dtypes: str | None,
    resamples: int,
    seed: int,
    how: Shown,
) -> None:
    """Compare rows of texts, and show the result."""
    from conceptor.base.progress import on_terminal
    from conceptor.evaluation.compare.texts import compare_texts
    from conceptor.fitting import FitOptions

    out.check_outputs([how.output], [*vectors.files(), *pairs, queries, relevant])
    with on_terminal() as progress:
        found = compare_texts(
            vectors,
            list_methods(methods),
            FitOptions(weights, vocabulary),
            pairs=pairs or None,
            queries=queries,
            relevant=relevant,
            sizes=None if sizes is None else [_read_number(each) for each in split_list(sizes)],
            dtypes=None if dtypes is None else split_list(dtypes),
            name=title,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
        found.comparison.resample(progress)
    out.warn(f"{title}: {each}" for each in found.cautions)
    if how.as_json:
        out.write_json(found.to_dict(), how.output)
    elif how.as_csv:
        from conceptor.report.tables import csv_text

        out.write_output(csv_text(found.comparison.evaluations), how.output)
    else:
        from conceptor.report.texts import text_page, text_tables

        if how.as_html:
            out.write_output(text_page(found), how.output)
            return
        closing = "\n".join(map(out.with_flags, found.summary))
        notes = [title, *found.notes]
        out.show_tables(text_tables(found), notes, how.as_markdown, how.output, closing)


def show_text_neighbours(found: dict[str, dict[str, list[Neighbour]]]) -> None:
    """Show the nearest texts of each method, with what their cosines mean."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from conceptor.algebra.background import percent_below
    from conceptor.concepts.text_neighbours import shorten

    console = out.safe_console()
    first = next(iter(found.values()))
    for title in first:
        console.print(Text(shorten(title, 3 * _SHOWN), style="bold"))
        for method, by_text in found.items():
            near = by_text[title]
            table = Table(box=box.SIMPLE, pad_edge=False)
            table.add_column(Text(method), ratio=1)
            for name in ("row", "cosine", *(["above"] if near and near[0].p is not None else [])):
                table.add_column(name, justify="right", style="dim", no_wrap=True)
            known = {one.rank for one in first[title]}
            for one in near:
                text = Text(shorten(one.word, _SHOWN), style="" if one.rank in known else "bold")
                above = [] if one.p is None else [percent_below(one.p)]
                table.add_row(text, f"{one.rank + 1:,}", format_number(one.score, 3), *above)
            console.print(table)
    if any(one.p is not None for near in first.values() for one in near):
        console.print("above: the share of random pairs of rows with a lower cosine.", style="dim")


def _read_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"--sizes has {text!r}; it must be numbers of dimensions") from None
