"""The arguments and options that commands share, and how their values are read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from conceptor.base.errors import ConceptorError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.base.progress import Progress
    from conceptor.evaluation import Battery
    from conceptor.methods import Method
    from conceptor.vectors.vectors import Vectors as AnyVectors

# The panel of options that `--help` leaves out and `--help-all` shows.
MORE = "More options"


def more(*names: str, **settings: Any) -> Any:  # noqa: ANN401
    """Return an option that only `--help-all` shows."""
    return Option(*names, rich_help_panel=MORE, **settings)


# Vectors in and out.
_IN = "Vectors file or static model folder; - for text on stdin, demo for GloVe 6B 50d."
In = Annotated[str, Argument(metavar="IN", help=_IN)]
Out = Annotated[str, Argument(metavar="OUT", help="File or folder to write; - for text on stdout.")]
_VECTORS = "Vectors file, static model folder or shards; demo for GloVe 6B 50d (demo extra)."
Vectors = Annotated[str, Argument(metavar="VECTORS", help=_VECTORS)]
_ON_ERROR = "For bad rows (ragged, not numeric, NaN, not UTF-8): stop, or skip them."
OnError = Annotated[Literal["raise", "skip"], more(help=_ON_ERROR)]
Column = Annotated[
    str | None,
    more(
        metavar="NAME",
        help="Column of a table with the vectors, or a pattern for a column per dimension, as in "
        "'d*'.  [default: the only column of lists, else columns named 0, d0, dim_0, x1, …]",
    ),
]
Rows = Annotated[
    Literal["words", "texts"] | None,
    more(
        help="Words count by frequency; texts count equally, and their default method is gentle.  "
        "[default: words if the labels are mostly single words, without repeats]"
    ),
]
Texts = Annotated[
    Path | None, Option(metavar="FILE", help="The texts of an array's rows, one per line.")
]
ReplaceSpaces = Annotated[
    str | None, more(metavar="CHAR", help="Replace each space inside a word with CHAR.")
]
Format = Annotated[
    str | None, Option(metavar="NAME", help="Format of OUT, if its extension does not show it.")
]
Dtype = Annotated[
    Literal["float32", "float16", "int8", "binary"] | None,
    Option(
        metavar="float32|float16|int8|binary",
        help="Number type of OUT. float16 needs .npy, .parquet or .feather; int8 and "
        "binary (one bit per number, with a scale for each row) need .npy.  "
        "[default: float32; for a static model, its own]",
    ),
]
Force = Annotated[bool, Option("--force", help="Replace existing files.")]
SaveMap = Annotated[str | None, Option(metavar="MAP", help="Also save the map to this file.")]
SummaryJson = Annotated[bool, Option("--json", help="Print the final summary as JSON on stdout.")]

# Methods, and what they are fitted on.
OneMethod = Annotated[
    str | None,
    Option(
        "--method",
        metavar="NAME",
        help="A method of `conceptor methods`; cn:aperture=2 sets a parameter.  [default: cn; "
        "cn:lengths=kept for a static model, gentle for rows without words]",
    ),
]
Methods = Annotated[
    str | None,
    Option(
        metavar="NAME,...",
        help="Methods of `conceptor methods`, or all; abtt:n_directions=3 sets a parameter.  "
        "[default: original and the usual methods for words, or for texts]",
    ),
]
_DIMENSIONS = "Keep the N leading directions after the method.  [default: all; for ppa, half]"
Dimensions = Annotated[int | None, Option(min=1, metavar="N", help=_DIMENSIONS)]
Weights = Annotated[
    str | None,
    Option(
        metavar="uniform|zipf|wordfreq:LANG|FILE",
        help="Word frequencies for cn and zipf-whitening: all equal; 1/(rank + 2.7) by rank in "
        "the file; frequencies of a language; or a file of 'word count' lines.  "
        "[default: counts in the file (fastText .bin has them); zipf if it is sorted by "
        "frequency; else Wikipedia counts if found, wordfreq if installed, or uniform]",
    ),
]
Vocabulary = Annotated[
    str | None,
    more(
        metavar="FILE|top:N",
        help="Fit on these words only, of a file or the first N.  [default: for methods that count "
        "each word once, the paper's list if found, else top:50000]",
    ),
]

# Benchmarks and results.
_DATA = "Directory with the benchmark files.  [default: $CONCEPTOR_DATA, packages, cache, network]"
Data = Annotated[Path | None, more(metavar="DIR", help=_DATA)]
Offline = Annotated[bool, more("--offline", help="Do not use the network.")]
Tasks = Annotated[
    str | None,
    Option(
        metavar="NAME,...",
        help="Benchmarks: similarity, sts, categorization, synonyms, analogy, retrieval, "
        "classification, sts-b, or all; similarity-de, similarity-it, similarity-ru.  [default: "
        "the first three, and those of the next three whose files are found]",
    ),
]
Lowercase = Annotated[
    bool, more("--lowercase", help="Also look up words without a vector in lower case.")
]
Pairs = Annotated[
    list[Path] | None,
    Option(
        metavar="FILE",
        help="Your own pairs of words or texts: lines of 'word, word, score', separated by tabs "
        "(or by commas in .csv files); repeatable. Only these, unless --tasks adds benchmarks.",
    ),
]
_SENTENCE_PAIRS = "Your own sentence pairs: lines of 'sentence, sentence, score', as in --pairs."
SentencePairs = Annotated[list[Path] | None, Option(metavar="FILE", help=_SENTENCE_PAIRS)]
Resamples = Annotated[
    int, more(min=0, metavar="N", help="Resamples of the paired bootstrap; 0 for no intervals.")
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
_OUTPUT = "Write to this file; .json, .csv, .html, .md and .tex choose the form."
Output = Annotated[Path | None, Option("--output", "-o", metavar="FILE", help=_OUTPUT)]


def split_list(names: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in names.split(",") if name.strip()]


def read_methods(names: str) -> dict[str, Method]:
    """Return the methods of a list; `all` means all of them."""
    from conceptor.methods import METHODS, as_methods

    return as_methods(METHODS if names == "all" else split_list(names))


def read_size(size: str) -> int:
    """Read 100MB, 2GB, 1.5g or plain bytes."""
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    text = size.strip().lower().removesuffix("b")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "")
    with suppress(ValueError, OverflowError):
        if (value := int(float(number) * units[unit])) >= 0:
            return value
    raise InvalidInputError(f"--memory is {size}; it must be a size such as 100MB or 8GB")


def open_source(source: str, **how: Any) -> AnyVectors:  # noqa: ANN401
    """Open vectors of any kind; print whether rows are words or texts if that is not clear."""
    from conceptor.cli.output import note
    from conceptor.integrations.sources import open_source as open_any

    opened = open_any(source, **how)
    if line := opened.describe_kind():
        note(line)
    return opened


def load_benchmarks(
    tasks: str | None,
    data: Path | None,
    pairs: Sequence[Path] | None = None,
    sentence_pairs: Sequence[Path] | None = None,
    *,
    offline: bool,
    progress: Progress,
) -> Battery:
    """Load the named benchmarks and the user's own pairs; missing files are reported, not fatal.

    Own pairs without named benchmarks are loaded alone.
    """
    from conceptor.cli.output import note
    from conceptor.evaluation import FAMILIES, Battery, load_battery
    from conceptor.evaluation.battery import read_own

    own = read_own(pairs or (), sentence_pairs or ())
    if own and tasks is None:
        return Battery(own)
    families = FAMILIES if tasks == "all" else tasks and split_list(tasks)
    battery = load_battery(families, data, offline=offline, progress=progress)
    if battery.missing:
        count, reason = len(battery.missing), next(iter(battery.missing.values()))
        note(f"{count} benchmark files were not found, so their tasks are left out: {reason}")
    battery = replace(battery, tasks=[*battery.tasks, *own])
    if not battery.tasks:
        raise ConceptorError("no benchmark files were found; run: conceptor data fetch")
    return battery


def fetch_vocabulary(data: Path | None, *, offline: bool, progress: Progress) -> None:
    """Download the vocabulary for fitting, so that every command finds it."""
    from conceptor.data.registry import MissingDataError, fetch
    from conceptor.data.word_lists import PAPER_VOCABULARY

    with suppress(MissingDataError):
        fetch(PAPER_VOCABULARY, data, offline=offline, progress=progress)
