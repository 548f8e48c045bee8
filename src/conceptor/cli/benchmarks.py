"""Options of benchmarks: which ones, where their files are, and the user's own labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.cli import options as opt
from conceptor.cli.bars import download_progress
from conceptor.cli.options import option, parse_choice, split_list
from conceptor.cli.output import warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.evaluation import Battery, Missing, Task

# With fewer pairs, confidence intervals are too wide to be useful.
_FEW_PAIRS = 30


@dataclass(frozen=True)
class DataOptions:
    """Where benchmark files come from."""

    data: opt.Data = None
    offline: bool = option(False, "Do not use the network.", "--offline")

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

    tasks: str | None = option(
        None,
        "Comma-separated list of similarity, sts, categorization, neighbours, analogy, "
        "retrieval, classification, sts-b; or [b]all[/b]; in other languages similarity-de, "
        "similarity-it, similarity-ru.  \\[default: the first three, and those of the "
        "next three whose files are found]",
        autocompletion=opt.complete_task,
    )
    missing: str = option(
        "skip",
        "Items with out-of-vocabulary words: [b]skip[/b] them, try [b]lowercase[/b] first, or "
        "score them [b]zero[/b].",
    )
    kmeans: str = option(
        "categories",
        "Initial centroids of k-means: means of the [b]categories[/b] (the paper's choice; it "
        "uses the labels) or k-means++ ([b]plusplus[/b]) with 50 starts.",
    )
    pairs: list[Path] | None = option(
        None,
        "Your own pairs of words, in any language, or of texts: a file of 'word, word, score' "
        "lines, separated by tabs (or by commas in .csv files); repeatable. Runs only these pairs "
        "unless --tasks adds benchmarks.",
    )
    sentence_pairs: list[Path] | None = option(
        None,
        "Your own sentence pairs: lines of 'sentence, sentence, score', as in --pairs.",
        "--sentences-pairs",
    )
    resamples: int = option(1000, "Resamples of the paired bootstrap; 0 for no intervals.", min=0)
    seed: int = option(0, "Seed of the paired bootstrap.", min=0)
    by_task: bool = option(False, "Show each STS task instead of years.", "--by-task")

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
    def bootstrap(self) -> dict[str, Any]:
        """The number of resamples, and the seed."""
        return {"resamples": self.resamples, "seed": self.seed}

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


@dataclass(frozen=True)
class LabelOptions:
    """The labels and sizes for comparing rows of texts."""

    queries: Path | None = option(
        None,
        "For rows of texts: vectors of your queries from the same model; with --relevant.",
        metavar="VECTORS",
    )
    relevant: Path | None = option(
        None,
        "The rows that are relevant to each query: lines of 'query row' or 'query row "
        "grade'; numbers from 1, or texts separated by tabs.",
        metavar="FILE",
    )
    sizes: str | None = option(
        None,
        "For rows of texts: numbers of dimensions.  \\[default: all, half, a quarter]",
        metavar="N,...",
    )
    dtypes: str | None = option(
        None,
        "For rows of texts: float32, float16, int8, binary.  \\[default: int8 at each size, "
        "binary at full size]",
        metavar="NAME,...",
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `compare` for texts."""
        sizes = None if self.sizes is None else split_list(self.sizes)
        if wrong := [each for each in sizes or () if not (each.isascii() and each.isdigit())]:
            raise InvalidInputError(
                f"--sizes has {wrong[0]!r}; it must list whole numbers of dimensions"
            )
        return {
            "queries": self.queries,
            "relevant": self.relevant,
            "sizes": sizes and [int(each) for each in sizes],
            "dtypes": self.dtypes and split_list(self.dtypes),
        }


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
