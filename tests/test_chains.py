"""Methods one after the other give what doing so by hand gives."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import AllButTheTop, ConceptorNegation, InvalidInputError
from conceptor.chains import Lexicon, Stream, spectral_step
from conceptor.comparison import compare
from conceptor.estimation import Weighting
from conceptor.evaluation import Battery
from conceptor.lexicon import CounterFitting
from conceptor.methods import Settings, checked
from conceptor.usage import Usage

PAIRS = ["w1 w2", "w3 w4", "w5 w60"]


@pytest.fixture
def space(rng):
    X = rng.standard_normal((200, 6)) * [3, 2, 1, 1, 0.5, 0.5] + 1
    return [f"w{i}" for i in range(200)], X.astype(np.float32)


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "syn.txt").write_text("\n".join(PAIRS[:2]))
    (tmp_path / "ant.txt").write_text("\n".join(PAIRS[2:]))
    return Settings(
        aperture=0.7,
        directions=1,
        vocabulary=Weighting(Usage(top=150), "the first 150"),
        lexicon=Lexicon((tmp_path / "syn.txt",), (tmp_path / "ant.txt",)),
    )


class Keeping:
    """A benchmark that only remembers the rows it was given."""

    dataset = "kept"
    words = frozenset(f"w{i}" for i in range(0, 200, 7))

    def __init__(self):
        self.seen = []

    def score(self, vectors, missing):
        self.seen.append((list(vectors.words), np.array(vectors.vectors)))


def rows_of(space, settings, *methods):
    task = Keeping()
    compare(space, Battery([task]), list(methods), settings, resamples=0)
    return dict(zip(methods, task.seen, strict=True))


def by_hand(space, settings, *steps):
    words, X = space
    for step in steps:
        if step == "counterfit":
            lexicon = settings.lexicon
            method = CounterFitting(lexicon.synonyms, lexicon.antonyms)
            X = method.fit((words, X)).transform(words, X)
        else:
            kinds = {"cn": ConceptorNegation(0.7), "abtt": AllButTheTop(1)}
            X = kinds[step].fit(X[:150]).transform(X)
    return X


def test_chains_are_fitted_on_what_came_before(space, settings):
    chains = ["original", "cn", "counterfit", "cn+counterfit", "counterfit+cn", "abtt+cn"]
    found = rows_of(space, settings, *chains)
    for chain in chains:
        words, rows = found[chain]
        assert words == [w for w in space[0] if w in Keeping.words]
        steps = () if chain == "original" else chain.split("+")
        expected = by_hand(space, settings, *steps)[::7]
        np.testing.assert_allclose(rows, expected, atol=1e-5)
    assert not np.allclose(found["cn+counterfit"][1], found["counterfit+cn"][1], atol=1e-3)


def test_a_stream_can_be_read_again(space):
    weighting = Weighting(Usage(), "all")
    stream = Stream(space).then(spectral_step(ConceptorNegation(0.7).fit_moments, weighting))
    first, second = (np.concatenate([rows for _, rows in stream.chunks()]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, ConceptorNegation(0.7).fit_transform(space[1]), atol=1e-5)


def test_every_step_of_a_chain_must_be_known():
    assert checked(["cn+counterfit", "cn", "cn"]) == ["cn+counterfit", "cn"]
    for wrong in ("cn+original", "cn+", "+", "counterfitting", "cn+nothing"):
        with pytest.raises(InvalidInputError, match="no method is called"):
            checked([wrong])


def test_progress_names_the_method_that_is_fitted_to_a_lexicon(space, settings):
    told = {}
    compare(
        space,
        Battery([Keeping()]),
        ["counterfit", "cn+retrofit"],
        settings,
        resamples=0,
        progress=lambda label, fraction, words: told.update({label: fraction}),
    )
    assert told["counterfit: fitting"] == told["cn+retrofit: fitting"] == 1
