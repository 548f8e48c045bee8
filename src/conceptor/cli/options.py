"""The arguments and options that commands share, and how values are read; imported as `opt`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.concepts.lists import Apertures


_Value = TypeVar("_Value")

# How bad rows are handled, the kind of rows, the purpose of vectors, and number types.
OnErrorChoice = StrEnum("OnErrorChoice", ["error", "skip"])
RowsChoice = StrEnum("RowsChoice", ["words", "texts"])
PurposeChoice = StrEnum("PurposeChoice", ["words", "sentences"])
DtypeChoice = StrEnum("DtypeChoice", ["float32", "float16", "int8", "binary"])


def option(default: _Value, help: str, *flags: str, **settings: Any) -> _Value:  # noqa: ANN401
    """Return a field of a group: an option with its default, its help and its flags."""
    return field(default=default, metadata={"option": Option(*flags, help=help, **settings)})


def complete_method(incomplete: str) -> list[str]:
    """Complete names of methods in the shell, also after a comma or a plus sign."""
    from conceptor.algebra.recipes import METHODS
    from conceptor.methods import ORIGINAL

    return _complete(incomplete, [ORIGINAL, *METHODS], ",+")


def complete_task(incomplete: str) -> list[str]:
    """Complete families of benchmarks in the shell, also after a comma."""
    from conceptor.evaluation import FAMILIES
    from conceptor.evaluation.own import LANGUAGES

    return _complete(incomplete, [*FAMILIES, "all", *LANGUAGES], ",")


def complete_format(incomplete: str) -> list[str]:
    """Complete the formats that can be written, in the shell."""
    from conceptor.vectors.formats.registry import all_formats

    names = (each.name for each in all_formats() if each.is_written)
    return [name for name in names if name.startswith(incomplete)]


def _complete(incomplete: str, names: Sequence[str], separators: str) -> list[str]:
    last = max(incomplete.rfind(separator) for separator in separators) + 1
    return [incomplete[:last] + name for name in names if name.startswith(incomplete[last:])]


In = Annotated[
    str,
    Argument(
        metavar="IN",
        help="Vectors file or static model folder; - for text on stdin, demo for GloVe 6B 50d.",
    ),
]
Out = Annotated[str, Argument(metavar="OUT", help="File or folder to write; - for text on stdout.")]
Vectors = Annotated[
    Path | None,
    Argument(
        help="Vectors file or static model folder; demo for GloVe 6B 50d, from the demo "
        "extra.  \\[default: demo]"
    ),
]

# Methods and their parameters.
Methods = Annotated[
    str | None,
    Option(
        autocompletion=complete_method,
        help="Comma-separated list of methods (`conceptor methods` lists them), or [b]all[/b] "
        "that need only vectors. [b]cn+counterfit[/b] applies cn, then counterfit; "
        "[b]abtt:n_directions=3[/b] sets a parameter.  \\[default: original and the usual methods "
        "for words, or for texts]",
    ),
]
Purpose = Annotated[
    PurposeChoice | None,
    Option(
        "--for",
        help="Purpose of the vectors. The default serves both [b]words[/b] and "
        "[b]sentences[/b]: it makes frequent words short, which affects only averages. "
        "[b]words[/b] is short for --method cn:lengths=unit, which makes all lengths 1.",
    ),
]
Weights = Annotated[
    str | None,
    Option(
        metavar="uniform|zipf|wordfreq:LANG|FILE",
        help="Word frequencies for cn and zipf-whitening: all equal; 1/(rank + 2.7) by rank in "
        "the file; frequencies of a language; or a file of 'word count' lines.  "
        "\\[default: counts in the file (fastText .bin has them); zipf if it is sorted by "
        "frequency; else Wikipedia counts if found, wordfreq if installed, or uniform]",
    ),
]

# Reading and writing vectors.
SaveMap = Annotated[str | None, Option(metavar="MAP", help="Also save the map to this file.")]
Memory = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Keep decoded vectors between passes if they fit in this size, e.g. 100MB or 8GB.  "
        "\\[default: a quarter of the machine's memory]",
    ),
]
Force = Annotated[bool, Option("--force", help="Replace existing files.")]
SummaryJson = Annotated[bool, Option("--json", help="Print the final summary as JSON on stdout.")]

# Benchmarks and their results.
Background = Annotated[
    Path | None,
    Option(
        metavar="MAP",
        help="Compare the cosines of texts with the random pairs saved with this map, "
        "for a single method.  \\[default: random pairs of the rows]",
    ),
]
Data = Annotated[
    Path | None,
    Option(
        help="Directory with the benchmark files.  \\[default: $CONCEPTOR_DATA, then installed "
        "packages, the cache, the network]",
        metavar="DIR",
    ),
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]


_Choice = TypeVar("_Choice", bound=StrEnum)


def split_list(names: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in names.split(",") if name.strip()]


def read_methods(names: str) -> list[str]:
    """Split a list of methods; `all` means all that need only vectors."""
    from conceptor.methods import ORIGINAL, spectral_methods

    return [ORIGINAL, *spectral_methods()] if names == "all" else split_list(names)


def parse_choice(kind: type[_Choice], value: str, option: str) -> _Choice:
    """Return the member with this value, or raise an error that lists all members."""
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
