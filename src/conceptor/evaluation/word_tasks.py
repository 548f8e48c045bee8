"""Benchmarks of words: similarity, categorization, synonym retrieval and analogies."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import cosines
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.base.threads import one_blas_thread
from conceptor.evaluation.labels import read_pairs
from conceptor.evaluation.statistics import Masked, Mean, Purity, SpearmanCorrelation
from conceptor.evaluation.task import Outcome, Searched, Task, with_lower
from conceptor.vectors.search import Contest, Nearest
from conceptor.vectors.table import WordVectors

SIMILARITY_FILES = {
    "RG65": "word-similarity/EN-RG-65.txt",
    "WS": "word-similarity/EN-WS-353-ALL.txt",
    "RW": "word-similarity/EN-RW-STANFORD.txt",
    "MEN": "word-similarity/EN-MEN-TR-3k.txt",
    "MTurk": "word-similarity/EN-MTurk-287.txt",
    "SimLex": "word-similarity/EN-SIMLEX-999.txt",
    "SimVerb": "word-similarity/EN-SimVerb-3500.txt",
}
# The files of sets in other languages, by family and dataset.
LANGUAGES = {
    f"similarity-{code}": {
        f"SimLex {code}": f"word-similarity/{code.upper()}-SIMLEX-999.txt",
        f"WS {code}": f"word-similarity/{code.upper()}-WS-353.txt",
    }
    for code in ("de", "it", "ru")
}
CATEGORIZATION_FILES = {
    "ESSLLI": "categorization/essli-2008.csv",
    "AP": "categorization/ap.csv",
    "BM": "categorization/battig.csv",
}
SYNONYMS_FILE = "lexicon/ppdb_synonyms.txt"
ANALOGIES_FILE = "analogy/questions-words.txt"

# Synonyms are retrieved for this many queries, among the first words (people look up words they
# know), and scored a second time among even fewer words.
_NEAREST, _QUERIES, _QUERIES_AMONG, _COMMON = 10, 2_000, 50_000, 20_000
_FAR = 100_000
# word2vec's own evaluation script searches this many words for the answer of an analogy.
_CANDIDATES = 30_000
Question = tuple[str, str, str, str]


@dataclass(frozen=True, eq=False)
class WordSimilarity(Task):
    """Spearman's ρ between human scores and cosines, over the pairs the vectors cover."""

    dataset: str
    pairs: Sequence[tuple[str, str]]
    gold: Sequence[float]
    task: str = "similarity"
    metric = "spearman"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the pairs, and its lower-cased form."""
        return with_lower(word for pair in self.pairs for word in pair)

    def score(self, vectors: WordVectors, *, lowercase: bool = False) -> Outcome:
        """Score the vectors; O(pairs × dimension)."""
        flat = (word for pair in self.pairs for word in pair)
        rows = vectors.rows(flat, lowercase=lowercase).reshape(-1, 2)
        covered = np.asarray((rows >= 0).all(axis=1))
        left, right = (vectors.vectors[column] for column in rows[covered].T)
        gold = np.asarray(self.gold)[covered]
        return self.outcome_of_items(covered, SpearmanCorrelation(cosines(left, right), gold))


def read_words(
    dataset: str, path: str | os.PathLike[str], family: str = "similarity", *, once: bool = False
) -> WordSimilarity:
    """Read word pairs as a benchmark of a family; with `once`, raise for a repeated pair."""
    pairs = read_pairs(path, once=once)
    return WordSimilarity(dataset, [pair[:2] for pair in pairs], [p.gold for p in pairs], family)


@dataclass(frozen=True, eq=False)
class Categorization(Task):
    """Purity of k-means clusters; k is the number of categories.

    The initial centroids are the mean vector of each category, the paper's choice: deterministic,
    but scores are higher than with blind clustering.
    """

    dataset: str
    concepts: Sequence[str]
    labels: Sequence[str]
    task = "categorization"
    metric = "purity"

    @classmethod
    def read(cls, dataset: str, path: str | os.PathLike[str]) -> Categorization:
        """Read rows "number,category,concept" below a header; skip rows without a concept."""
        rows: list[list[str]] = []
        with Path(path).open(encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), 1):
                if len(row) != 3:
                    where = f"{os.fspath(path)}, line {number}"
                    raise InvalidInputError(f"{where}: expected number, category, concept")
                if number > 1 and row[2]:
                    rows.append(row)
        return cls(dataset, [row[2] for row in rows], [row[1] for row in rows])

    @cached_property
    def words(self) -> frozenset[str]:
        """Every concept, and its lower-cased form."""
        return with_lower(self.concepts)

    def score(self, vectors: WordVectors, *, lowercase: bool = False) -> Outcome:
        """Cluster the vectors of the known concepts and compare with the categories."""
        from sklearn.cluster import KMeans

        rows = vectors.rows(self.concepts, lowercase=lowercase)
        covered = rows >= 0
        categories = np.unique(np.asarray(self.labels), return_inverse=True)[1][covered]
        clusters = np.zeros(len(categories), dtype=np.intp)
        if len(categories):
            points = vectors.vectors[rows[covered]].astype(np.float64)
            kinds = np.unique(categories)
            means = np.array([points[categories == kind].mean(axis=0) for kind in kinds])
            model = KMeans(len(kinds), init=means, n_init=1, tol=0)
            with one_blas_thread():  # the same sums for any number of processors
                clusters[:] = model.fit(points).labels_
        return self.outcome_of_items(covered, Purity(clusters, categories))


@dataclass(frozen=True, eq=False)
class SynonymRecall(Task):
    """Share of a word's listed synonyms among its ten nearest words, mean over 2,000 words.

    Of n synonyms, min(10, n) can be found. The words are the first in a fixed random order of the
    list that have a vector among the first 50,000, and a synonym with a vector. `prior` prefers
    frequent words: see `Nearest`.
    """

    dataset: str
    synonyms: Mapping[str, frozenset[str]]
    among: int | None = None
    in_mean: bool = True
    prior: float = 0.0
    task = "synonyms"
    metric = "recall"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every listed word; the relation is symmetric."""
        return frozenset(self.synonyms)

    def begin(self, vectors: WordVectors, *, lowercase: bool = False) -> Searched:
        """Search the nearest of all words; `lowercase` has no effect."""
        listed = list(self.synonyms)
        rows = vectors.rows(listed)
        pairs = zip(listed, rows.tolist(), strict=True)
        place = {word: int(vectors.places[row]) for word, row in pairs if row >= 0}
        synonyms: dict[int, set[int]] = {}
        for i, word in enumerate(listed):
            places = {place[other] for other in self.synonyms[word] if other in place}
            if places and place.get(word, _QUERIES_AMONG) < _QUERIES_AMONG:
                synonyms[i] = places
            if len(synonyms) == _QUERIES:
                break
        queries = np.array(list(synonyms), dtype=np.intp)
        # Each word is its own nearest word.
        nearest = Nearest(
            vectors.vectors[rows[queries]], _NEAREST + 1, prior=self.prior, among=self.among
        )

        def outcome() -> Outcome:
            near = without_own(nearest.rows, vectors.places[rows[queries]])
            pairs = zip(synonyms.values(), near.tolist(), strict=True)
            shares = [len(right & {*places}) / min(_NEAREST, len(right)) for right, places in pairs]
            # Resamples draw from the whole list, so that they are the same for all vectors.
            used = np.zeros(len(listed), dtype=np.bool_)
            used[queries] = True
            remark, places = "", near[near >= 0]
            if not self.among and len(places):
                remark = f"neighbors at median rank {int(np.median(places)) + 1:,}"
                if beyond := float(np.mean(places >= _FAR)):
                    remark += f", {beyond:.1%} of them beyond {_FAR:,}"
            statistic = Masked(Mean(np.array(shares)), used)
            return self.outcome(statistic, len(queries), _QUERIES, remark)

        return Searched(nearest, outcome)


def without_own(near: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Remove each query row from its own nearest rows, so that one fewer is left.

    If it is not among them, as with many equal rows, the last is dropped instead.
    """
    is_other = near != own[:, np.newaxis]
    is_other[is_other.all(axis=1), -1] = False
    return np.asarray(near[is_other].reshape(len(near), near.shape[1] - 1))


def read_synonyms(path: str | os.PathLike[str]) -> list[SynonymRecall]:
    """Read two words per line; a prefix `en_` of a word is dropped."""
    synonyms: dict[str, set[str]] = {}
    for number, line in read_lines(path, "of word pairs"):
        words = [word.removeprefix("en_") or word for word in line.split()]
        if len(words) != 2:
            raise InvalidInputError(f"{path}, line {number}: expected two words, not {line[:60]!r}")
        if words[0] != words[1]:
            synonyms.setdefault(words[0], set()).add(words[1])
            synonyms.setdefault(words[1], set()).add(words[0])
    listed = sorted(synonyms)
    order = np.random.default_rng(0).permutation(len(listed)).tolist()
    shuffled = {listed[i]: frozenset(synonyms[listed[i]]) for i in order}
    name = f"synonyms@{_NEAREST}"
    return [
        SynonymRecall(name, shuffled),
        SynonymRecall(f"{name}, first {_COMMON:,}", shuffled, _COMMON, in_mean=False),
    ]


@dataclass(frozen=True, eq=False)
class Analogy(Task):
    """Share of questions (a, b, c, d) where d is nearest to b − a + c, with a, b and c excluded.

    All words are searched; with `among`, only the first ones (the most frequent in a file sorted by
    frequency), and a question with any other word counts as missing. Words are always looked up in
    lower case too, as in word2vec's tool and gensim: the questions capitalize names.
    """

    dataset: str
    questions: Sequence[Question]
    among: int | None = None
    in_mean: bool = True
    task = "analogy"
    metric = "accuracy"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the questions, and its lower-cased form."""
        return with_lower(word for question in self.questions for word in question)

    def begin(self, vectors: WordVectors, *, lowercase: bool = True) -> Searched:
        """Search all words for the answer of every known question."""
        flat = [word for question in self.questions for word in question]
        rows = vectors.rows(flat, lowercase=True).reshape(-1, 4)
        places = vectors.places[rows] if len(vectors) else rows
        covered = np.asarray((rows >= 0).all(axis=1))
        if self.among is not None:
            covered &= (places < self.among).all(axis=1)
        used, questions = np.unique(rows[covered], return_inverse=True)
        contest = Contest(
            vectors.vectors[used], questions.reshape(-1, 4), places[covered], among=self.among
        )
        return Searched(contest, lambda: self.outcome_of_items(covered, Mean(contest.won)))


def read_analogies(path: str | os.PathLike[str]) -> list[Analogy]:
    """Read the Google analogies; sections named `gram…` are syntactic, the others semantic."""
    kinds: dict[str, list[Question]] = {"Google semantic": [], "Google syntactic": []}
    kind = "Google semantic"
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(":"):
            is_syntactic = line[1:].strip().startswith("gram")
            kind = "Google syntactic" if is_syntactic else "Google semantic"
        elif line.strip():
            try:
                a, b, c, d = line.split()
            except ValueError:
                raise InvalidInputError(f"{path}, line {number}: expected four words") from None
            kinds[kind].append((a, b, c, d))
    return [Analogy(dataset, questions) for dataset, questions in kinds.items()] + [
        Analogy(f"{dataset}, first {_CANDIDATES:,}", questions, _CANDIDATES, in_mean=False)
        for dataset, questions in kinds.items()
    ]
