"""The options that the commands from file to file share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import typer

from conceptor.errors import InvalidInputError


class Method(StrEnum):
    """How vectors are post-processed."""

    cn = "cn"
    abtt = "abtt"
    ew = "ew"
    whiten = "whiten"
    pvn = "pvn"
    hsr = "hsr"


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
    Method,
    typer.Option(
        help="cn: conceptor negation; abtt: all-but-the-top; ew: eigenvalue weighting; "
        "whiten: ZCA whitening; pvn: variance normalisation; hsr: half-sibling regression on "
        "the function words given by --vocabulary."
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
        help="The paper's own settings of cn: words of its list (where at hand) count the same, "
        "α = 2.",
    ),
]
Directions = Annotated[
    int | None,
    typer.Option(help="Directions that abtt drops or pvn levels.  \\[default: dimension/100]"),
]
Power = Annotated[float | None, typer.Option(help="Exponent of ew.  \\[default: 0.5]")]
Ridge = Annotated[float | None, typer.Option(help="Ridge of hsr.  \\[default: 50]")]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="uniform|zipf|wordfreq:LANG|FILE",
        help="What words weigh: the same; 1/(rank + 2.7) by their rank in the file; their "
        "frequency in a language; or a file of 'word count' lines.  \\[default: zipf for cn in a "
        "file sorted by frequency, else uniform]",
    ),
]
Vocabulary = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|top:N",
        help="Estimate on these words only: a file, one word a line, or the first N of the "
        "vectors. All vectors are transformed all the same.",
    ),
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
