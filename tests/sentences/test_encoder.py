"""Sentence vectors against their formulas, written out; streams, threads and wrong input."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from conceptor import Moments, SentenceEncoder
from conceptor.algebra.gates import leading_aperture, negated_conceptor
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.errors import InvalidInputError
from conceptor.sentences.spelling import Spelling


def original(table, **options):
    """Return an encoder of the vectors as they are."""
    return SentenceEncoder(table, words="original", **options)


def averages(table, sentences, **options):
    return SentenceEncoder(table, removal=0, **options).fit(sentences).transform(sentences)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def shares(counts):
    numbers = np.array(list(counts.values()))
    return numbers / numbers.sum()


class TestWordWeights:
    def test_average_is_the_mean_of_known_words(self, table):
        encoder = original(table, weights="average", removal=0, unknown="skip").fit(["w1"])
        expected = table[1][[1, 1, 5]].mean(axis=0)
        for sentence in (["w1", "w1", "w5", "unheard"], "W1 w1 w5, unheard!"):
            np.testing.assert_allclose(encoder.transform([sentence])[0], expected)

    def test_sif_is_its_formula(self, table, counts):
        encoder = original(table, removal=0, frequencies=counts, a=0.01).fit(["w1"])
        rows = [0, 3, 59]
        weights = 0.01 / (0.01 + shares(counts)[rows])
        expected = (weights[:, np.newaxis] * table[1][rows]).mean(axis=0)
        np.testing.assert_allclose(encoder.transform([["w0", "w3", "w59"]])[0], expected)

    def test_frequencies_from_counts_and_ranks(self, table, counts):
        more = counts | {"elsewhere": 5000.0}
        encoder = SentenceEncoder(table, frequencies=more).fit(["w1"])
        np.testing.assert_allclose(encoder.probabilities_, shares(more)[:60])
        # A word without a count is as rare as the rarest.
        encoder = SentenceEncoder(table, frequencies={"w0": 30.0, "w1": 10.0}).fit(["w1"])
        np.testing.assert_allclose(encoder.probabilities_[:3], [0.75, 0.25, 0.25])
        by_rank = 1 / (np.arange(60) + 2.7)
        encoder = SentenceEncoder(table).fit(["w1"])
        np.testing.assert_allclose(encoder.probabilities_, by_rank / by_rank.sum())


class TestPostProcessedWords:
    """The square root of the negation, on unit vectors."""

    @pytest.fixture
    def encoder(self, table, counts):
        return SentenceEncoder(table, weights="average", removal=0, frequencies=counts)

    def test_every_word_is_its_mapped_unit_vector(self, table, encoder, counts):
        words, vectors = table
        p = shares(counts)
        values, axes = np.linalg.eigh((unit(vectors) * p[:, None]).T @ unit(vectors))
        expected = unit(vectors) @ (axes / np.sqrt(1 + values / values.mean())) @ axes.T
        result = encoder.fit(["w1"]).transform([[word] for word in words])
        np.testing.assert_allclose(result, expected)
        after = np.linalg.eigvalsh(Moments.from_vectors(result, p).second_moment)
        np.testing.assert_allclose(after, values / (1 + values / values.mean()))

    def test_half_precision_and_zeros(self, table):
        words, vectors = table
        small = vectors.astype(np.float16)
        small[3] = 0
        result = SentenceEncoder((words, small), removal=0).fit(["w1"]).transform(["w3", "w4"])
        assert not result[0].any()
        assert np.isfinite(result[1]).all()


class TestRemoval:
    @pytest.mark.parametrize("count", [1, 4])
    def test_of_directions_is_uncentered_all_but_the_top(self, table, sentences, count):
        plain = averages(table, sentences)
        first = np.linalg.svd(plain, full_matrices=False)[2][:count]
        result = SentenceEncoder(table, removal=count).fit_transform(sentences)
        np.testing.assert_allclose(result, plain - plain @ first.T @ first, atol=1e-10)
        with pytest.raises(InvalidInputError, match="directions must be between 0 and 6"):
            SentenceEncoder(table, removal=7).fit(sentences)

    @pytest.mark.parametrize("aperture", ["leading", 0.5])
    def test_of_a_conceptor_is_its_negation(self, table, sentences, aperture):
        plain = averages(table, sentences)
        spectrum = Spectrum.from_matrix(Moments.from_vectors(plain).second_moment)
        alpha = (
            leading_aperture(spectrum.values, 0.2)
            if aperture == "leading"
            else 0.5 / np.sqrt(spectrum.values.mean())
        )
        expected = plain @ spectrum.matrix(negated_conceptor(spectrum.values, alpha))
        result = SentenceEncoder(table, aperture=aperture).fit_transform(sentences)
        np.testing.assert_allclose(result, expected, atol=1e-10)


class TestUnknownWords:
    def test_without_a_known_word_a_sentence_is_zero_and_does_not_count(self, table, sentences):
        clean = SentenceEncoder(table, unknown="skip").fit(sentences)
        noisy = SentenceEncoder(table, unknown="skip").fit([*sentences, ["unheard"], [], "?!"])
        np.testing.assert_allclose(noisy.map_.matrix, clean.map_.matrix, atol=1e-12)
        has_vector = noisy.encode([["unheard"], "", ["w1"]]).any(axis=1)
        assert has_vector.tolist() == [False, False, True]
        spelled = SentenceEncoder(table).fit(sentences).encode([["unheard"], "", ["w1"]])
        assert spelled.any(axis=1).tolist() == [True, False, True]

    @pytest.mark.parametrize("weights", ["average", "sif"])
    def test_they_are_averaged_as_if_they_were_known(self, table, sentences, weights, counts):
        counts |= {"w3x": 70.0}
        strange = ["w3x", "other", "w60"]
        words, vectors = table
        more = np.vstack([vectors, Spelling(words, vectors)(strange)])
        mixed = [[*sentence, strange[i % 3]] for i, sentence in enumerate(sentences)]
        options = {"weights": weights, "frequencies": counts}
        spelled = original(table, **options).fit(mixed)
        known = original((words + strange, more), unknown="skip", **options).fit(mixed)
        np.testing.assert_allclose(spelled.transform(mixed), known.transform(mixed), atol=1e-12)

    def test_they_are_split_at_hyphens_and_slashes(self, table):
        words, vectors = table
        table = ["w1-w2", *words], np.vstack([vectors[5:6], vectors])
        whole, apart = ["w1-w2", "w3/w4-zzz"], ["w1-w2", "w3", "w4", "zzz"]
        encoder = SentenceEncoder(table, removal=0).fit(["w1"])
        np.testing.assert_array_equal(*encoder.transform([whole, apart]))
        skipping = SentenceEncoder(table, unknown="skip", removal=0).fit(["w1"])
        np.testing.assert_array_equal(*skipping.transform([whole, ["w1-w2"]]))
        # Function words and contractions are not spelled.
        assert not encoder.encode([["of", "'s", "n't", "-", ""]]).any()
        assert encoder.encode([["日本"], ["2012"], ["cat"]]).any(axis=1).all()

    def test_threads_and_copies_change_nothing(self, table):
        stream = [f"w{i % 60} strange{i} w{i % 7}-w{i % 5} word{i % 40}s" for i in range(400)]
        encoder = original(table).fit(stream)
        expected = encoder.encode(stream)
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(encoder.encode, np.split(np.array(stream), 40)))
        np.testing.assert_allclose(np.concatenate(results), expected, atol=1e-12)
        for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
            np.testing.assert_allclose(other.encode(stream), expected, atol=1e-12)


class TestFitting:
    def test_a_stream_gives_the_same_as_a_list(self, table, sentences, monkeypatch):
        whole = SentenceEncoder(table).fit(sentences)
        monkeypatch.setattr("conceptor.sentences.encoder._BATCH", 7)
        streamed = SentenceEncoder(table).fit(iter(sentences))
        assert streamed.moments_.count == len(sentences)
        np.testing.assert_allclose(streamed.map_.matrix, whole.map_.matrix, atol=1e-10)
        result = SentenceEncoder(table).fit_transform(iter(sentences))
        np.testing.assert_allclose(result, whole.transform(sentences), atol=1e-10)

    def test_a_new_fit_forgets_the_last(self, table, sentences, rng, counts):
        other = table[0], rng.standard_normal((60, 6))
        encoder = SentenceEncoder(table, frequencies=counts).fit([["w1", "zzz"]] * 3)
        encoder.transform(["zzz"])
        result = encoder.set_params(vectors=other).fit(sentences).transform([["w1", "zzz"]])
        expected = SentenceEncoder(other, frequencies=counts).fit(sentences)
        np.testing.assert_array_equal(result, expected.transform([["w1", "zzz"]]))

    def test_only_a_fit_makes_it_fitted(self, table):
        encoder = SentenceEncoder(table)
        with pytest.raises(NotFittedError):
            encoder.transform(["w1"])
        with pytest.raises(InvalidInputError, match="no sentences"):
            encoder.fit([])
        with pytest.raises(NotFittedError):
            encoder.transform(["w1"])
        assert encoder.fit(["w1"]).encode([]).shape == (0, 6)


class TestWrongInput:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"removal": "second"},
            {"removal": -1},
            {"words": "pca"},
            {"weights": None},
            {"a": 0},
            {"aperture": "large"},
        ],
    )
    def test_parameters(self, table, wrong):
        with pytest.raises(InvalidInputError, match=f"^{next(iter(wrong))} must be"):
            SentenceEncoder(table, **wrong).fit(["w1"])

    @pytest.mark.parametrize("frequencies", [{"w1": 0.0}, {"w1": np.inf}, {"elsewhere": 3.0}])
    def test_frequencies(self, table, frequencies):
        message = "check that frequencies and vectors match|count of 'w1' must be finite"
        with pytest.raises(InvalidInputError, match=message):
            original(table, frequencies=frequencies).fit(["w1"])

    @pytest.mark.parametrize("sentence", [None, 3, b"w1 w2", ["w1", 2], [["w1"]]])
    def test_sentences(self, table, sentence):
        encoder = SentenceEncoder(table).fit(["w1"])
        with pytest.raises(InvalidInputError, match="pass text or a list of words"):
            encoder.transform([sentence])
        for method in (encoder.fit, encoder.fit_transform):
            with pytest.raises(InvalidInputError, match="into a list of sentences"):
                method("w1 w2")


def test_tokens_may_come_one_by_one(table):
    encoder = SentenceEncoder(table).fit(["w1"])
    tokens = ["w1", "w2"]
    result = encoder.transform([iter(tokens), tuple(tokens), np.array(tokens)])
    np.testing.assert_array_equal(result[1:], result[:2])


def test_repr_does_not_print_the_vectors():
    many = {f"w{i}": np.zeros(3) for i in range(100_000)}
    assert len(repr(SentenceEncoder(many, frequencies=dict.fromkeys(many, 1.0)))) < 500
