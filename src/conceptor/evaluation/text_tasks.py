"""Benchmarks of texts as averages of word vectors: STS, retrieval and classification."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import cosines, row_lengths
from conceptor.evaluation.statistics import Mean, PearsonCorrelation
from conceptor.evaluation.task import Outcome, Texts, TextTask

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
STS_FILES = (*_WITH_GENRE, *_WITHOUT_GENRE, _STUDENTS, _SICK)
BENCHMARK_FILES = {"STS-B dev": "sts/sts-dev.csv", "STS-B test": "sts/sts-test.csv"}

# Documents, queries, judgements.
RETRIEVAL_FILES: dict[str, tuple[str, ...]] = {
    "Cranfield": (
        "retrieval/cranfield/cran.all.1400",
        "retrieval/cranfield/cran.qry",
        "retrieval/cranfield/cranqrel",
    ),
    "CISI": ("retrieval/cisi/CISI.ALL", "retrieval/cisi/CISI.QRY", "retrieval/cisi/CISI.REL"),
}
# Cranfield's abstracts repeat their title; CISI's do not.
_FIELDS = {"Cranfield": ("W",), "CISI": ("T", "W")}
DEPTH = 10

CLASSIFICATION_FILES = {
    "MR": ("classification/rt-polarity.all",),
    "CR": ("classification/custrev.all",),
    "SUBJ": ("classification/subj.all",),
    "MPQA": ("classification/mpqa.all",),
    "TREC": ("classification/TREC.train.all", "classification/TREC.test.all"),
    "SST-2": (
        "classification/stsa.binary.train",
        "classification/stsa.binary.dev",
        "classification/stsa.binary.test",
    ),
}
_FOLDS = 10
_STRENGTHS = (0.01, 0.1, 1.0)


class SentencePair(NamedTuple):
    """Two sentences, words or rows, and the score that people gave them."""

    left: str
    right: str
    gold: float


@dataclass(frozen=True, eq=False)
class SentenceSimilarity(TextTask):
    """Pearson's r between human scores and cosines of averaged word vectors.

    If a sentence has no known token, the pair's cosine is 0 and the pair does not count as used.
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
    """Read the twenty tasks from the seven files; a task with a missing file is left out.

    `later` adds the tasks of 2016 and 2017, which the paper does not use.
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


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, the queries that have judgements, and the relevant documents of each."""

    documents: Sequence[str]
    queries: Sequence[str]
    relevant: Sequence[NDArray[np.intp]]

    @cached_property
    def texts(self) -> Texts:
        """The documents, then the queries, split into tokens."""
        return Texts([*self.documents, *self.queries])


@dataclass(frozen=True, eq=False)
class Retrieval(TextTask):
    """nDCG@10 or mean average precision over the queries of a collection."""

    dataset: str
    collection: Collection
    metric: str = "nDCG@10"
    in_mean: bool = True
    task = "retrieval"

    @property
    def texts(self) -> Texts:
        """The documents, then the queries."""
        return self.collection.texts

    def score_texts(self, vectors: NDArray[Any], covered: NDArray[np.bool_]) -> Outcome:
        """Score vectors of `texts`, however they were made."""
        count = len(self.collection.documents)
        unit = vectors / row_lengths(vectors)[:, np.newaxis]
        # Ties are broken by document order.
        ranked = np.argsort(-(unit[count:] @ unit[:count].T), axis=1, kind="stable")
        score = ndcg if self.in_mean else average_precision
        pairs = zip(ranked, self.collection.relevant, strict=True)
        scores = np.array([score(np.isin(order, relevant)) for order, relevant in pairs])
        return self.outcome(Mean(scores), int(covered[count:].sum()), len(scores))


def ndcg(hits: NDArray[np.bool_], relevant: int | None = None) -> float:
    """Return nDCG@10 of a ranking; `relevant` documents exist, if it may not have all of them."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    top = hits[:DEPTH]
    ideal = discounts[: int(hits.sum()) if relevant is None else relevant].sum()
    return float(top @ discounts[: len(top)] / ideal)


def score_rankings(
    hits: Sequence[NDArray[np.bool_]], relevant: Sequence[Sized]
) -> tuple[Mean, Mean]:
    """Return nDCG@10 and recall of each query: which of its first documents are relevant."""
    counted = [(each, len(rows)) for each, rows in zip(hits, relevant, strict=True)]
    gains = np.array([ndcg(each, count) for each, count in counted])
    return Mean(gains), Mean(np.array([each.sum() / count for each, count in counted]))


def average_precision(hits: NDArray[np.bool_]) -> float:
    """Return the mean precision at the ranks of the relevant documents."""
    ranks = np.flatnonzero(hits) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean())


def read_retrieval(dataset: str, paths: Mapping[str, str | os.PathLike[str]]) -> list[Retrieval]:
    """Read a collection; queries without a relevant document are left out."""
    documents, queries, judgements = (paths[name] for name in RETRIEVAL_FILES[dataset])
    texts = _read_records(documents, _FIELDS[dataset])
    query_texts = _read_records(queries, ("W",))
    relevant: list[list[int]] = [[] for _ in query_texts]
    for line in Path(judgements).read_text().splitlines():
        query, document, grade = (int(field) for field in line.split()[:3])
        if grade >= 0:  # −1 means not relevant
            relevant[query - 1].append(document - 1)
    judged = [i for i, rows in enumerate(relevant) if rows]
    collection = Collection(
        texts,
        [query_texts[i] for i in judged],
        [np.unique(np.array(relevant[i], dtype=np.intp)) for i in judged],
    )
    return [
        Retrieval(dataset, collection),
        Retrieval(f"{dataset} MAP", collection, "MAP", in_mean=False),
    ]


def _read_records(path: str | os.PathLike[str], fields: tuple[str, ...]) -> list[str]:
    """Return some fields of each `.I` record, joined."""
    text = Path(path).read_text(encoding="latin-1")
    texts = []
    for record in re.split(r"^\.I \d+ *\n", text, flags=re.MULTILINE)[1:]:
        _, *rest = re.split(r"^\.([A-Z]) *\n", record, flags=re.MULTILINE)
        by_name = zip(rest[::2], rest[1::2], strict=True)
        texts.append(" ".join(" ".join(part.split()) for name, part in by_name if name in fields))
    return texts


@dataclass(frozen=True, eq=False)
class TextClassification(TextTask):
    """Accuracy of logistic regression on the standardized averages of word vectors.

    Texts of one file are tested in ten folds, and C is chosen on the fold after each. Otherwise the
    last file is the test, and C is chosen on the file before it, or on a tenth of the first.
    """

    dataset: str
    sentences: Sequence[str]
    labels: NDArray[np.intp]
    part: NDArray[np.intp]  # the number of each text's file
    task = "classification"
    metric = "accuracy"

    @cached_property
    def texts(self) -> Texts:
        """The texts, split into tokens."""
        return Texts(self.sentences)

    def score_texts(self, vectors: NDArray[Any], covered: NDArray[np.bool_]) -> Outcome:
        """Score vectors of `texts`, however they were made."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        right = np.zeros(len(self.labels), dtype=np.bool_)
        tested = np.zeros(len(self.labels), dtype=np.bool_)
        for train, choose, test in self._splits():
            # Newton's method is much faster than the default if texts outnumber dimensions, and
            # each fit starts from the last solution.
            model = LogisticRegression(solver="newton-cholesky", tol=1e-3, warm_start=True)
            scaled = StandardScaler().fit(vectors[train]).transform(vectors).astype(np.float32)
            accuracies = []
            for strength in _STRENGTHS:
                model.set_params(C=strength).fit(scaled[train], self.labels[train])
                accuracies.append(model.score(scaled[choose], self.labels[choose]))
            model.set_params(C=_STRENGTHS[int(np.argmax(accuracies))])
            model.fit(scaled[train | choose], self.labels[train | choose])
            right[test] = model.predict(scaled[test]) == self.labels[test]
            tested |= test
        return self.outcome(Mean(right[tested]), int((covered & tested).sum()), int(tested.sum()))

    def _splits(self) -> Iterator[tuple[NDArray[np.bool_], ...]]:
        """Yield the texts for training, for choosing C, and for testing."""
        folds = np.random.default_rng(0).permutation(len(self.labels)) % _FOLDS
        if last := int(self.part.max()):
            chosen = self.part == 1 if last > 1 else (self.part == 0) & (folds == 0)
            pairs = [(self.part == last, chosen)]
        else:
            pairs = [(folds == fold, folds == (fold + 1) % _FOLDS) for fold in range(_FOLDS)]
        for test, choose in pairs:
            yield ~test & ~choose, choose, test


def read_classification(
    dataset: str, paths: Mapping[str, str | os.PathLike[str]]
) -> TextClassification:
    """Read the files of a dataset: a label and a text on each line."""
    sentences: list[str] = []
    labels: list[str] = []
    part: list[int] = []
    for number, name in enumerate(CLASSIFICATION_FILES[dataset]):
        raw = Path(paths[name]).read_bytes()
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
        for line in text.split("\n"):
            label, _, sentence = line.strip().partition(" ")
            if label:
                labels.append(label)
                sentences.append(sentence)
                part.append(number)
    classes = np.unique(np.array(labels), return_inverse=True)[1]
    return TextClassification(dataset, sentences, classes, np.array(part, dtype=np.intp))
