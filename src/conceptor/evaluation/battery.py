"""Every benchmark at once: which there are, their data, and `evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets
from conceptor.evaluation import analogy, categorization, similarity, sts
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.task import Missing
from conceptor.vectors.chunks import collect_rows, vectors_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from conceptor.evaluation.task import Task
    from conceptor.vectors.table import WordVectors

__all__ = ["FAMILIES", "PAPER_FAMILIES", "Battery", "evaluate", "load"]

PAPER_FAMILIES = ("similarity", "sts", "categorization")
FAMILIES = (*PAPER_FAMILIES, "analogy", "sts-b")


@dataclass(frozen=True, eq=False)
class Battery:
    """Benchmarks that are ready to run, and those whose data could not be had."""

    tasks: Sequence[Task]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        """Every word form that any benchmark may look up."""
        return frozenset().union(*(task.words for task in self.tasks))

    @property
    def first(self) -> int:
        """How many leading words of the file are needed besides."""
        return max((t.candidates for t in self.tasks if isinstance(t, analogy.Analogy)), default=0)

    def run(
        self, vectors: WordVectors, name: str = "vectors", missing: Missing = Missing.SKIP
    ) -> Evaluation:
        """Score the vectors on every benchmark."""
        outcomes = [task.score(vectors, missing) for task in self.tasks]
        return Evaluation(name, outcomes, self.missing)


def evaluate(
    vectors: object,
    tasks: Iterable[str] | Battery = PAPER_FAMILIES,
    *,
    name: str | None = None,
    missing: Missing | str = Missing.SKIP,
    data: str | os.PathLike[str] | None = None,
) -> Evaluation:
    """Score word vectors on standard benchmarks.

    Parameters
    ----------
    vectors : path, WordVectors, (words, array), mapping or gensim KeyedVectors
        What is scored; it is read only, and of a file only the words that are asked for are kept.
    tasks : names out of `FAMILIES`, or a Battery
        A battery loaded once can score many sets of vectors.
    name : str
        How the result calls the vectors; by default the path.
    missing : Missing
        What becomes of words that the vectors lack.
    data : path, optional
        Where the benchmark files are; default as in `conceptor.data.registry`.

    Returns
    -------
    Evaluation
        Prints well, converts `to_frame()` and `to_dict()`.
    """
    if missing not in tuple(Missing):
        known = ", ".join(Missing)
        raise InvalidInputError(f"missing words: choose one of {known}, not {missing!r}")
    battery = tasks if isinstance(tasks, Battery) else load(tasks, data)
    rows = collect_rows(vectors, battery.words, battery.first)
    return battery.run(rows, name or vectors_name(vectors), Missing(missing))


def load(
    families: Iterable[str] = PAPER_FAMILIES,
    data: str | os.PathLike[str] | None = None,
    *,
    start: categorization.Start = categorization.Start.CATEGORIES,
    offline: bool = False,
    progress: datasets.Bars | None = None,
) -> Battery:
    """Read the benchmarks of these families, fetching their files where need be."""
    wanted = list(dict.fromkeys(families))
    unknown = [family for family in wanted if family not in FAMILIES]
    if unknown or not wanted:
        named = f"no task is called {unknown[0]!r}" if unknown else "no task was named"
        raise InvalidInputError(f"{named}; the tasks are {', '.join(FAMILIES)}")
    files = [file for family in wanted for file in _FILES[family]]
    paths, missing = datasets.gather(files, data, offline=offline, progress=progress)
    tasks: list[Task] = []
    for family in wanted:
        match family:
            case "similarity":
                tasks += (
                    similarity.WordSimilarity.read(dataset, paths[file])
                    for dataset, file in similarity.FILES.items()
                    if file in paths
                )
            case "sts":
                tasks += sts.read_tasks(paths)
            case "categorization":
                tasks += (
                    categorization.Categorization.read(dataset, paths[file], start)
                    for dataset, file in categorization.FILES.items()
                    if file in paths
                )
            case "analogy" if analogy.FILE in paths:
                tasks += analogy.read_analogies(paths[analogy.FILE])
            case "sts-b":
                tasks += (
                    sts.read_benchmark(dataset, paths[file])
                    for dataset, file in sts.BENCHMARK_FILES.items()
                    if file in paths
                )
    return Battery(tasks, missing)


_FILES = {
    "similarity": tuple(similarity.FILES.values()),
    "sts": sts.FILES,
    "categorization": tuple(categorization.FILES.values()),
    "analogy": (analogy.FILE,),
    "sts-b": tuple(sts.BENCHMARK_FILES.values()),
}
