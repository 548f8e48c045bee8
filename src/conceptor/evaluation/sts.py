"""Semantic textual similarity of sentences, as averages of word vectors."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import cosines
from conceptor.evaluation.labels import SentencePair
from conceptor.evaluation.statistics import PearsonCorrelation
from conceptor.evaluation.task import Outcome, Texts, TextTask

__all__ = ["SentencePair", "SentenceSimilarity", "read_benchmark", "read_tasks"]

# The paper's tasks, by year. Two files of 2012 have a prefix that the tables leave out.
_TASKS = {
    "2012": ("MSRpar", "MSRvid", "OnWN", "SMTeuroparl", "SMTnews"),
    "2013": ("FNWN", "OnWN", "headlines"),
    "2014": ("OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news"),
    "2015": ("answers-forums", "answers-students", "belief", "headlines", "images"),
}
# Newer than the paper, so not part of its mean.
_LATER_TASKS = {
    "2016": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
    "2017": ("track5.en-en",),
}
_STUDENTS = "sts/2015-answers-students.test.tsv"
_SICK = "sick/SICK_test_annotated.txt"
_WITH_GENRE = ("sts/sts-train.csv", "sts/sts-dev.csv", "sts/sts-test.csv")
_WITHOUT_GENRE = ("sts/sts-other.csv", "sts/sts-mt.csv")
FILES = (*_WITH_GENRE, *_WITHOUT_GENRE, _STUDENTS, _SICK)
BENCHMARK_FILES = {"STS-B dev": "sts/sts-dev.csv", "STS-B test": "sts/sts-test.csv"}


@dataclass(frozen=True, eq=False)
class SentenceSimilarity(TextTask):
    """Pearson's r between human scores and cosines of averaged word vectors.

    A sentence is the plain average of the vectors of its known tokens; if a sentence has none,
    the pair's cosine is 0 and the pair does not count as used.
    """

    dataset: str
    pairs: Sequence[SentencePair]
    task: str = "sts"
    in_mean: bool = True
    metric = "pearson"

    @cached_property
    def texts(self) -> Texts:
        """Every sentence: all left ones, then all right ones."""
        return Texts([pair.left for pair in self.pairs] + [pair.right for pair in self.pairs])

    def score_texts(self, vectors: NDArray[Any], covered: NDArray[np.bool_]) -> Outcome:
        """Score vectors of `texts`, however they were made."""
        half = len(self.pairs)
        both = covered[:half] & covered[half:]
        predicted = np.where(both, cosines(vectors[:half], vectors[half:]), 0.0)
        statistic = PearsonCorrelation(predicted, np.array([pair.gold for pair in self.pairs]))
        return self.outcome(statistic, int(both.sum()), half)


def read_tasks(
    paths: Mapping[str, str | os.PathLike[str]], *, later: bool = False
) -> list[SentenceSimilarity]:
    """Read the twenty tasks from the seven files, given by their registry names.

    A task is left out if any of its files is missing. `later` adds the tasks of 2016 and 2017,
    which the paper does not use.
    """
    pairs: defaultdict[str, list[SentencePair]] = defaultdict(list)
    five = (*_WITH_GENRE, *_WITHOUT_GENRE)
    if all(name in paths for name in five):
        for name in five:
            for dataset, pair in _read_file(paths[name], first=int(name in _WITH_GENRE)):
                pairs[dataset].append(pair)
    if _STUDENTS in paths:
        # Half of the rows have no score.
        students = (fields for fields in _split_lines(paths[_STUDENTS]) if fields[0])
        pairs["2015/answers-students"] = [
            SentencePair(left, right, float(score)) for score, left, right in students
        ]
    years = _TASKS | _LATER_TASKS if later else _TASKS
    tasks = [
        SentenceSimilarity(dataset, pairs[dataset], in_mean=year in _TASKS)
        for year, names in years.items()
        for dataset in (f"{year}/{name}" for name in names)
        if dataset in pairs
    ]
    if _SICK in paths:
        _, *rows = _split_lines(paths[_SICK])  # below a heading
        sick = [SentencePair(left, right, float(score)) for _, left, right, score, _ in rows]
        tasks.append(SentenceSimilarity("SICK", sick, in_mean=False))
    return tasks


def read_benchmark(dataset: str, path: str | os.PathLike[str]) -> SentenceSimilarity:
    """Read a split of the STS benchmark, which is one file."""
    pairs = [pair for _, pair in _read_file(path, first=1)]
    return SentenceSimilarity(dataset, pairs, task="sts-b")


def _read_file(path: str | os.PathLike[str], first: int) -> Iterator[tuple[str, SentencePair]]:
    """Yield the dataset and the pair from file, year, id, score, sentence, sentence, sources.

    `first` is the column of the file's name (a genre may precede it). A year may be `2012test`
    or `2012train`: both belong to the task, as in the paper's notebook.
    """
    for fields in _split_lines(path):
        task, year, _, score, left, right, *_ = fields[first:]
        dataset = f"{year[:4]}/{task.removeprefix('surprise.')}"
        yield dataset, SentencePair(left, right, float(score))


def _split_lines(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the tab-separated fields of each line; quotation marks are plain characters."""
    with Path(path).open(encoding="utf-8", newline="\n") as lines:
        yield from (text.split("\t") for line in lines if (text := line.rstrip("\r\n")))
