"""All benchmarks together: loading them, and `evaluate`."""

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

__all__ = ["FAMILIES", "PAPER_FAMILIES", "Battery", "evaluate", "load_battery"]

PAPER_FAMILIES = ("similarity", "sts", "categorization")
FAMILIES = (*PAPER_FAMILIES, "analogy", "sts-b")


@dataclass(frozen=True, eq=False)
class Battery:
    """Benchmarks that are ready to run, and the reasons why others are missing."""

    tasks: Sequence[Task]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        """Every word form that any benchmark may look up."""
        return frozenset().union(*(task.words for task in self.tasks))

    @property
    def first(self) -> int:
        """How many of the file's first words are needed as well."""
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
        The vectors to score; only the words in the benchmarks are kept in memory.
    tasks : names from `FAMILIES`, or a Battery
        A battery loaded once can score many sets of vectors.
    name : str
        Name of the vectors in the result; by default the path.
    missing : Missing
        How out-of-vocabulary words are handled.
    data : path, optional
        Directory with the benchmark files; default as in `conceptor.data.registry`.

    Returns
    -------
    Evaluation
        Can be printed, or converted with `to_frame()` and `to_dict()`.
    """
    if missing not in tuple(Missing):
        known = ", ".join(Missing)
        raise InvalidInputError(f"missing is {missing!r}; it must be one of {known}")
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, data)
    rows = collect_rows(vectors, battery.words, battery.first)
    return battery.run(rows, name or vectors_name(vectors), Missing(missing))


def load_battery(
    families: Iterable[str] = PAPER_FAMILIES,
    data: str | os.PathLike[str] | None = None,
    *,
    start: categorization.KMeansStart = categorization.KMeansStart.CATEGORIES,
    offline: bool = False,
    progress: datasets.Bars | None = None,
) -> Battery:
    """Read the benchmarks of these families, downloading their files if necessary."""
    wanted = list(dict.fromkeys(families))
    unknown = [family for family in wanted if family not in FAMILIES]
    if unknown or not wanted:
        found = f"unknown task {unknown[0]!r}" if unknown else "no tasks were given"
        raise InvalidInputError(f"{found}; choose from {', '.join(FAMILIES)}")
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
