"""From the values of options to what commands work with: methods, vectors, benchmarks."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeVar

import typer

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError, Setting
from conceptor.cli import options as opt
from conceptor.cli.output import download_progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conceptor.concepts.lists import Apertures
    from conceptor.evaluation import Battery
    from conceptor.lexicon.files import Lexicon
    from conceptor.methods import Method
    from conceptor.vectors import VectorSource
    from conceptor.vectors.vectors import Vectors

_Choice = TypeVar("_Choice", bound=StrEnum)

_PAPER = "cn-paper"
# What vectors are for, and the method for it.
_PURPOSES = {"words": "cn:lengths=unit", "sentences": "cn"}
# The vectors that commands use if no file is named.
DEMO = "GloVe 6B 50d"


def split_list(names: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in names.split(",") if name.strip()]


def parse_choice(kind: type[_Choice], value: str, option: str) -> _Choice:
    """Return the member with this value; raise an error that lists all of them."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInputError(f"{option} is {value!r}; it must be one of {known}") from None


def read_aperture(text: str) -> float | Literal["auto"]:
    """Read a number, or `auto`."""
    with suppress(ValueError):
        if text == "auto" or float(text) >= 0:
            return "auto" if text == "auto" else float(text)
    raise InvalidInputError(f"--aperture is {text}; it must be auto or a number from 0 to inf")


def read_apertures(text: str) -> Apertures:
    """Read one aperture for all concepts, or gender=5,names=auto."""
    if "=" not in text:
        return read_aperture(text)
    parts = [[side.strip() for side in part.split("=")] for part in split_list(text)]
    names = {part[0] for part in parts}
    if len(names) < len(parts) or any(len(part) != 2 or not all(part) for part in parts):
        raise InvalidInputError(
            f"--aperture is {text}; for several concepts it is NAME=NUMBER,NAME=NUMBER, each name "
            "once"
        )
    return {name: read_aperture(value) for name, value in parts}


def read_size(size: str | None) -> int | None:
    """Read 100MB, 2GB, 1.5g or plain bytes."""
    if size is None:
        return None
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    text = size.strip().lower().removesuffix("b")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "")
    with suppress(ValueError, OverflowError):
        if (value := int(float(number) * units[unit])) >= 0:
            return value
    raise InvalidInputError(f"--memory is {size}; it must be a size such as 100MB or 8GB")


def resolve_method(
    vectors: Vectors | None,
    method: str | None,
    paper: bool,
    weights: str | None,
    aperture: str | None,
    purpose: str | None = None,
    dimensions: int | None = None,
    **numbers: float | None,
) -> Method:
    """Return the method with its parameters; raise for parameters of another method.

    By default it is that for `vectors`; without them, that for words.
    """
    from conceptor.methods import Method

    if paper and (method is not None or aperture is not None or weights is not None):
        raise InvalidInputError(
            "--paper already sets method, aperture and weights; remove --method, --aperture and "
            "--weights"
        )
    if purpose is not None and (paper or method is not None):
        raise InvalidInputError("--for already sets the method; remove --method and --paper")
    named = _PAPER if paper else method or (_PURPOSES[purpose] if purpose else None)
    if named is not None:
        chosen = Method.parse(named)
    else:
        chosen = Method.parse("cn") if vectors is None else Method.default_for(vectors)
    if dimensions is not None:
        chosen = chosen.with_dimensions(dimensions)
    if weights is not None:
        chosen.check_weighs()
    given = {"aperture": None if aperture is None else read_aperture(aperture)} | numbers
    parameters = {key: value for key, value in given.items() if value is not None}
    if not parameters:
        return chosen
    for key in parameters:
        if len(chosen.steps) == 1 and key not in chosen.steps[0].parameters:
            raise InvalidInputError(Setting(key), f" does not apply to {chosen}; remove it")
    return chosen.with_parameters(**parameters)


def make_lexicon(
    synonyms: list[Path] | None,
    antonyms: list[Path] | None,
    data: Path | None = None,
    *,
    offline: bool = False,
) -> Lexicon | None:
    """Return the lexicon of these files; None leaves the choice to the method."""
    if not (synonyms or antonyms or offline):
        return None
    from conceptor.lexicon.files import Lexicon

    return Lexicon(tuple(synonyms or ()), tuple(antonyms or ()), data, offline)


def open_source(
    path: str | Path,
    on_error: opt.OnErrorChoice = opt.OnErrorChoice.error,
    replace_spaces: str | None = None,
    *,
    wordless: bool = False,
) -> VectorSource:
    """Open a vectors file, or the demo vectors; with `wordless`, it need not have words."""
    from conceptor.vectors import open_vectors

    if str(path) == "demo" and not os.path.exists(path):
        from conceptor.data.demo import DemoSource

        return DemoSource()

    return open_vectors(
        path, on_error=on_error.action, replace_spaces=replace_spaces, wordless=wordless
    )


def open_or_demo(
    path: Path | None,
    on_error: opt.OnErrorChoice = opt.OnErrorChoice.error,
    *,
    wordless: bool = False,
) -> Vectors:
    """Open a vectors file, or the demo vectors if none is named."""
    if path is not None:
        return open_source(path, on_error, wordless=wordless)
    from conceptor.data.registry import demo_vectors
    from conceptor.vectors import WordVectors

    try:
        return WordVectors(*demo_vectors())  # indexed once, for all passes
    except MissingExtraError:
        purpose = f"no vectors file was named, and the default, {DEMO},"
        raise MissingExtraError(purpose, "demo") from None


def load_benchmarks(
    tasks: str | None,
    data: Path | None,
    *,
    offline: bool,
    kmeans: str,
    more: bool = True,
    pairs: Sequence[Path] | None = None,
    sentence_pairs: Sequence[Path] | None = None,
) -> Battery:
    """Load the benchmarks and report missing ones; raise if none is left.

    `more` is for benchmarks beyond the paper's if the user asks for none. The user's own pairs
    stand alone, or beside the tasks that were named.
    """
    from conceptor.evaluation import FAMILIES, PAPER_FAMILIES, Battery, load_battery
    from conceptor.evaluation.categorization import KMeansStart
    from conceptor.evaluation.own import read_own

    own = read_own(pairs or (), sentence_pairs or ())
    if own and tasks is None:
        return Battery(own)

    start = parse_choice(KMeansStart, kmeans, "--kmeans")
    families: Sequence[str] | None = None if more else PAPER_FAMILIES
    if tasks is not None:
        families = FAMILIES if tasks == "all" else split_list(tasks)
    with download_progress() as progress:
        battery = load_battery(families, data, start=start, offline=offline, progress=progress)
    if battery.missing:
        count, why = len(battery.missing), next(iter(battery.missing.values()))
        line = f"{count} benchmark files were not found and their tasks left out: {why}"
        typer.echo(f"conceptor: {line}", err=True)
    battery = replace(battery, tasks=[*battery.tasks, *own])
    if not battery.tasks:
        raise ConceptorError("no benchmark files were found; run: conceptor data fetch")
    return battery


def fetch_vocabulary(data: Path | None, *, offline: bool) -> None:
    """Download the vocabulary that methods are fitted on, so that every command finds it."""
    from conceptor.data.registry import fetch_all
    from conceptor.weights import PAPER_VOCABULARY

    with download_progress() as progress:
        fetch_all([PAPER_VOCABULARY], data, offline=offline, progress=progress)
