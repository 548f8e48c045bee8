"""All benchmarks together: loading them, and `evaluate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from conceptor.base.errors import InvalidInputError, did_you_mean
from conceptor.base.progress import Progress, silent
from conceptor.data import registry as datasets
from conceptor.evaluation import (
    analogy,
    categorization,
    classification,
    retrieval,
    similarity,
    sts,
    synonyms,
)
from conceptor.evaluation.labels import name_files, read_pairs
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.task import Missing, SearchTask
from conceptor.vectors.files import as_vectors
from conceptor.vectors.search import Search, search
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowKind, Transform, Vectors, collect_rows, keep

# Returns the benchmarks of a dataset from the paths of its files, by their names.
Reader = Callable[[str, Mapping[str, Path]], Sequence[SearchTask]]

PAPER_FAMILIES = ("similarity", "sts", "categorization")
# Run by default if their files are found locally; the paper's are downloaded.
MORE_FAMILIES = ("synonyms", "analogy", "retrieval")
FAMILIES = (*PAPER_FAMILIES, *MORE_FAMILIES, "classification", "sts-b")


def _each(read: Callable[[str, Path], SearchTask]) -> Reader:
    """Return the reader of datasets that are one file and one benchmark each."""
    return lambda dataset, paths: [read(dataset, path) for path in paths.values()]


# The files of each dataset of each family, and how to read them.
_READERS: dict[str, tuple[Mapping[str, str | tuple[str, ...]], Reader]] = {
    "similarity": (similarity.FILES, _each(similarity.read_words)),
    "sts": ({"STS": sts.FILES}, lambda _, paths: sts.read_tasks(paths)),
    "categorization": (categorization.FILES, _each(categorization.Categorization.read)),
    "synonyms": (
        {"synonyms": synonyms.FILE},
        lambda _, paths: synonyms.read_synonyms(paths[synonyms.FILE]),
    ),
    "analogy": (
        {"Google": analogy.FILE},
        lambda _, paths: analogy.read_analogies(paths[analogy.FILE]),
    ),
    "retrieval": (retrieval.FILES, retrieval.read_retrieval),
    "classification": (
        classification.FILES,
        lambda dataset, paths: [classification.read_classification(dataset, paths)],
    ),
    "sts-b": (sts.BENCHMARK_FILES, _each(sts.read_benchmark)),
}
for _family, _files in similarity.LANGUAGES.items():
    _READERS[_family] = _files, _each(partial(similarity.read_words, family=_family))


@dataclass(frozen=True, eq=False)
class Battery:
    """Benchmarks that are ready to run, and why others are missing."""

    tasks: Sequence[SearchTask]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        """Every word form that any benchmark may look up."""
        return frozenset().union(*(task.words for task in self.tasks))

    def run(
        self,
        vectors: object,
        name: str = "vectors",
        missing: Missing = Missing.SKIP,
        progress: Progress = silent,
    ) -> Evaluation:
        """Score vectors on every benchmark; only the benchmarks' words are kept in memory."""
        opened = as_vectors(vectors)
        rows = collect_rows(opened, self.words, progress=progress)
        unchanged: dict[str, Transform] = {name: lambda _, rows: rows}
        return self.run_all({name: rows}, opened, unchanged, missing, progress)[0][name]

    def run_all(
        self,
        tables: Mapping[str, WordVectors],
        vectors: Vectors,
        transforms: Mapping[str, Transform],
        missing: Missing = Missing.SKIP,
        progress: Progress = silent,
        more: Mapping[str, Search] | None = None,
    ) -> tuple[dict[str, Evaluation], dict[int, str]]:
        """Score vectors after each of several transforms.

        `tables` has the transformed vectors of the benchmarks' words. Benchmarks that search all
        vectors share one pass over `vectors`, also with the `more` searches of the same names.
        Returns the evaluations, and the words of the rows that the searches found.
        """
        begun = {
            name: [task.begin(table, missing) for task in self.tasks]
            for name, table in tables.items()
        }
        searches: dict[str, list[Search]] = {
            # Without any word of the benchmarks there is nothing to search for.
            name: [each.search for each in begun[name] if each.search and len(table)]
            for name, table in tables.items()
        }
        for name, each in (more or {}).items():
            searches[name].append(each)
        names = search(vectors, searches, transforms, progress) if any(searches.values()) else {}
        evaluations = {}
        for done, name in enumerate(tables):
            progress("scoring", done / len(tables), 0)
            outcomes = [each.outcome() for each in begun[name]]
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
    vectors : path, Vectors, WordVectors, (words, array), mapping or gensim KeyedVectors
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
        A notebook shows it as a table; ``pandas.DataFrame(result.rows())`` is a data frame.
    """
    if missing not in tuple(Missing):
        policies = ", ".join(Missing)
        raise InvalidInputError(f"missing is {missing!r}; it must be one of {policies}")
    opened = keep(as_vectors(vectors))
    refuse_texts(opened)
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, data)
    return battery.run(opened, name or opened.name, Missing(missing), progress)


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
    names = list(dict.fromkeys(families))
    if not names:
        raise InvalidInputError(f"no tasks were given; choose from {', '.join(_READERS)}")
    for family in names:
        if family not in _READERS:
            raise InvalidInputError(
                f"unknown task {family!r}{did_you_mean(family, _READERS)}; choose from "
                f"{', '.join(_READERS)}"
            )
    groups = [
        (family, dataset, (files,) if isinstance(files, str) else files)
        for family in names
        for dataset, files in _READERS[family][0].items()
    ]
    every = [file for *_, files in groups for file in files]
    paths, missing = datasets.fetch_all(every, data, offline=offline, progress=progress)
    tasks: list[SearchTask] = []
    for family, dataset, files in groups:
        local = {file: paths[file] for file in files if file in paths}
        # STS can run with some of its files.
        if family == "sts" or len(local) == len(files):
            tasks += _READERS[family][1](dataset, local)
    return Battery(
        [replace(t, start=start) if isinstance(t, categorization.Categorization) else t
         for t in tasks],
        missing,
    )  # fmt: skip


def read_own(
    pairs: Sequence[str | os.PathLike[str]] = (),
    sentence_pairs: Sequence[str | os.PathLike[str]] = (),
) -> list[similarity.WordSimilarity | sts.SentenceSimilarity]:
    """Return a benchmark for each file of the user's own pairs, named after the file."""
    names = iter(name_files([*pairs, *sentence_pairs]))
    words = [similarity.read_words(next(names), file, "pairs", once=True) for file in pairs]
    sentences = [
        sts.SentenceSimilarity(next(names), read_pairs(file, once=True), "sentence-pairs")
        for file in sentence_pairs
    ]
    return [*words, *sentences]
