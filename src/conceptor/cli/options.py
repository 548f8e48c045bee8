"""The arguments and options that commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from conceptor.fit import FitOptions
    from conceptor.vectors.vectors import Vectors as AnyVectors

OnErrorChoice = StrEnum("OnErrorChoice", ["error", "skip"])
RowsChoice = StrEnum("RowsChoice", ["words", "texts"])
PurposeChoice = StrEnum("PurposeChoice", ["words", "sentences"])
DtypeChoice = StrEnum("DtypeChoice", ["float32", "float16", "int8", "binary"])
MissingChoice = StrEnum("MissingChoice", ["skip", "lowercase", "zero"])
# Number types of static models.
ModelDtype = StrEnum("ModelDtype", ["float32", "float16", "int8"])

# The method for each purpose of --for.
_PURPOSES = {"words": "cn:lengths=unit", "sentences": "cn"}


def _complete(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete a name in the shell, also after a comma."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]


def complete_method(incomplete: str) -> list[str]:
    """Complete names of methods."""
    from conceptor.methods import METHODS

    return _complete(incomplete, METHODS)


def complete_task(incomplete: str) -> list[str]:
    """Complete families of benchmarks."""
    from conceptor.evaluation import FAMILIES

    return _complete(incomplete, [*FAMILIES, "all"])


def complete_format(incomplete: str) -> list[str]:
    """Complete the formats that can be written."""
    from conceptor.vectors.formats import all_formats

    return _complete(incomplete, [each.name for each in all_formats() if not each.is_folder])


# Vectors in and out.
In = Annotated[
    str,
    Argument(
        metavar="IN",
        help="Vectors file or static model folder; - for text on stdin, demo for GloVe 6B 50d.",
    ),
]
Out = Annotated[str, Argument(metavar="OUT", help="File or folder to write; - for text on stdout.")]
Vectors = Annotated[
    str,
    Argument(help="Vectors file or static model folder; demo for GloVe 6B 50d (demo extra)."),
]
OnError = Annotated[
    OnErrorChoice,
    Option(help="For bad rows (ragged, not numeric, NaN, not UTF-8): stop, or skip them."),
]
Column = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Column of a table that holds the vectors, or names or a pattern for one column per "
        "dimension, as in 'd*'.  \\[default: the only column of lists, else columns named 0, d0, "
        "dim_0, x1, …]",
    ),
]
Rows = Annotated[
    RowsChoice | None,
    Option(
        "--rows",
        help="Whether rows are words or texts. [b]words[/b] count by frequency; [b]texts[/b] count "
        "equally, and their default method is gentle.  \\[default: words if the labels look like "
        "a vocabulary: mostly single words, without repeats]",
    ),
]
Texts = Annotated[
    Path | None, Option(metavar="FILE", help="The texts of an array's rows, one per line.")
]
ReplaceSpaces = Annotated[
    str | None, Option(metavar="CHAR", help="Replace each space inside a word with CHAR.")
]
Format = Annotated[
    str | None,
    Option(
        metavar="NAME",
        autocompletion=complete_format,
        help="Format of OUT, if its extension does not show it.",
    ),
]
Dtype = Annotated[
    DtypeChoice | None,
    Option(
        help="Number type of OUT. Types other than float32 need .npy, .safetensors, .parquet or "
        ".feather. int8 and binary (one bit per number) store a scale for each row.  "
        "\\[default: float32; for a static model, its own]"
    ),
]
Force = Annotated[bool, Option("--force", help="Replace existing files.")]
SaveMap = Annotated[str | None, Option(metavar="MAP", help="Also save the map to this file.")]
Memory = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Keep decoded vectors between passes if they fit in this size, e.g. 100MB or 8GB.  "
        "\\[default: a quarter of the machine's memory]",
    ),
]
SummaryJson = Annotated[bool, Option("--json", help="Print the final summary as JSON on stdout.")]

# Methods, their parameters, and what they are fitted on.
OneMethod = Annotated[
    str | None,
    Option(
        "--method",
        metavar="NAME",
        autocompletion=complete_method,
        help="A method that `conceptor methods` lists, such as cn, cn-paper or abtt; "
        "abtt:n_directions=3 sets a parameter.  \\[default: cn; cn:lengths=kept for a static "
        "model, gentle for rows without words]",
    ),
]
Methods = Annotated[
    str | None,
    Option(
        autocompletion=complete_method,
        help="Comma-separated list of methods (`conceptor methods` lists them), or [b]all[/b]. "
        "[b]abtt:n_directions=3[/b] sets a parameter.  \\[default: original and the usual methods "
        "for words, or for texts]",
    ),
]
Aperture = Annotated[
    str | None,
    Option(
        metavar="NUMBER|auto",
        help="Aperture α of cn, on the scale of the vectors; auto derives it from the spectrum.  "
        "\\[default: auto]",
    ),
]
Dimensions = Annotated[
    int | None,
    Option(
        min=1,
        metavar="N",
        help="Keep the N leading directions after the method: fewer dimensions.  "
        "\\[default: all; for ppa, half of them]",
    ),
]
Paper = Annotated[
    bool,
    Option("--paper", help="Short for --method cn-paper: each common word counts once, α = 2."),
]
Purpose = Annotated[
    PurposeChoice | None,
    Option(
        "--for",
        help="Purpose of the vectors. The default serves both [b]words[/b] and "
        "[b]sentences[/b]: it makes frequent words short, which affects only averages. "
        "[b]words[/b] is short for --method cn:lengths=unit.",
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
Vocabulary = Annotated[
    str | None,
    Option(
        metavar="FILE|top:N",
        help="Fit on these words only: a file with one word per line, or the first N words. All "
        "vectors are transformed.  \\[default: for methods that count each word once, "
        "the paper's list if found, else top:50000]",
    ),
]
FunctionWords = Annotated[
    str | None,
    Option(metavar="FILE", help="Function words for hsr.  \\[default: English ones]"),
]

# Benchmarks and results.
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
        metavar="DIR",
        help="Directory with the benchmark files.  \\[default: $CONCEPTOR_DATA, then installed "
        "packages, the cache, the network]",
    ),
]
Offline = Annotated[bool, Option("--offline", help="Do not use the network.")]
Tasks = Annotated[
    str | None,
    Option(
        autocompletion=complete_task,
        help="Comma-separated list of similarity, sts, categorization, synonyms, analogy, "
        "retrieval, classification, sts-b; or [b]all[/b]; in other languages similarity-de, "
        "similarity-it, similarity-ru.  \\[default: the first three, and those of the "
        "next three whose files are found]",
    ),
]
Missing = Annotated[
    MissingChoice,
    Option(
        help="Items with out-of-vocabulary words: [b]skip[/b] them, try [b]lowercase[/b] first, or "
        "score them [b]zero[/b]."
    ),
]
Pairs = Annotated[
    list[Path] | None,
    Option(
        help="Your own pairs of words, in any language, or of texts: a file of 'word, word, score' "
        "lines, separated by tabs (or by commas in .csv files); repeatable. Runs only these pairs "
        "unless --tasks adds benchmarks."
    ),
]
SentencePairs = Annotated[
    list[Path] | None,
    Option(
        "--sentence-pairs",
        help="Your own sentence pairs: lines of 'sentence, sentence, score', as in --pairs.",
    ),
]
Resamples = Annotated[
    int, Option(min=0, help="Resamples of the paired bootstrap; 0 for no intervals.")
]
Seed = Annotated[int, Option(min=0, help="Seed of the paired bootstrap.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Csv = Annotated[bool, Option("--csv", help="Print CSV, at full precision.")]
Html = Annotated[bool, Option("--html", help="Print a self-contained web page.")]
Markdown = Annotated[bool, Option("--markdown", help="Print Markdown.")]
Latex = Annotated[
    bool, Option("--latex", help="Print LaTeX tables (booktabs), with the best scores in bold.")
]
Output = Annotated[
    Path | None, Option("--output", "-o", help="Write to this file instead of standard output.")
]


def split_list(names: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in names.split(",") if name.strip()]


def read_methods(names: str) -> list[str]:
    """Split a list of methods; `all` means all of them."""
    from conceptor.methods import METHODS

    return list(METHODS) if names == "all" else split_list(names)


def read_aperture(text: str) -> float | Literal["auto"]:
    """Read a number, or `auto`."""
    with suppress(ValueError):
        if text == "auto" or float(text) >= 0:
            return "auto" if text == "auto" else float(text)
    raise InvalidInputError(f"--aperture is {text}; it must be auto or a number from 0 to inf")


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


def read_method(
    method: str | None,
    *,
    aperture: str | None,
    dimensions: int | None,
    paper: bool,
    purpose: PurposeChoice | None = None,
    weights: str | None,
) -> tuple[str | None, dict[str, Any]]:
    """Return the method, None for the default, and the parameters that options set."""
    if paper and any(each is not None for each in (method, aperture, weights)):
        raise InvalidInputError(
            "--paper already sets method, aperture and weights; remove --method, --aperture and "
            "--weights"
        )
    if purpose is not None and (paper or method is not None):
        raise InvalidInputError("--for already sets the method; remove --method and --paper")
    name = "cn-paper" if paper else method or (_PURPOSES[purpose] if purpose else None)
    parameters: dict[str, Any] = {}
    if aperture is not None:
        parameters["aperture"] = read_aperture(aperture)
    if dimensions is not None:
        parameters["n_components"] = dimensions
    return name, parameters


def fit_options(
    weights: str | None = None,
    vocabulary: str | None = None,
    function_words: str | None = None,
    data: Path | None = None,
) -> FitOptions:
    """Return the options for fitting in the form that the library expects."""
    from conceptor.fit import FitOptions

    return FitOptions(weights, vocabulary, function_words, data)


def open_source(
    path: str,
    on_error: OnErrorChoice = OnErrorChoice.error,
    column: str | None = None,
    rows: RowsChoice | None = None,
    *,
    texts: Path | None = None,
    replace_spaces: str | None = None,
    quiet: bool = False,
    folders: bool = False,
) -> AnyVectors:
    """Open a vectors file or the demo vectors; print whether rows are words or texts.

    With `folders`, also shards and spaCy pipelines.
    """
    from conceptor.cli.output import note
    from conceptor.integrations.sources import open_source as open_any
    from conceptor.vectors.files import open_vectors
    from conceptor.vectors.texts import as_texts

    if texts is not None and rows is RowsChoice.words:
        raise InvalidInputError(f"--texts {texts} needs vectors of texts; remove --rows words")
    if texts is not None and on_error is OnErrorChoice.skip:
        raise InvalidInputError(
            "--on-error skip would leave out rows, so --texts would not match them; remove one"
        )
    opened = (open_any if folders else open_vectors)(
        path,
        on_error="raise" if on_error is OnErrorChoice.error else "skip",
        column=column,
        rows="texts" if texts else rows and rows.value,
        replace_spaces=replace_spaces,
    )
    if texts is not None:
        return as_texts(opened, texts)
    if not quiet and (line := opened.describe_kind()):
        note(line)
    return opened
