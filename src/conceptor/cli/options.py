"""The arguments and options that commands share; imported as `opt`."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

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

# Shards on a cluster.


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
