"""All benchmarks together: loading them, and `evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError, did_you_mean
from conceptor.base.progress import Progress, silent
from conceptor.data import registry as datasets
from conceptor.evaluation import (
    analogy,
    categorization,
    classification,
    neighbours,
    own,
    retrieval,
    similarity,
    sts,
)
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.task import Missing, SearchTask, Task
from conceptor.vectors.chunks import Transform, as_vectors, collect_rows, keep_vectors
from conceptor.vectors.search import Search, search
from conceptor.vectors.vectors import RowKind, Vectors

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.vectors.table import WordVectors

    Paths = Mapping[str, str | os.PathLike[str]]

PAPER_FAMILIES = ("similarity", "sts", "categorization")
FAMILIES = (
    *PAPER_FAMILIES,
    "neighbours",
    "analogy",
    "retrieval",
    "classification",
    "sts-b",
)
# Run by default if their files are found locally; the paper's are downloaded.
MORE_FAMILIES = ("neighbours", "analogy", "retrieval")


@dataclass(frozen=True, eq=False)
class Battery:
    """Benchmarks that are ready to run, and why others are missing."""

    tasks: Sequence[Task | SearchTask]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        """Every word form that any benchmark may look up."""
        return frozenset().union(*(task.words for task in self.tasks))

    def run(
        self, vectors: WordVectors, name: str = "vectors", missing: Missing = Missing.SKIP
    ) -> Evaluation:
        """Score vectors in memory on every benchmark."""
        return self.run_all({name: vectors}, vectors, {name: ()}, missing)[0][name]

    def run_all(
        self,
        tables: Mapping[str, WordVectors],
        vectors: Vectors,
        transforms: Mapping[str, Sequence[Transform]],
        missing: Missing = Missing.SKIP,
        progress: Progress = silent,
        more: Mapping[str, Sequence[Search]] | None = None,
    ) -> tuple[dict[str, Evaluation], dict[int, str]]:
        """Score vectors after each of several transforms.

        `tables` has the transformed vectors of the benchmarks' words. Benchmarks that search all
        vectors share one pass over `vectors`, also with the `more` searches of the same names.
        Returns the evaluations, and the words of the rows that the searches found.
        """
        started = {
            name: {
                task: task.begin(table, missing)
                for task in self.tasks
                if isinstance(task, SearchTask)
            }
            for name, table in tables.items()
        }
        searches = {
            # Without any word of the benchmarks there is nothing to search for.
            name: [
                *(one.search for one in by.values() if len(tables[name])),
                *(more or {}).get(name, ()),
            ]
            for name, by in started.items()
        }
        names: dict[int, str] = {}
        if any(searches.values()):
            names = search(vectors, searches, transforms, progress)
        evaluations = {}
        steps, done = len(tables) * len(self.tasks), 0
        for name, table in tables.items():
            outcomes = []
            for task in self.tasks:
                progress("scoring", done / steps, 0)
                outcomes.append(
                    started[name][task].outcome()
                    if isinstance(task, SearchTask)
                    else task.score(table, missing)
                )
                done += 1
            evaluations[name] = Evaluation(name, outcomes, self.missing)
        return evaluations, names


def evaluate(
    vectors: object,
    tasks: Iterable[str] | Battery | None = None,
    *,
    name: str | None = None,
    missing: Missing | str = Missing.SKIP,
    data: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Score word vectors on standard benchmarks.

    Parameters
    ----------
    vectors : path, WordVectors, (words, array), mapping or gensim KeyedVectors
        The vectors to score; only the words in the benchmarks are kept in memory.
    tasks : names from `FAMILIES`, or a Battery
        By default the paper's, and all others except classification whose files are found locally.
        A battery loaded once can score many sets of vectors.
    name : str
        Name of the vectors in the result; by default the path.
    missing : Missing
        How out-of-vocabulary words are handled.
    data : path, optional
        Directory with the benchmark files; default as in `conceptor.data.registry`.
    progress
        Called while reading and searching the vectors.

    Returns
    -------
    Evaluation
        Can be printed, or converted with `to_frame()` and `to_dict()`.
    """
    if missing not in tuple(Missing):
        known = ", ".join(Missing)
        raise InvalidInputError(f"missing is {missing!r}; it must be one of {known}")
    opened = keep_vectors(as_vectors(vectors))
    refuse_texts(opened)
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, data)
    title = name or opened.name
    rows = collect_rows(opened, battery.words, progress)
    found, _ = battery.run_all({title: rows}, opened, {title: ()}, Missing(missing), progress)
    return found[title]


def refuse_texts(vectors: Vectors) -> None:
    """Raise if rows are texts, since benchmarks consist of words."""
    if vectors.kind is RowKind.TEXTS:
        raise InvalidInputError(
            f"{vectors.name}: its rows are texts, which benchmarks of words cannot measure; use "
            "compare, with your own pairs or queries if you have any"
        )


def load_battery(
    families: Iterable[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    *,
    start: categorization.KMeansStart = categorization.KMeansStart.CATEGORIES,
    offline: bool = False,
    progress: datasets.Bars | None = None,
) -> Battery:
    """Read the benchmarks of these families, downloading their files if necessary.

    By default the paper's, and those of `MORE_FAMILIES` whose files are found locally.
    """
    if families is None:
        paper = load_battery(PAPER_FAMILIES, data, start=start, offline=offline, progress=progress)
        more = load_battery(MORE_FAMILIES, data, offline=True)
        return Battery([*paper.tasks, *more.tasks], paper.missing)
    wanted = list(dict.fromkeys(families))
    unknown = [family for family in wanted if family not in _FILES]
    if unknown or not wanted:
        found = "no tasks were given"
        if unknown:
            found = f"unknown task {unknown[0]!r}{did_you_mean(unknown[0], _FILES)}"
        raise InvalidInputError(f"{found}; choose from {', '.join(_FILES)}")
    files = [file for family in wanted for names in _FILES[family].values() for file in names]
    paths, missing = datasets.fetch_all(files, data, offline=offline, progress=progress)
    tasks: list[Task | SearchTask] = []
    for family in wanted:
        for dataset, names in _FILES[family].items():
            # STS can run with some of its files.
            if family == "sts" or all(name in paths for name in names):
                tasks += _read(family, dataset, paths, start)
    return Battery(tasks, missing)


def _read(
    family: str, dataset: str, paths: Paths, start: categorization.KMeansStart
) -> Sequence[Task | SearchTask]:
    names = _FILES[family][dataset]
    if family == "similarity" or family in own.LANGUAGES:
        return [own.read_words(dataset, paths[names[0]], family)]
    match family:
        case "sts":
            return sts.read_tasks(paths)
        case "categorization":
            return [categorization.Categorization.read(dataset, paths[names[0]], start)]
        case "neighbours":
            return neighbours.read_neighbours(paths[names[0]])
        case "analogy":
            return analogy.read_analogies(paths[names[0]])
        case "retrieval":
            return retrieval.read_retrieval(dataset, paths)
        case "classification":
            return [classification.read_classification(dataset, paths)]
        case _:
            return [sts.read_benchmark(dataset, paths[names[0]])]


def _one_each(files: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {dataset: (file,) for dataset, file in files.items()}


# The files of each dataset of each family.
_FILES: dict[str, dict[str, tuple[str, ...]]] = {
    "similarity": _one_each(similarity.FILES),
    "sts": {"STS": sts.FILES},
    "categorization": _one_each(categorization.FILES),
    "neighbours": {"synonyms": (neighbours.FILE,)},
    "analogy": {"Google": (analogy.FILE,)},
    "retrieval": retrieval.FILES,
    "classification": classification.FILES,
    "sts-b": _one_each(sts.BENCHMARK_FILES),
    **{family: _one_each(files) for family, files in own.LANGUAGES.items()},
}
