"""Groups of options, and the objects they describe: a method, a source, benchmarks.

A command uses a group as the type of a parameter, and `conceptor.cli.app.command` turns its fields
into options.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conceptor.base.errors import ConceptorError, InvalidInputError, Setting, printable
from conceptor.cli import options as opt
from conceptor.cli.bars import download_progress
from conceptor.cli.inputs import open_source, parse_choice, read_aperture, split_list
from conceptor.cli.output import check_outputs, show_tables, warn, write_json, write_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conceptor.evaluation import Battery, Missing, Task
    from conceptor.fitting import FitOptions
    from conceptor.lexicon.files import Lexicon
    from conceptor.methods import Method
    from conceptor.report.result import Result
    from conceptor.vectors import VectorSource
    from conceptor.vectors.vectors import Vectors

_PAPER = "cn-paper"
# With fewer pairs, confidence intervals are too wide to be useful.
_FEW_PAIRS = 30
# The method for each purpose of --for.
_PURPOSES = {"words": "cn:lengths=unit", "sentences": "cn"}


@dataclass(frozen=True)
class MethodOptions:
    """A method and its parameters."""

    method: opt.Method = None
    aperture: opt.Aperture = None
    directions: opt.Directions = None
    dimensions: opt.Dimensions = None
    power: opt.Power = None
    ridge: opt.Ridge = None
    paper: opt.Paper = False

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
    vocabulary: opt.Vocabulary = None
    function_words: opt.FunctionWords = None

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

    synonyms: opt.Synonyms = None
    antonyms: opt.Antonyms = None

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
class ReadOptions:
    """How vectors are read."""

    on_error: opt.OnError = opt.OnErrorChoice.error
    replace_spaces: opt.ReplaceSpaces = None
    column: opt.Column = None
    rows: opt.Rows = None

    def open(
        self, path: str | Path, *, wordless: bool = False, says_kind: bool = True
    ) -> VectorSource:
        """Open a vectors file or the demo vectors; print whether rows are words or texts."""
        return open_source(
            path,
            self.on_error,
            self.replace_spaces,
            wordless=wordless,
            column=self.column,
            rows=self.rows,
            says_kind=says_kind,
        )


@dataclass(frozen=True)
class WriteOptions:
    """How vectors are written."""

    format: opt.Format = None
    dtype: opt.Dtype = None
    force: opt.Force = False

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of functions that write vectors."""
        dtype = self.dtype.value if self.dtype else None
        return {"format": self.format, "dtype": dtype, "force": self.force}


@dataclass(frozen=True)
class ClusterOptions:
    """Where shards are processed."""

    scheduler: opt.Scheduler = None
    workers: opt.Workers = None


@dataclass(frozen=True)
class DataOptions:
    """Where benchmark files come from."""

    data: opt.Data = None
    offline: opt.Offline = False

    def fetch_vocabulary(self, *, required: bool = False) -> None:
        """Download the vocabulary for fitting, so that every command finds it.

        Raise if it is `required` and not available.
        """
        from conceptor.data.registry import MissingDataError, fetch
        from conceptor.data.word_lists import PAPER_VOCABULARY

        try:
            with download_progress() as progress:
                fetch(PAPER_VOCABULARY, self.data, offline=self.offline, progress=progress)
        except MissingDataError:
            if required:
                raise


@dataclass(frozen=True)
class BenchmarkOptions:
    """The benchmarks, and how vectors are scored on them."""

    tasks: opt.Tasks = None
    missing: opt.Missing = "skip"
    kmeans: opt.Kmeans = "categories"
    pairs: opt.Pairs = None
    sentence_pairs: opt.SentencePairs = None
    resamples: opt.Resamples = 1000
    seed: opt.Seed = 0
    by_task: opt.ByTask = False

    @property
    def files(self) -> list[Path]:
        """The files of the user's own pairs."""
        return [*(self.pairs or ()), *(self.sentence_pairs or ())]

    @property
    def policy(self) -> Missing:
        """How out-of-vocabulary words are handled."""
        from conceptor.evaluation import Missing

        return parse_choice(Missing, self.missing, "--missing")

    @property
    def bootstrap(self) -> tuple[int, int]:
        """The number of resamples, and the seed."""
        return self.resamples, self.seed

    def load(self, where: DataOptions) -> Battery:
        """Load the named benchmarks and the user's own pairs; pairs alone load nothing else."""
        from conceptor.evaluation import FAMILIES, Battery
        from conceptor.evaluation.own import read_own

        own = read_own(self.pairs or (), self.sentence_pairs or ())
        warn(
            f"{task.dataset}: only {len(task.pairs)} pairs; with fewer than {_FEW_PAIRS} a "
            "difference between methods is mostly chance"
            for task in own
            if len(task.pairs) < _FEW_PAIRS
        )
        if own and self.tasks is None:
            return Battery(own)
        families: Sequence[str] | None = None
        if self.tasks is not None:
            families = FAMILIES if self.tasks == "all" else split_list(self.tasks)
        return load_benchmarks(families, where, self.kmeans, own)


def load_benchmarks(
    families: Sequence[str] | None,
    where: DataOptions,
    kmeans: str = "categories",
    own: Sequence[Task] = (),
) -> Battery:
    """Load families of benchmarks (by default the usual ones) and report missing files."""
    from conceptor.evaluation import load_battery
    from conceptor.evaluation.categorization import KMeansStart

    start = parse_choice(KMeansStart, kmeans, "--kmeans")
    with download_progress() as progress:
        battery = load_battery(
            families, where.data, start=start, offline=where.offline, progress=progress
        )
    if battery.missing:
        count, why = len(battery.missing), next(iter(battery.missing.values()))
        line = f"{count} benchmark files were not found, so their tasks are left out: {why}"
        typer.echo(f"conceptor: {line}", err=True)
    battery = replace(battery, tasks=[*battery.tasks, *own])
    if not battery.tasks:
        raise ConceptorError("no benchmark files were found; run: conceptor data fetch")
    return battery


@dataclass(frozen=True)
class ShowOptions:
    """The format of results, and where they go."""

    as_json: opt.Json = False
    as_markdown: opt.Markdown = False
    as_csv: opt.Csv = False
    as_latex: opt.Latex = False
    as_html: opt.Html = False
    output: opt.Output = None

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
