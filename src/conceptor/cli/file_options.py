"""The options that the commands from file to file share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import typer

from conceptor.base.errors import InvalidInputError


class OnError(StrEnum):
    """What happens to bad rows."""

    error = "error"
    skip = "skip"


class Dtype(StrEnum):
    """How numbers are stored."""

    float32 = "float32"
    float16 = "float16"


In = Annotated[str, typer.Argument(metavar="IN", help="Vectors file; - for text on stdin.")]
Out = Annotated[str, typer.Argument(metavar="OUT", help="File to write; - for text on stdout.")]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="cn, cn-paper, abtt, whitening, zipf-whitening, pvn, hsr, ppa, ew; with a lexicon "
        "counterfit, counterfit-syn, counterfit-ant, retrofit. cn+counterfit is one after the "
        "other, abtt:n_directions=3 sets a parameter. `conceptor methods` explains them.  "
        "\\[default: cn]",
    ),
]
Aperture = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="Aperture α of cn, on the scale of the vectors, or chosen from the spectrum.  "
        "\\[default: auto]",
    ),
]
Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="Short for --method cn-paper: common words count once each, α = 2.",
    ),
]
Directions = Annotated[
    int | None,
    typer.Option(
        help="Directions that abtt drops or pvn levels.  \\[default: dimension/100, at least 2]"
    ),
]
Power = Annotated[float | None, typer.Option(help="Exponent of ew.  \\[default: 0.5]")]
Ridge = Annotated[float | None, typer.Option(help="Ridge of hsr.  \\[default: 50]")]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="uniform|zipf|wordfreq:LANG|FILE",
        help="How often words are used, for cn and zipf-whitening: the same; 1/(rank + 2.7) by "
        "their rank in the file; their frequency in a language; or a file of 'word count' lines.  "
        "\\[default: zipf in a file sorted by frequency; else Wikipedia's counts where found, "
        "wordfreq where installed, or uniform]",
    ),
]
Vocabulary = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|top:N",
        help="Fit on these words only: a file with one word per line, or the first N of the "
        "vectors. All vectors are transformed all the same.  \\[default: for methods that count "
        "each word once, the paper's list where found, else top:50000]",
    ),
]
FunctionWords = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Function words for hsr.  \\[default: English ones]"),
]
SaveMap = Annotated[str | None, typer.Option(metavar="MAP", help="Also save the map here.")]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Keep decoded vectors between the passes if they fit, e.g. 100MB or 8GB.  "
        "\\[default: a quarter of the machine's]",
    ),
]
Format = Annotated[
    str | None, typer.Option(metavar="NAME", help="Format of OUT, where its name does not say.")
]
DtypeOption = Annotated[Dtype, typer.Option(help="How OUT stores numbers.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
OnErrorOption = Annotated[
    OnError, typer.Option(help="Bad rows (ragged, not numeric, NaN, not UTF-8): stop, or skip.")
]
ReplaceSpaces = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Put CHAR for each space inside a word.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the closing figures as JSON on stdout.")]


def read_aperture(text: str, option: str = "--aperture") -> float | Literal["auto"]:
    """Read a number, or `auto`."""
    if text == "auto":
        return "auto"
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise InvalidInputError(f"{option} is a number from 0 to inf, or auto, not {text}")
    return value
