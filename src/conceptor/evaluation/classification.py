"""Text classification: logistic regression on texts as averages of word vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.task import Outcome, Texts, TextTask

# One file is split into ten folds; with two, the second is the test; with three, the second
# chooses C.
FILES = {
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
FOLDS = 10
_STRENGTHS = (0.01, 0.1, 1.0)


@dataclass(frozen=True, eq=False)
class TextClassification(TextTask):
    """Accuracy of logistic regression on the standardized averages of word vectors.

    `part` is the number of each text's file. Texts of one file are tested in ten folds, and C is
    chosen on the fold after each. Otherwise the last file is the test, and C is chosen on the file
    before it, or on a tenth of the first.
    """

    dataset: str
    sentences: Sequence[str]
    labels: NDArray[np.intp]
    part: NDArray[np.intp]
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
        folds = np.random.default_rng(0).permutation(len(self.labels)) % FOLDS
        last = int(self.part.max())
        if not last:
            for fold in range(FOLDS):
                test, choose = folds == fold, folds == (fold + 1) % FOLDS
                yield ~test & ~choose, choose, test
            return
        choose = self.part == 1 if last > 1 else (self.part == 0) & (folds == 0)
        test = self.part == last
        yield ~test & ~choose, choose, test


def read_classification(
    dataset: str, paths: Mapping[str, str | os.PathLike[str]]
) -> TextClassification:
    """Read the files of a dataset: a label and a text on each line."""
    sentences: list[str] = []
    labels: list[str] = []
    part: list[int] = []
    for number, name in enumerate(FILES[dataset]):
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
