"""Methods one after the other give what doing so by hand gives."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import AllButTheTop, ConceptorNegation, InvalidInputError
from conceptor.evaluation import Battery, Outcome
from conceptor.evaluation.compare.words import compare
from conceptor.evaluation.statistics import Mean
from conceptor.fitting import FitOptions, fit_methods
from conceptor.lexicon import CounterFitting
from conceptor.lexicon.files import Lexicon
from conceptor.methods import as_methods
from conceptor.vectors.chunks import MappedVectors, as_vectors
from conceptor.weights import rank_weights

CN, ABTT = "cn-paper:aperture=0.7", "abtt:n_directions=1"
PAIRS = ["w1 w2", "w3 w4", "w5 w60"]


@pytest.fixture
def space(rng):
    X = rng.standard_normal((200, 6)) * [3, 2, 1, 1, 0.5, 0.5] + 1
    return [f"w{i}" for i in range(200)], X.astype(np.float32)


@pytest.fixture
def options(tmp_path):
    (tmp_path / "syn.txt").write_text("\n".join(PAIRS[:2]))
    (tmp_path / "ant.txt").write_text("\n".join(PAIRS[2:]))
    lexicon = Lexicon((tmp_path / "syn.txt",), (tmp_path / "ant.txt",))
    return FitOptions(vocabulary="top:150", lexicon=lexicon)


class Keeping:
    """A benchmark that only remembers the rows it was given."""

    dataset = "kept"
    words = frozenset(f"w{i}" for i in range(0, 200, 7))

    def __init__(self):
        self.seen = []

    def score(self, vectors, missing):
        self.seen.append((list(vectors.words), np.array(vectors.vectors)))
        return Outcome("toy", "toy", "toy", 0, 0, Mean(np.zeros(0)))


def rows_of(space, options, *methods):
    task = Keeping()
    compare(space, list(methods), Battery([task]), options, resamples=0)
    return dict(zip(methods, task.seen, strict=True))


def by_hand(space, options, *steps):
    words, X = space
    for step in steps:
        if step == "counterfit":
            lexicon = options.lexicon
            method = CounterFitting(lexicon.synonyms, lexicon.antonyms)
            X = method.fit((words, X)).transform(words, X)
        else:
            kinds = {CN: ConceptorNegation(0.7, power=1, unit=False), ABTT: AllButTheTop(1)}
            X = kinds[step].fit(X[:150]).transform(X)
    return X


def test_chains_are_fitted_on_what_came_before(space, options):
    chains = ["original", CN, "counterfit", f"{CN}+counterfit", f"counterfit+{CN}"]
    chains.append(f"{ABTT}+{CN}")
    found = rows_of(space, options, *chains)
    for chain in chains:
        words, rows = found[chain]
        assert words == [w for w in space[0] if w in Keeping.words]
        steps = () if chain == "original" else chain.split("+")
        expected = by_hand(space, options, *steps)[::7]
        np.testing.assert_allclose(rows, expected, atol=1e-5)
    assert not np.allclose(found[chains[3]][1], found[chains[4]][1], atol=1e-3)


def test_a_stream_can_be_read_again(space):
    fitted = fit_methods(space, [CN], FitOptions(vocabulary="top:200")).methods[CN]
    stream = MappedVectors(as_vectors(space), fitted.transforms)
    first, second = (np.concatenate([rows for _, rows in stream.chunks()]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(
        first, ConceptorNegation(0.7, power=1, unit=False).fit_transform(space[1]), atol=1e-5
    )


def test_every_step_of_a_chain_must_be_known():
    assert list(as_methods(["cn+counterfit", "cn", "cn"])) == ["cn+counterfit", "cn"]
    for wrong in ("cn+original", "cn+", "+", "counterfitting", "cn+nothing"):
        with pytest.raises(InvalidInputError, match="unknown method"):
            as_methods([wrong])


def test_progress_names_the_method_that_is_fitted_to_a_lexicon(space, options):
    told = {}
    compare(
        space,
        ["counterfit", "cn+retrofit"],
        Battery([Keeping()]),
        options,
        resamples=0,
        progress=lambda label, fraction, words: told.update({label: fraction}),
    )
    assert told["counterfit: fitting"] == told["retrofit: fitting"] == 1


def test_sif_makes_plain_averages_those_of_sif(rng):
    words = [f"w{i}" for i in range(2000)]
    X = rng.normal(size=(2000, 5))
    share = rank_weights(0, 2000)
    share /= share.sum()
    fitted = fit_methods((words, X), ["sif", "cn+sif"], FitOptions(weights="zipf"))
    expected = X * (1e-3 / (1e-3 + share))[:, None]
    np.testing.assert_allclose(fitted.methods["sif"](words, X), expected, rtol=1e-3)
    after = ConceptorNegation(weights="zipf").fit_transform(X) * (1e-3 / (1e-3 + share))[:, None]
    np.testing.assert_allclose(fitted.methods["cn+sif"](words, X), after, rtol=1e-3)
    counts = dict.fromkeys(words[:3], 1.0)
    by_count = fit_methods((words, X), ["sif"], FitOptions(weights=counts)).methods["sif"]
    np.testing.assert_allclose(by_count(words, X)[:3], X[:3] * 1e-3 / (1e-3 + 1 / 3))
    np.testing.assert_array_equal(by_count(words, X)[3:], X[3:])
    with pytest.raises(InvalidInputError, match="sif needs word frequencies"):
        fit_methods((words, X), ["sif"], FitOptions(weights="uniform"))
