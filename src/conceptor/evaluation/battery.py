"""All benchmarks together: loading them, and `evaluate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from conceptor.base.errors import InvalidInputError, did_you_mean
from conceptor.base.progress import Progress, silent
from conceptor.data import registry as datasets
from conceptor.evaluation import text_tasks, word_tasks
from conceptor.evaluation.labels import name_files, read_pairs
from conceptor.evaluation.task import Evaluation, Task
from conceptor.vectors.files import as_vectors
from conceptor.vectors.search import Search, search
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowKind, Transform, Vectors, collect_rows, keep

# Returns the benchmarks of a dataset from the paths of its files.
Reader = Callable[[str, Mapping[str, Path]], Sequence[Task]]

PAPER_FAMILIES = ("similarity", "sts", "categorization")
# Run by default if their files are found locally; the paper's are downloaded.
MORE_FAMILIES = ("synonyms", "analogy", "retrieval")
FAMILIES = (*PAPER_FAMILIES, *MORE_FAMILIES, "classification", "sts-b")


def _each(read: Callable[[str, Path], Task]) -> Reader:
    """Return the reader of datasets that are one file and one benchmark each."""
    return lambda dataset, paths: [read(dataset, path) for path in paths.values()]


# The files of each dataset of each family, and how to read them.
_READERS: dict[str, tuple[Mapping[str, str | tuple[str, ...]], Reader]] = {
    "similarity": (word_tasks.SIMILARITY_FILES, _each(word_tasks.read_words)),
    "sts": ({"STS": text_tasks.STS_FILES}, lambda _, paths: text_tasks.read_tasks(paths)),
    "categorization": (word_tasks.CATEGORIZATION_FILES, _each(word_tasks.Categorization.read)),
    "synonyms": (
        {"synonyms": word_tasks.SYNONYMS_FILE},
        lambda _, paths: word_tasks.read_synonyms(*paths.values()),
    ),
    "analogy": (
        {"Google": word_tasks.ANALOGIES_FILE},
        lambda _, paths: word_tasks.read_analogies(*paths.values()),
    ),
    "retrieval": (text_tasks.RETRIEVAL_FILES, text_tasks.read_retrieval),
    "classification": (
        text_tasks.CLASSIFICATION_FILES,
        lambda dataset, paths: [text_tasks.read_classification(dataset, paths)],
    ),
    "sts-b": (text_tasks.BENCHMARK_FILES, _each(text_tasks.read_benchmark)),
}
for _family, _files in word_tasks.LANGUAGES.items():
    _READERS[_family] = _files, _each(partial(word_tasks.read_words, family=_family))


@dataclass(frozen=True, eq=False)
class Battery:
    """Benchmarks that are ready to run, and why others are missing."""

    tasks: Sequence[Task]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        """Every word form that any benchmark may look up."""
        return frozenset().union(*(task.words for task in self.tasks))

    def run(
        self,
        vectors: object,
        name: str = "vectors",
        lowercase: bool = False,
        progress: Progress = silent,
    ) -> Evaluation:
        """Score vectors on every benchmark; only the benchmarks' words are kept in memory."""
        opened = as_vectors(vectors)
        rows = collect_rows(opened, self.words, progress=progress)
        unchanged: dict[str, Transform] = {name: lambda _, rows: rows}
        return self.run_all({name: rows}, opened, unchanged, lowercase, progress)[0][name]

    def run_all(
        self,
        tables: Mapping[str, WordVectors],
        vectors: Vectors,
        transforms: Mapping[str, Transform],
        lowercase: bool = False,
        progress: Progress = silent,
        more: Mapping[str, Search] | None = None,
    ) -> tuple[dict[str, Evaluation], dict[int, str]]:
        """Score `tables`, the benchmarks' words after each transform, in one pass over `vectors`.

        The second result has the words of the rows near to a query.
        """
        begun = {
            name: [task.begin(table, lowercase=lowercase) for task in self.tasks]
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
    lowercase: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Score word vectors on standard benchmarks; ``result.rows()`` makes a data frame.

    Parameters
    ----------
    vectors : path, Vectors, WordVectors, (words, array), mapping or gensim KeyedVectors
        Only the words in the benchmarks are kept in memory.
    tasks : names from `FAMILIES`, or a Battery
        By default the paper's, and all others except classification whose files are found locally.
        A battery loaded once can score many sets of vectors.
    name
        Name of the vectors in the result.
    lowercase
        Whether words without a vector are also looked up in lower case.
    data
        The directory with the benchmark files, by default as in `conceptor.data.registry`.
    """
    opened = keep(as_vectors(vectors))
    if opened.kind is RowKind.TEXTS:
        raise InvalidInputError(
            f"{opened.name}: its rows are texts, which benchmarks of words cannot measure; use "
            "compare, with your own pairs or queries if you have any"
        )
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, data)
    return battery.run(opened, name or opened.name, lowercase, progress)


def load_battery(
    families: Iterable[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    progress: Progress = silent,
) -> Battery:
    """Read the benchmarks of these families, downloading their files if necessary.

    By default the paper's, and those of `MORE_FAMILIES` whose files are found locally.
    """
    if families is None:
        paper = load_battery(PAPER_FAMILIES, data, offline=offline, progress=progress)
        more = load_battery(MORE_FAMILIES, data, offline=True)
        return Battery([*paper.tasks, *more.tasks], paper.missing)
    names = list(dict.fromkeys(families))
    unknown = [name for name in names if name not in _READERS]
    if unknown or not names:
        problem = "no tasks were given"
        if unknown:
            problem = f"unknown task {unknown[0]!r}{did_you_mean(unknown[0], _READERS)}"
        raise InvalidInputError(f"{problem}; choose from {', '.join(_READERS)}")
    groups = [
        (family, dataset, (files,) if isinstance(files, str) else files)
        for family in names
        for dataset, files in _READERS[family][0].items()
    ]
    every = [file for *_, files in groups for file in files]
    paths, missing = datasets.fetch_all(every, data, offline=offline, progress=progress)
    tasks: list[Task] = []
    for family, dataset, files in groups:
        local = {file: paths[file] for file in files if file in paths}
        # STS can run with some of its files.
        if family == "sts" or len(local) == len(files):
            tasks += _READERS[family][1](dataset, local)
    return Battery(tasks, missing)


def read_own(
    pairs: Sequence[str | os.PathLike[str]] = (),
    sentence_pairs: Sequence[str | os.PathLike[str]] = (),
) -> list[word_tasks.WordSimilarity | text_tasks.SentenceSimilarity]:
    """Return a benchmark for each file of the user's own pairs, named after the file."""
    names = iter(name_files([*pairs, *sentence_pairs]))
    words = [word_tasks.read_words(next(names), file, "pairs", once=True) for file in pairs]
    sentences = [
        text_tasks.SentenceSimilarity(next(names), read_pairs(file, once=True), "sentence-pairs")
        for file in sentence_pairs
    ]
    return [*words, *sentences]
