"""What commands that score vectors have in common: options, benchmarks, lists of names."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.cli.progress import download_progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conceptor.evaluation import Battery, Evaluation
    from conceptor.lexicon.files import Lexicon

_Choice = TypeVar("_Choice", bound=StrEnum)

# What commands show where no vectors are named.
DEMO = "GloVe 6B 50d"

DataOption = Annotated[
    Path | None,
    typer.Option(
        help="Directory with the benchmark files; default $CONCEPTOR_DATA, then installed "
        "packages, the cache, the network.",
        metavar="DIR",
    ),
]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Never ask the network.")]
MissingOption = Annotated[
    str,
    typer.Option(
        help="Words the vectors lack: [b]skip[/b] their items, try [b]lowercase[/b] too, or "
        "score them [b]zero[/b].",
    ),
]
ByTaskOption = Annotated[bool, typer.Option("--by-task", help="Show every STS task, not years.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV, at full precision.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write to this file instead of standard output."),
]
KmeansOption = Annotated[
    str,
    typer.Option(
        help="Where k-means begins: the [b]categories[/b]' means (the paper's choice; it uses the "
        "labels) or k-means++ ([b]plusplus[/b]), 50 starts.",
    ),
]
SynonymsOption = Annotated[
    list[Path] | None,
    typer.Option(help="Pairs of synonyms, one per line; may be repeated. Default: the paper's."),
]
AntonymsOption = Annotated[
    list[Path] | None,
    typer.Option(help="Pairs of antonyms, one per line; may be repeated. Default: the paper's."),
]


def chosen_battery(
    tasks: str | None,
    data: Path | None,
    *,
    offline: bool,
    kmeans: str,
    extras: bool = True,
) -> Battery:
    """Load the benchmarks and say what is missing; an error if nothing is left."""
    from conceptor.evaluation import PAPER_FAMILIES, Battery, load_battery
    from conceptor.evaluation.categorization import KMeansStart

    start = choice(KMeansStart, kmeans, "--kmeans")
    families = PAPER_FAMILIES if tasks is None else split(tasks)
    with download_progress() as progress:
        battery = load_battery(families, data, start=start, offline=offline, progress=progress)
        if battery.missing and tasks is None and extras:
            # Analogies come with the demo extra, so that there is more to see without a network.
            more = load_battery(["analogy"], data, offline=True)
            battery = Battery([*battery.tasks, *more.tasks], battery.missing)
    if battery.missing:
        why = next(iter(battery.missing.values()))
        typer.echo(
            f"conceptor: {len(battery.missing)} benchmark files are not at hand and their tasks "
            f"left out: {why}",
            err=True,
        )
    if not battery.tasks:
        raise ConceptorError("no benchmark is at hand; run: conceptor data fetch")
    return battery


def fetch_vocabulary(data: Path | None, *, offline: bool) -> None:
    """Download the words that methods are fitted on, so that every command finds them."""
    from conceptor.data.registry import gather
    from conceptor.weights import PAPER_VOCABULARY

    with download_progress() as progress:
        gather([PAPER_VOCABULARY], data, offline=offline, progress=progress)


def chosen_lexicon(
    synonyms: list[Path] | None,
    antonyms: list[Path] | None,
    data: Path | None = None,
    *,
    offline: bool = False,
) -> Lexicon | None:
    """Return the lexicon that was named; None leaves it to the method."""
    if not (synonyms or antonyms or offline):
        return None
    from conceptor.lexicon.files import Lexicon

    return Lexicon(tuple(synonyms or ()), tuple(antonyms or ()), data, offline)


def say_if_nothing_was_used(evaluations: Iterable[Evaluation]) -> None:
    """Say why there is nothing to see."""
    for evaluation in evaluations:
        if not any(outcome.used for outcome in evaluation.outcomes):
            typer.echo(
                f"conceptor: warning: {evaluation.vectors}: none of the benchmarks' words is among "
                "the vectors; are they English, in lower case and without prefixes?",
                err=True,
            )


def opened(path: Path | None, on_error: Literal["raise", "skip"] = "raise") -> object:
    """Open a vectors file, or the demonstration's vectors where none is named.

    What is wrong with it is said before anything is downloaded.
    """
    from conceptor.vectors import WordVectors, open_vectors

    if path is not None:
        return open_vectors(path, on_error=on_error)
    from conceptor.data.registry import demo_vectors

    try:
        return WordVectors(*demo_vectors())  # indexed once, for all passes
    except MissingExtraError:
        said = f"no vectors file was named, and showing {DEMO} instead"
        raise MissingExtraError(said, "demo") from None


def split(names: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in names.split(",") if name.strip()]


def choice(kind: type[_Choice], value: str, option: str) -> _Choice:
    """Return the choice of this name; an error that lists them where there is none."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInputError(f"{option} is one of {known}, not {value!r}") from None
