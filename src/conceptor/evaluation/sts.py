"""Semantic textual similarity: sentences as averages of their words' vectors."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from conceptor.base.errors import InvalidInputError
from conceptor.base.tokens import tokenize
from conceptor.evaluation.cosines import cosines
from conceptor.evaluation.statistics import PearsonCorrelation
from conceptor.evaluation.task import Missing, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.table import WordVectors

__all__ = [
    "BENCHMARK_FILES",
    "FILES",
    "TASKS",
    "SentenceSimilarity",
    "read_benchmark",
    "read_tasks",
]

# Name of each task -> (year, name in the files).
TASKS = {
    "2012/MSRpar": ("2012", "MSRpar"),
    "2012/MSRvid": ("2012", "MSRvid"),
    "2012/OnWN": ("2012", "surprise.OnWN"),
    "2012/SMTeuroparl": ("2012", "SMTeuroparl"),
    "2012/SMTnews": ("2012", "surprise.SMTnews"),
    "2013/FNWN": ("2013", "FNWN"),
    "2013/OnWN": ("2013", "OnWN"),
    "2013/headlines": ("2013", "headlines"),
    "2014/OnWN": ("2014", "OnWN"),
    "2014/deft-forum": ("2014", "deft-forum"),
    "2014/deft-news": ("2014", "deft-news"),
    "2014/headlines": ("2014", "headlines"),
    "2014/images": ("2014", "images"),
    "2014/tweet-news": ("2014", "tweet-news"),
    "2015/answers-forums": ("2015", "answers-forums"),
    "2015/answers-students": ("2015", "answers-students"),
    "2015/belief": ("2015", "belief"),
    "2015/headlines": ("2015", "headlines"),
    "2015/images": ("2015", "images"),
}
_STUDENTS = "sts/2015-answers-students.test.tsv"
_SICK = "sick/SICK_test_annotated.txt"
_WITH_GENRE = ("sts/sts-train.csv", "sts/sts-dev.csv", "sts/sts-test.csv")
_WITHOUT_GENRE = ("sts/sts-other.csv", "sts/sts-mt.csv")
FILES = (*_WITH_GENRE, *_WITHOUT_GENRE, _STUDENTS, _SICK)
BENCHMARK_FILES = {"STS-B dev": "sts/sts-dev.csv", "STS-B test": "sts/sts-test.csv"}


class SentencePair(NamedTuple):
    """Two sentences and how alike people found them."""

    left: str
    right: str
    gold: float


@dataclass(frozen=True, eq=False)
class SentenceSimilarity:
    """Pearson's r between human scores and cosines of averaged word vectors.

    A sentence is the plain average of the vectors of its tokens that the vectors contain; where a
    sentence has none, the pair's cosine is 0 and the pair does not count as used.
    """

    dataset: str
    pairs: Sequence[SentencePair]
    task: str = "sts"
    metric = "pearson"

    @cached_property
    def gold(self) -> NDArray[np.float64]:
        """The human scores."""
        return np.array([pair.gold for pair in self.pairs])

    @cached_property
    def tokens(self) -> list[list[str]]:
        """The tokens of every sentence: all left ones, then all right ones."""
        left = [tokenize(pair.left) for pair in self.pairs]
        return left + [tokenize(pair.right) for pair in self.pairs]

    @cached_property
    def _counts(self) -> tuple[list[str], sparse.csr_array]:
        """The distinct tokens, and how often each occurs in each sentence."""
        column: dict[str, int] = {}
        columns = [
            column.setdefault(token, len(column)) for sentence in self.tokens for token in sentence
        ]
        starts = np.cumsum([0, *(len(sentence) for sentence in self.tokens)])
        matrix = sparse.csr_array(
            (np.ones(len(columns)), columns, starts), shape=(len(self.tokens), len(column))
        )
        return list(column), matrix

    @cached_property
    def words(self) -> frozenset[str]:
        """Every token of the sentences."""
        return frozenset(self._counts[0])

    def sentence_vectors(self, vectors: WordVectors) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the average of every sentence's vectors (one sparse product), and which are known.

        The first half are the left sentences, the second half the right ones.
        """
        words, counts = self._counts
        rows = vectors.rows(words)
        known = np.flatnonzero(rows >= 0)
        counts = counts[:, known]
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        sums = counts @ vectors.vectors[rows[known]].astype(np.float64)
        return sums / np.maximum(lengths, 1)[:, None], lengths > 0

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Score the vectors; tokens are lower case already, so every policy does the same."""
        sentences, known = self.sentence_vectors(vectors)
        return self.score_sentences(sentences, known)

    def score_sentences(self, sentences: NDArray[Any], known: NDArray[np.bool_]) -> Outcome:
        """Score sentence vectors made in another way, in the order of `tokens`."""
        half = len(self.pairs)
        both = known[:half] & known[half:]
        predicted = np.where(both, cosines(sentences[:half], sentences[half:]), 0.0)
        return Outcome(
            self.task,
            self.dataset,
            self.metric,
            used=int(both.sum()),
            total=half,
            statistic=PearsonCorrelation(predicted, self.gold),
        )


def read_tasks(paths: Mapping[str, str | os.PathLike[str]]) -> list[SentenceSimilarity]:
    """Read the twenty tasks from the seven files, given by their registry names.

    Tasks whose file is missing are left out, and a task is never made from a part of its files.
    """
    found: defaultdict[tuple[str, str], list[SentencePair]] = defaultdict(list)
    five = (*_WITH_GENRE, *_WITHOUT_GENRE)
    if all(name in paths for name in five):
        for name in five:
            for year, task, pair in _read_file(paths[name], first=int(name in _WITH_GENRE)):
                found[year, task].append(pair)
    if _STUDENTS in paths:
        found["2015", "answers-students"] = list(_read_students(paths[_STUDENTS]))
    tasks = [
        SentenceSimilarity(dataset, found[key]) for dataset, key in TASKS.items() if key in found
    ]
    if _SICK in paths:
        tasks.append(SentenceSimilarity("SICK", list(_read_sick(paths[_SICK]))))
    return tasks


def read_benchmark(dataset: str, path: str | os.PathLike[str]) -> SentenceSimilarity:
    """Read a split of the STS benchmark: one of its files as a whole."""
    pairs = [pair for _, _, pair in _read_file(path, first=1)]
    return SentenceSimilarity(dataset, pairs, task="sts-b")


def _fields(path: str | os.PathLike[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and tab-separated fields; quotation marks are plain characters."""
    with Path(path).open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            text = line.rstrip("\r\n")
            if text:
                yield number, text.split("\t")


def _read_file(path: str | os.PathLike[str], first: int) -> Iterator[tuple[str, str, SentencePair]]:
    """Yield (year, task, pair) from file, year, id, score, sentence, sentence, sources.

    `first` is the column of the file's name (a genre may come before it). A year may read
    `2012test` or `2012train`: both belong to the task, as in the paper's notebook.
    """
    for number, fields in _fields(path):
        try:
            task, year, _, score, left, right, *_ = fields[first:]
            yield year[:4], task, SentencePair(left, right, float(score))
        except ValueError:
            raise _malformed(path, number) from None


def _read_students(path: str | os.PathLike[str]) -> Iterator[SentencePair]:
    """Yield the labelled pairs; half of the rows have no score."""
    for number, fields in _fields(path):
        try:
            score, left, right = fields
            if score:
                yield SentencePair(left, right, float(score))
        except ValueError:
            raise _malformed(path, number) from None


def _read_sick(path: str | os.PathLike[str]) -> Iterator[SentencePair]:
    """Yield the pairs below the header line."""
    for number, fields in _fields(path):
        if number == 1:
            continue
        try:
            _, left, right, score, _ = fields
            yield SentencePair(left, right, float(score))
        except ValueError:
            raise _malformed(path, number) from None


def _malformed(path: str | os.PathLike[str], number: int) -> InvalidInputError:
    return InvalidInputError(
        f"{os.fspath(path)}, line {number}: not a pair of sentences with a score"
    )
