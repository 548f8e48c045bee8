"""The arguments and options that commands share; imported as `opt`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

# How bad rows are handled, the kind of rows, the purpose of vectors, and number types.
OnErrorChoice = StrEnum("OnErrorChoice", ["error", "skip"])
RowsChoice = StrEnum("RowsChoice", ["words", "texts"])
PurposeChoice = StrEnum("PurposeChoice", ["words", "sentences"])
DtypeChoice = StrEnum("DtypeChoice", ["float32", "float16", "int8", "binary"])


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
Method = Annotated[
    str | None,
    Option(
        "--method",
        metavar="NAME",
        autocompletion=complete_method,
        help="A method that `conceptor methods` lists, such as cn, cn-paper or abtt. cn+counterfit "
        "applies cn, then counterfit; abtt:n_directions=3 sets a parameter.  "
        "\\[default: cn; cn:lengths=kept for a static model, gentle for rows without words]",
    ),
]
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
Aperture = Annotated[
    str | None,
    Option(
        metavar="NUMBER|auto",
        help="Aperture α of cn, on the scale of the vectors; auto derives it from the spectrum.  "
        "\\[default: auto]",
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
        "[b]words[/b] is short for --method cn:lengths=unit, which makes all lengths 1.",
    ),
]
Directions = Annotated[
    int | None,
    Option(
        help="Number of directions that abtt removes or pvn flattens.  "
        "\\[default: abtt dimension/100, at least 2; pvn 11]"
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
Power = Annotated[float | None, Option(help="Exponent of ew.  \\[default: 0.5]")]
Ridge = Annotated[float | None, Option(help="Ridge of hsr.  \\[default: 50]")]
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
    str | None, Option(metavar="FILE", help="Function words for hsr.  \\[default: English ones]")
]
Synonyms = Annotated[
    list[Path] | None,
    Option(
        metavar="FILE",
        help="File with one pair of synonyms per line; repeatable.  "
        "\\[default in postprocess and compare: the paper's]",
    ),
]
Antonyms = Annotated[
    list[Path] | None,
    Option(
        metavar="FILE",
        help="File with one pair of antonyms per line; repeatable.  "
        "\\[default in postprocess and compare: the paper's]",
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
OnError = Annotated[
    OnErrorChoice,
    Option(help="For bad rows (ragged, not numeric, NaN, not UTF-8): stop, or skip them."),
]
ReplaceSpaces = Annotated[
    str | None, Option(metavar="CHAR", help="Replace each space inside a word with CHAR.")
]
SummaryJson = Annotated[bool, Option("--json", help="Print the final summary as JSON on stdout.")]

# Shards on a cluster.
Scheduler = Annotated[
    str | None, Option(metavar="ADDRESS", help="Run on this Dask cluster, such as tcp://HOST:8786.")
]
Workers = Annotated[
    int | None,
    Option(
        min=1,
        help="Process shards in this many local processes; --memory then limits each of them.  "
        "\\[default: one per processor]",
    ),
]
Column = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Column of a table that holds the vectors, or names or a pattern for one column per "
        "dimension, as in 'd*'. With shards, --weights column:NAME reads row weights from another "
        "column.  \\[default: the only column of lists, else columns named 0, d0, dim_0, x1, …]",
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

# Benchmarks and their results.
Tasks = Annotated[
    str | None,
    Option(
        autocompletion=complete_task,
        help="Comma-separated list of similarity, sts, categorization, neighbours, analogy, "
        "retrieval, classification, sts-b; or [b]all[/b]; in other languages similarity-de, "
        "similarity-it, similarity-ru.  \\[default: the first three, and those of the "
        "next three whose files are found]",
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
Texts = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="The texts of an array's rows, one per line.",
    ),
]
Background = Annotated[
    Path | None,
    Option(
        metavar="MAP",
        help="Compare the cosines of texts with the random pairs saved with this map, "
        "for a single method.  \\[default: random pairs of the rows]",
    ),
]
Queries = Annotated[
    Path | None,
    Option(
        metavar="VECTORS",
        help="For rows of texts: vectors of your queries from the same model; with --relevant.",
    ),
]
Relevant = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="The rows that are relevant to each query: lines of 'query row' or 'query row "
        "grade'; numbers from 1, or texts separated by tabs.",
    ),
]
Sizes = Annotated[
    str | None,
    Option(
        metavar="N,...",
        help="For rows of texts: numbers of dimensions.  \\[default: all, half, a quarter]",
    ),
]
Dtypes = Annotated[
    str | None,
    Option(
        metavar="NAME,...",
        help="For rows of texts: float32, float16, int8, binary.  \\[default: int8 at each size, "
        "binary at full size]",
    ),
]
SentencePairs = Annotated[
    list[Path] | None,
    Option(
        "--sentences-pairs",
        help="Your own sentence pairs: lines of 'sentence, sentence, score', as in --pairs.",
    ),
]
Resamples = Annotated[
    int, Option(min=0, help="Resamples of the paired bootstrap; 0 for no intervals.")
]
Seed = Annotated[int, Option(min=0, help="Seed of the paired bootstrap.")]
Missing = Annotated[
    str,
    Option(
        help="Items with out-of-vocabulary words: [b]skip[/b] them, try [b]lowercase[/b] first, or "
        "score them [b]zero[/b]."
    ),
]
Kmeans = Annotated[
    str,
    Option(
        help="Initial centroids of k-means: means of the [b]categories[/b] (the paper's choice; it "
        "uses the labels) or k-means++ ([b]plusplus[/b]) with 50 starts."
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
Offline = Annotated[bool, Option("--offline", help="Do not use the network.")]
ByTask = Annotated[bool, Option("--by-task", help="Show each STS task instead of years.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Markdown = Annotated[bool, Option("--markdown", help="Print Markdown.")]
Csv = Annotated[bool, Option("--csv", help="Print CSV, at full precision.")]
Latex = Annotated[
    bool, Option("--latex", help="Print LaTeX tables (booktabs), with the best scores in bold.")
]
Html = Annotated[bool, Option("--html", help="Print a self-contained web page.")]
Output = Annotated[
    Path | None, Option("--output", "-o", help="Write to this file instead of standard output.")
]
