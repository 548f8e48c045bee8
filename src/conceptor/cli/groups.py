"""Groups of options, and the objects they describe: a method, a source, benchmarks.

A command uses a group as the type of a parameter, and `conceptor.cli.app.command` turns its fields
into options.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conceptor.base.errors import (
    InvalidInputError,
    MissingExtraError,
    Setting,
    printable,
)
from conceptor.cli import options as opt
from conceptor.cli.options import option, read_aperture
from conceptor.cli.output import (
    check_outputs,
    say_rows,
    show_tables,
    write_json,
    write_output,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conceptor.fitting import FitOptions
    from conceptor.lexicon.files import Lexicon
    from conceptor.methods import Method
    from conceptor.report.result import Result
    from conceptor.vectors import VectorSource
    from conceptor.vectors.vectors import Vectors

# The vectors that commands use by default.
_DEMO = "GloVe 6B 50d"
_PAPER = "cn-paper"
# The method for each purpose of --for.
_PURPOSES = {"words": "cn:lengths=unit", "sentences": "cn"}


@dataclass(frozen=True)
class MethodOptions:
    """A method and its parameters."""

    method: str | None = option(
        None,
        "A method that `conceptor methods` lists, such as cn, cn-paper or abtt. cn+counterfit "
        "applies cn, then counterfit; abtt:n_directions=3 sets a parameter.  "
        "\\[default: cn; cn:lengths=kept for a static model, gentle for rows without words]",
        "--method",
        metavar="NAME",
        autocompletion=opt.complete_method,
    )
    aperture: str | None = option(
        None,
        "Aperture α of cn, on the scale of the vectors; auto derives it from the spectrum.  "
        "\\[default: auto]",
        metavar="NUMBER|auto",
    )
    directions: int | None = option(
        None,
        "Number of directions that abtt removes or pvn flattens.  "
        "\\[default: abtt dimension/100, at least 2; pvn 11]",
    )
    dimensions: int | None = option(
        None,
        "Keep the N leading directions after the method: fewer dimensions.  "
        "\\[default: all; for ppa, half of them]",
        min=1,
        metavar="N",
    )
    power: float | None = option(None, "Exponent of ew.  \\[default: 0.5]")
    ridge: float | None = option(None, "Ridge of hsr.  \\[default: 50]")
    paper: bool = option(
        False, "Short for --method cn-paper: each common word counts once, α = 2.", "--paper"
    )

    def choose(
        self, vectors: Vectors | None, weights: str | None, purpose: str | None = None
    ) -> Method:
        """Return the method with its parameters; raise for parameters that it does not have.

        The default is the default method for `vectors`; without them, the one for words.
        """
        from conceptor.methods import Method

        if self.paper and any(x is not None for x in (self.method, self.aperture, weights)):
            raise InvalidInputError(
                "--paper already sets method, aperture and weights; remove --method, --aperture "
                "and --weights"
            )
        if purpose is not None and (self.paper or self.method is not None):
            raise InvalidInputError("--for already sets the method; remove --method and --paper")
        named = _PAPER if self.paper else self.method or (_PURPOSES[purpose] if purpose else None)
        if named is None and vectors is not None:
            chosen = Method.default_for(vectors)
        else:
            chosen = Method.parse(named or "cn")
        if self.dimensions is not None:
            chosen = chosen.with_dimensions(self.dimensions)
        if weights is not None:
            chosen.check_weighs()
        return self._set_parameters(chosen)

    def _set_parameters(self, chosen: Method) -> Method:
        given = {
            "aperture": None if self.aperture is None else read_aperture(self.aperture),
            "n_directions": self.directions,
            "power": self.power,
            "ridge": self.ridge,
        }
        parameters = {key: value for key, value in given.items() if value is not None}
        for key in parameters:
            if len(chosen.steps) == 1 and key not in chosen.steps[0].parameters:
                raise InvalidInputError(Setting(key), f" does not apply to {chosen}; remove it")
        return chosen.with_parameters(**parameters) if parameters else chosen


@dataclass(frozen=True)
class WeightOptions:
    """The words that methods are fitted on, and their weights."""

    weights: opt.Weights = None
    vocabulary: str | None = option(
        None,
        "Fit on these words only: a file with one word per line, or the first N words. All "
        "vectors are transformed.  \\[default: for methods that count each word once, "
        "the paper's list if found, else top:50000]",
        metavar="FILE|top:N",
    )
    function_words: str | None = option(
        None, "Function words for hsr.  \\[default: English ones]", metavar="FILE"
    )

    @property
    def files(self) -> list[str | None]:
        """The values that may be file names."""
        return [self.weights, self.vocabulary, self.function_words]

    def fit_options(self, lexicon: Lexicon | None = None, data: Path | None = None) -> FitOptions:
        """Return the options in the form that the library expects."""
        from conceptor.fitting import FitOptions

        return FitOptions(self.weights, self.vocabulary, lexicon, self.function_words, data)


@dataclass(frozen=True)
class LexiconOptions:
    """Files of synonyms and antonyms."""

    synonyms: list[Path] | None = option(
        None,
        "File with one pair of synonyms per line; repeatable.  "
        "\\[default in postprocess and compare: the paper's]",
        metavar="FILE",
    )
    antonyms: list[Path] | None = option(
        None,
        "File with one pair of antonyms per line; repeatable.  "
        "\\[default in postprocess and compare: the paper's]",
        metavar="FILE",
    )

    @property
    def files(self) -> list[Path]:
        """All files of both kinds."""
        return [*(self.synonyms or ()), *(self.antonyms or ())]

    def lexicon(self, data: Path | None = None, *, offline: bool = False) -> Lexicon | None:
        """Return the lexicon; None leaves the choice to the method."""
        if not (self.files or offline):
            return None
        from conceptor.lexicon.files import Lexicon

        return Lexicon(tuple(self.synonyms or ()), tuple(self.antonyms or ()), data, offline)


@dataclass(frozen=True)
class RowOptions:
    """How rows are read."""

    on_error: opt.OnErrorChoice = option(
        opt.OnErrorChoice.error,
        "For bad rows (ragged, not numeric, NaN, not UTF-8): stop, or skip them.",
    )
    column: str | None = option(
        None,
        "Column of a table that holds the vectors, or names or a pattern for one column per "
        "dimension, as in 'd*'. With shards, --weights column:NAME reads row weights from another "
        "column.  \\[default: the only column of lists, else columns named 0, d0, dim_0, x1, …]",
        metavar="NAME",
    )
    rows: opt.RowsChoice | None = option(
        None,
        "Whether rows are words or texts. [b]words[/b] count by frequency; [b]texts[/b] count "
        "equally, and their default method is gentle.  \\[default: words if the labels look like "
        "a vocabulary: mostly single words, without repeats]",
        "--rows",
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `open_vectors`."""
        action = "raise" if self.on_error is opt.OnErrorChoice.error else "skip"
        return {"on_error": action, "column": self.column, "rows": self.rows and self.rows.value}

    def open(
        self, path: str | Path, *, wordless: bool = False, says_kind: bool = True
    ) -> VectorSource:
        """Open a vectors file or the demo vectors; print whether rows are words or texts.

        With `wordless`, it need not have words.
        """
        from conceptor.vectors import open_vectors

        opened = open_vectors(path, wordless=wordless, **self.arguments)
        if says_kind:
            say_rows(opened)
        return opened

    def open_or_demo(
        self, path: str | Path | None, *, wordless: bool = True
    ) -> tuple[Vectors, str]:
        """Open a vectors file, or the demo vectors if none is named; return its name too."""
        from conceptor.vectors.files import is_demo

        if path is not None and not is_demo(path):
            return self.open(path, wordless=wordless), str(path)
        from conceptor.data.registry import demo_vectors
        from conceptor.vectors import WordVectors
        from conceptor.vectors.demo import DemoSource

        try:
            # Indexed once, for all passes; messages name them as the user did.
            return WordVectors(*demo_vectors(), origin=DemoSource()), _DEMO
        except MissingExtraError:
            unnamed = "no vectors file was named, and the default, " if path is None else ""
            raise MissingExtraError(f"{unnamed}{_DEMO},", "demo") from None


@dataclass(frozen=True)
class ReadOptions(RowOptions):
    """How vectors that will be written again are read."""

    replace_spaces: str | None = option(
        None, "Replace each space inside a word with CHAR.", metavar="CHAR"
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `open_vectors`."""
        return super().arguments | {"replace_spaces": self.replace_spaces}


@dataclass(frozen=True)
class TextOptions(RowOptions):
    """How rows of words or texts are read, and where their texts are."""

    texts: Path | None = option(None, "The texts of an array's rows, one per line.", metavar="FILE")

    def open_or_demo(
        self, path: str | Path | None, *, wordless: bool = True
    ) -> tuple[Vectors, str]:
        """Open vectors of words or texts, and return their name too."""
        if self.texts is None:
            return super().open_or_demo(path, wordless=wordless)
        if path is None or self.rows is opt.RowsChoice.words:
            why = "no vectors were named" if path is None else "--rows words was given"
            raise InvalidInputError(f"--texts {self.texts} needs vectors of texts, but {why}")
        if self.on_error is not opt.OnErrorChoice.error:
            raise InvalidInputError(
                "--on-error skip would leave out rows, so --texts would not match them; remove one"
            )
        from conceptor.vectors.texts import as_texts

        told = replace(self, rows=opt.RowsChoice.texts)
        return as_texts(told.open(path, wordless=True, says_kind=False), self.texts), str(path)


@dataclass(frozen=True)
class WriteOptions:
    """How vectors are written, and the summary."""

    format: str | None = option(
        None,
        "Format of OUT, if its extension does not show it.",
        metavar="NAME",
        autocompletion=opt.complete_format,
    )
    dtype: opt.DtypeChoice | None = option(
        None,
        "Number type of OUT. Types other than float32 need .npy, .safetensors, .parquet or "
        ".feather. int8 and binary (one bit per number) store a scale for each row.  "
        "\\[default: float32; for a static model, its own]",
    )
    force: opt.Force = False
    as_json: opt.SummaryJson = False

    def check(self, target: str) -> None:
        """Raise if JSON and vectors would be mixed on standard output."""
        if self.as_json and target == "-":
            raise InvalidInputError(
                "--json and the vectors would both go to standard output; write the vectors to a "
                "file"
            )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of functions that write vectors."""
        dtype = self.dtype.value if self.dtype else None
        return {"format": self.format, "dtype": dtype, "force": self.force}


@dataclass(frozen=True)
class ClusterOptions:
    """Where shards are processed."""

    scheduler: str | None = option(
        None, "Run on this Dask cluster, such as tcp://HOST:8786.", metavar="ADDRESS"
    )
    workers: int | None = option(
        None,
        "Process shards in this many local processes; --memory then limits each of them.  "
        "\\[default: one per processor]",
        min=1,
    )


@dataclass(frozen=True)
class ShowOptions:
    """The format of results, and where they go."""

    as_json: opt.Json = False
    as_markdown: bool = option(False, "Print Markdown.", "--markdown")
    as_csv: bool = option(False, "Print CSV, at full precision.", "--csv")
    as_latex: bool = option(
        False, "Print LaTeX tables (booktabs), with the best scores in bold.", "--latex"
    )
    as_html: bool = option(False, "Print a self-contained web page.", "--html")
    output: Path | None = option(
        None, "Write to this file instead of standard output.", "--output", "-o"
    )

    def check(self, inputs: Iterable[str | Path | None], figure: Path | None = None) -> None:
        """Raise, before any work, for several formats or a file that cannot be written."""
        forms = (self.as_json, self.as_markdown, self.as_csv, self.as_latex, self.as_html)
        if sum(forms) > 1:
            raise InvalidInputError("more than one output format was requested; choose one")
        check_outputs([self.output], inputs, figure)

    def show(self, found: Result) -> None:
        """Show a result; if it goes to a file, print the file name and the verdict."""
        if self.as_json:
            write_json(found.data, self.output)
        elif self.as_html:
            write_output(found.html(), self.output)
        elif self.as_csv:
            write_output(found.csv(), self.output)
        elif self.as_latex:
            write_output(found.latex(), self.output)
        elif self.as_markdown:
            write_output(found.markdown(), self.output)
        else:
            show_tables(found.tables, found.notes, found.closing, self.output)
        if self.output is not None:
            answer = f": {found.verdict}" if found.verdict else ""
            typer.echo(printable(f"conceptor: wrote {self.output}{answer}"), err=True)
