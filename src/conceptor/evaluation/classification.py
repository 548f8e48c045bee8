"""Text classification: logistic regression on texts as averages of word vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.task import Outcome
from conceptor.evaluation.texts import Texts, TextTask

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

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
    """Accuracy of logistic regression on the standardised averages of word vectors.

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

    def score_texts(self, made: NDArray[Any], known: NDArray[np.bool_]) -> Outcome:
        """Score vectors of `texts`, however they were made."""
        right = np.zeros(len(self.labels), dtype=np.bool_)
        tested = np.zeros(len(self.labels), dtype=np.bool_)
        for train, choose, test in self._splits():
            right[test] = self._right(made, train, choose, test)
            tested |= test
        used, total = int((known & tested).sum()), int(tested.sum())
        return Outcome.of(self, used, total, Mean(right[tested]))

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

    def _right(
        self,
        made: NDArray[Any],
        train: NDArray[np.bool_],
        choose: NDArray[np.bool_],
        test: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        # Newton's method is much faster than the default if texts outnumber dimensions, and each
        # fit starts from the last solution.
        model = LogisticRegression(solver="newton-cholesky", tol=1e-3, warm_start=True)
        scaled = StandardScaler().fit(made[train]).transform(made).astype(np.float32)

        def fit(rows: NDArray[np.bool_], strength: float) -> LogisticRegression:
            return model.set_params(C=strength).fit(scaled[rows], self.labels[rows])

        scores = [
            fit(train, strength).score(scaled[choose], self.labels[choose])
            for strength in _STRENGTHS
        ]
        best = fit(train | choose, _STRENGTHS[int(np.argmax(scores))])
        right: NDArray[np.bool_] = best.predict(scaled[test]) == self.labels[test]
        return right


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
