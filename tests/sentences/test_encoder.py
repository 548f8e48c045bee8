from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from conceptor import InvalidInputError, Moments, Spectrum
from conceptor.algebra.aperture import leading_aperture
from conceptor.algebra.gates import negated_conceptor
from conceptor.sentences.encoder import SentenceEncoder
from conceptor.sentences.frequencies import usif_a
from conceptor.sentences.spelling import Spelling
from conceptor.weights import SIF_A, sif_weights
from tests.sentences.toy import COUNTS, WORDS


def original(table, **options):
    """Return an encoder of the vectors as they are."""
    return SentenceEncoder(table, words="original", **options)


def plain_average(table, sentence, weight):
    words, vectors = table
    rows = [words.index(token) for token in sentence if token in words]
    return np.mean([weight(row) * vectors[row] for row in rows], axis=0)


def test_average_is_the_mean_of_known_words(table):
    encoder = original(table, weights="average", removal=0, unknown="skip").fit(["w1"])
    sentence = ["w1", "w1", "w5", "unheard"]
    expected = plain_average(table, sentence, lambda row: 1.0)
    np.testing.assert_allclose(encoder.transform([sentence])[0], expected)
    np.testing.assert_allclose(encoder.transform(["W1 w1 w5, unheard!"])[0], expected)


def test_sif_weighs_by_its_formula(table):
    encoder = original(table, removal=0, frequencies=COUNTS, a=0.01).fit(["w1"])
    total = sum(COUNTS.values())
    sentence = ["w0", "w3", "w59"]
    expected = plain_average(
        table, sentence, lambda row: 0.01 / (0.01 + COUNTS[WORDS[row]] / total)
    )
    np.testing.assert_allclose(encoder.transform([sentence])[0], expected)


def test_counts_may_know_more_words_than_the_vectors(table):
    more = COUNTS | {"elsewhere": 5000.0}
    encoder = SentenceEncoder(table, removal=0, frequencies=more).fit(["w1"])
    total = sum(more.values())
    np.testing.assert_allclose(encoder.probabilities_, [COUNTS[w] / total for w in WORDS])


def test_words_without_a_count_are_as_rare_as_the_rarest(table):
    encoder = SentenceEncoder(table, frequencies={"w0": 30.0, "w1": 10.0}).fit(["w1"])
    np.testing.assert_allclose(encoder.probabilities_[:3], [0.75, 0.25, 0.25])


def test_zipf_takes_ranks(table):
    encoder = SentenceEncoder(table).fit(["w1"])
    shares = 1 / (np.arange(60) + 2.7)
    np.testing.assert_allclose(encoder.probabilities_, shares / shares.sum())


def test_frequencies_are_chosen_as_everywhere_else(rng):
    words = [f"{first}{second}" for first in "abcdefghijkl" for second in "abcdefghijkl"]
    table = words, rng.standard_normal((len(words), 4))
    with pytest.warns(UserWarning, match="alphabetical order, so ranks do not reflect"):
        SentenceEncoder(table).fit([["ab"]])
    with pytest.raises(InvalidInputError, match="alphabetical order"):
        SentenceEncoder(table, frequencies="zipf").fit([["ab"]])
    assert SentenceEncoder(table, frequencies="uniform").fit([["ab"]]).transform([["ab"]]).any()


def test_usif_by_its_formula(table, sentences):
    """Ethayarajh 2018, section 3.2, spelt out with the n of the author's code."""
    encoder = original(table, weights="usif", removal=0, frequencies=COUNTS)
    encoder.fit(sentences)
    p = np.array(list(COUNTS.values())) / sum(COUNTS.values())
    threshold = 1 - (1 - 1 / 60) ** 11
    alpha = np.sum(p > threshold) / 60
    a = (1 - alpha) / (alpha * 60 / 2)
    assert usif_a(p) == pytest.approx(a)
    np.testing.assert_allclose(encoder.word_weights_, a / (a / 2 + p))
    words, vectors = table
    for sentence, found in zip(sentences, encoder.transform(sentences), strict=True):
        rows = [words.index(token) for token in sentence]
        normalized = vectors[rows] / np.linalg.norm(vectors[rows], axis=0)
        expected = np.mean((a / (a / 2 + p))[rows, None] * normalized, axis=0)
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("p", [np.ones(1), np.full(5, 0.2), np.array([0.999, 0.001])])
def test_usif_survives_odd_vocabularies(p):
    a = usif_a(p)
    assert 0 < a < np.inf
    assert np.isfinite(a / (a / 2 + p)).all()


def test_sif_weights_fall_with_frequency():
    weights = sif_weights(np.array([0.0, 1e-3, 1.0]), SIF_A)
    np.testing.assert_allclose(weights, [1.0, 0.5, 1 / 1001])


def averages(table, sentences, **options):
    return SentenceEncoder(table, removal=0, **options).fit(sentences).transform(sentences)


@pytest.mark.parametrize("count", [1, 4])
def test_removal_of_directions_is_uncentred_all_but_the_top(table, sentences, count):
    plain = averages(table, sentences)
    first = np.linalg.svd(plain, full_matrices=False)[2][:count]
    found = SentenceEncoder(table, removal=count).fit_transform(sentences)
    np.testing.assert_allclose(found, plain - plain @ first.T @ first, atol=1e-10)
    with pytest.raises(InvalidInputError, match="directions must be between 0 and 6"):
        SentenceEncoder(table, removal=7).fit(sentences)


class TestLevelledWords:
    """The square root of the negation, on vectors at length 1."""

    @pytest.fixture
    def levelled(self, table):
        return SentenceEncoder(table, weights="average", removal=0, frequencies=COUNTS)

    def test_every_word_is_its_mapped_unit_vector(self, table, levelled):
        """Spelt out by eigenvalues, with R at mean eigenvalue 1."""
        words, vectors = table
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        p = np.array(list(COUNTS.values())) / sum(COUNTS.values())
        values, axes = np.linalg.eigh((unit * p[:, None]).T @ unit)
        expected = unit @ (axes / np.sqrt(1 + values / values.mean())) @ axes.T
        found = levelled.fit(sentences := [[word] for word in words]).transform(sentences)
        np.testing.assert_allclose(found, expected)

    def test_strong_directions_are_levelled_and_none_falls_below_a_weaker_one(
        self, table, levelled
    ):
        words, vectors = table
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        p = np.array(list(COUNTS.values()))
        found = levelled.fit(sentences := [[word] for word in words]).transform(sentences)
        before = np.linalg.eigvalsh(Moments.from_vectors(unit, p).second_moment)
        after = np.linalg.eigvalsh(Moments.from_vectors(found, p).second_moment)
        np.testing.assert_allclose(after, before / (1 + before / before.mean()))
        assert after[-1] / after[0] < before[-1] / before[0]

    def test_lengths_of_the_vectors_do_not_matter(self, table, levelled, rng):
        words, vectors = table
        other = words, vectors * rng.uniform(0.1, 9, size=(60, 1))
        found = levelled.fit(["w1"]).transform(["w1 w7"])
        again = levelled.set_params(vectors=other).fit(["w1"]).transform(["w1 w7"])
        np.testing.assert_allclose(again, found)

    def test_words_without_a_count_are_mapped_but_tell_nothing(self, table, levelled, rng):
        words, vectors = table
        more = [*words, "uncounted"], np.vstack([vectors, rng.standard_normal((1, 6))])
        found = levelled.fit(["w1"]).transform(["w1 w7"])
        again = levelled.set_params(vectors=more).fit(["w1"]).transform(["w1 w7", "uncounted"])
        np.testing.assert_allclose(again[:1], found)
        assert again[1].any()

    def test_single_precision_and_zeros_survive(self, table):
        words, vectors = table
        small = vectors.astype(np.float16)
        small[3] = 0
        encoder = SentenceEncoder((words, small), removal=0).fit(["w1"])
        found = encoder.transform(["w3", "w4"])
        assert not found[0].any()
        assert np.isfinite(found[1]).all()


def test_piecewise_removal_as_ethayarajh_writes_it(table, sentences):
    plain = averages(table, sentences)
    _, strengths, directions = np.linalg.svd(plain, full_matrices=False)
    shares = strengths[:5] ** 2 / np.sum(strengths[:5] ** 2)
    expected = plain.copy()
    for share, direction in zip(shares, directions, strict=False):
        expected -= share * np.outer(plain @ direction, direction)
    found = SentenceEncoder(table, removal="piecewise").fit_transform(sentences)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("dimension", [1, 3])
def test_piecewise_removal_of_few_or_no_directions(dimension):
    words = ["a", "b"]
    for table in ((words, np.zeros((2, dimension))), (words, np.eye(2, dimension))):
        encoder = SentenceEncoder(table, removal="piecewise").fit([words])
        assert np.isfinite(encoder.transform([["a"], ["b"]])).all()


@pytest.mark.parametrize("aperture", ["leading", 0.5])
def test_conceptor_removal_is_conceptor_negation_of_the_sentences(table, sentences, aperture):
    plain = averages(table, sentences)
    spectrum = Spectrum.from_matrix(Moments.from_vectors(plain).second_moment)
    alpha = (
        leading_aperture(spectrum.values, 0.2)
        if aperture == "leading"
        else 0.5 / np.sqrt(spectrum.values.mean())
    )
    expected = plain @ spectrum.matrix(negated_conceptor(spectrum.values, alpha))
    found = SentenceEncoder(table, aperture=aperture).fit_transform(sentences)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("weights", ["average", "sif"])
def test_a_stream_gives_what_one_fit_gives(table, sentences, weights):
    whole = SentenceEncoder(table, weights=weights).fit(sentences)
    streamed = SentenceEncoder(table, weights=weights).fit(iter(sentences))
    parts = SentenceEncoder(table, weights=weights)
    for start in range(0, 300, 37):
        parts.partial_fit(sentences[start : start + 37])
    for other in (streamed, parts):
        np.testing.assert_allclose(other.map_.matrix, whole.map_.matrix, atol=1e-10)


def test_fit_forgets_what_was_learnt_before(table, sentences):
    once = SentenceEncoder(table).fit(sentences[:50])
    again = SentenceEncoder(table).fit(sentences).fit(sentences[:50])
    np.testing.assert_array_equal(again.map_.matrix, once.map_.matrix)


def test_sentences_without_a_known_word_are_zero_and_do_not_count(table, sentences):
    clean = SentenceEncoder(table, unknown="skip").fit(sentences)
    noisy = SentenceEncoder(table, unknown="skip").fit([*sentences, ["unheard"], [], "?!"])
    np.testing.assert_allclose(noisy.map_.matrix, clean.map_.matrix, atol=1e-12)
    vectors = noisy.encode(given := [["unheard"], "", ["w1"]])
    known = noisy.averages(given)[1]
    assert known.tolist() == [False, False, True]
    assert not vectors[:2].any()
    skipping = SentenceEncoder(table, unknown="skip").fit([["unheard"]])
    assert skipping.transform(["w1"]).any()


class TestUnknownWords:
    def test_a_sentence_of_them_has_a_vector_and_only_an_empty_one_is_zero(self, table, sentences):
        encoder = SentenceEncoder(table).fit(sentences)
        vectors = encoder.encode(given := [["unheard"], "", ["w1"]])
        known = encoder.averages(given)[1]
        assert known.tolist() == [True, False, True]
        assert vectors[0].any()
        assert not vectors[1].any()

    def test_they_are_averaged_as_if_they_had_been_known(self, table, sentences):
        """Against vectors to which the spelt ones were added by hand."""
        counts = COUNTS | {"w3x": 70.0}
        strange = ["w3x", "other", "w60"]
        words, vectors = table
        more = np.vstack([vectors, Spelling(words, vectors)(strange)])
        mixed = [[*sentence, strange[i % 3]] for i, sentence in enumerate(sentences)]
        for weights in ("average", "sif", "usif"):
            options = {"weights": weights, "frequencies": counts}
            spelt = original(table, **options).fit(mixed)
            known = original((words + strange, more), unknown="skip", **options).fit(mixed)
            np.testing.assert_allclose(spelt.transform(mixed), known.transform(mixed), atol=1e-12)

    def test_sharing_one_makes_sentences_alike(self, table):
        encoder = SentenceEncoder(table, removal=0).fit(["w1"])
        with_it, also, without = encoder.transform([["w1", "zebra"], ["w2", "zebra"], ["w2", "q"]])
        assert with_it @ also > with_it @ without

    def test_they_are_split_at_hyphens_and_slashes(self, table):
        """Unless they are known as a whole."""
        words, vectors = table
        table = ["w1-w2", *words], np.vstack([vectors[5:6], vectors])
        whole, apart = ["w1-w2", "w3/w4-zzz"], ["w1-w2", "w3", "w4", "zzz"]
        for unknown in ("spelling", "split"):
            encoder = SentenceEncoder(table, unknown=unknown, removal=0).fit(["w1"])
            found, expected = encoder.transform([whole, apart])
            np.testing.assert_array_equal(found, expected)
        skipping = SentenceEncoder(table, unknown="skip", removal=0).fit(["w1"])
        np.testing.assert_array_equal(*skipping.transform([whole, ["w1-w2"]]))

    def test_function_words_and_contractions_are_not_spelt(self, table):
        encoder = SentenceEncoder(table, removal=0).fit(["w1"])
        said, meant = encoder.transform(["It's a w1 of w2 -- isn't it?", "isit w1 w2"])
        assert encoder.averages([["of", "'s", "n't", "-", ""]])[1].tolist() == [False]
        assert encoder.averages([["日本"], ["2012"], ["cat"]])[1].all()
        assert said @ meant > 0

    def test_of_many_words_the_frequent_ones_are_spelt_from(self, rng, monkeypatch):
        monkeypatch.setattr("conceptor.sentences.spelling.REFERENCES", 2)
        words = ["aaab", "aaac", "aaad"]
        vectors = rng.standard_normal((3, 5))
        counts = {"aaab": 1.0, "aaac": 5.0, "aaad": 9.0}
        encoder = original((words, vectors), weights="average", removal=0, frequencies=counts).fit(
            [["aaab"]]
        )
        expected = Spelling(words[1:], vectors[1:])(["aaae"])
        np.testing.assert_allclose(encoder.transform([["aaae"]]), expected)


def test_nothing_to_fit_on_and_bad_parameters_are_refused(table):
    with pytest.raises(InvalidInputError, match="no sentences"):
        SentenceEncoder(table).fit([])
    for wrong in (
        {"removal": "second"},
        {"removal": -1},
        {"removal": 1.5},
        {"words": "pca"},
        {"weights": None},
        {"a": 0},
        {"a": np.nan},
        {"aperture": -1},
        {"aperture": "large"},
    ):
        with pytest.raises(InvalidInputError, match=f"SentenceEncoder: {next(iter(wrong))} is"):
            SentenceEncoder(table, **wrong).fit(["w1"])
    for encoder in (SentenceEncoder(table), SentenceEncoder(table, weights="usif")):
        for one in (encoder.fit, encoder.fit_transform, encoder.partial_fit):
            with pytest.raises(InvalidInputError, match="into a list of sentences"):
                one("w1 w2")
    with pytest.raises(InvalidInputError, match="all frequencies are zero"):
        SentenceEncoder(table, frequencies={"w1": 0.0}).fit(["w1"])
    with pytest.raises(InvalidInputError, match="infinite"):
        SentenceEncoder(table, frequencies={"w1": np.inf}).fit(["w1"])
    with pytest.raises(InvalidInputError, match="check that frequencies and vectors match"):
        SentenceEncoder(table, frequencies={"elsewhere": 3.0}).fit(["w1"])


def test_only_a_fit_makes_it_fitted(table, sentences):
    encoder = SentenceEncoder(table)
    encoder.averages(sentences)
    for unfitted in (SentenceEncoder(table), encoder):
        with pytest.raises(NotFittedError):
            unfitted.transform(["w1"])
    with pytest.raises(InvalidInputError, match="no sentences"):
        encoder.fit([])
    with pytest.raises(NotFittedError):
        encoder.transform(["w1"])
    by_moments = SentenceEncoder(table).fit_moments(
        Moments.from_vectors(averages(table, sentences))
    )
    expected = SentenceEncoder(table).fit(sentences).transform(["w1", "w2 zzz"])
    np.testing.assert_allclose(by_moments.transform(["w1", "w2 zzz"]), expected)


def test_parameters_changed_after_a_fit_wait_for_the_next(table, sentences, tmp_path):
    encoder = SentenceEncoder(table, frequencies=COUNTS).fit(sentences)
    mixed = [["w1", "zzz"], ["w2"]]
    before = encoder.transform(mixed)
    encoder.set_params(weights="average", unknown="skip", removal=1, aperture=3.0, a=7.0)
    np.testing.assert_array_equal(encoder.transform(mixed), before)
    encoder.save(tmp_path / "encoder")
    np.testing.assert_array_equal(
        SentenceEncoder.load(tmp_path / "encoder").transform(mixed), before
    )
    encoder.partial_fit(sentences)
    np.testing.assert_allclose(encoder.transform(mixed), before)
    anew = SentenceEncoder(table, weights="average", unknown="skip", removal=1, frequencies=COUNTS)
    np.testing.assert_allclose(
        encoder.fit(sentences).transform(mixed), anew.fit(sentences).transform(mixed)
    )


@pytest.mark.parametrize("weights", ["sif", "usif"])
def test_a_new_fit_forgets_vectors_and_weights(table, sentences, rng, weights):
    words, _ = table
    other = words, rng.standard_normal((60, 6))
    options = {"weights": weights, "frequencies": COUNTS}
    encoder = SentenceEncoder(table, **options).fit([["w1", "zzz"]] * 3)
    encoder.transform(["zzz"])
    found = encoder.set_params(vectors=other).fit(sentences).transform([["w1", "zzz"]])
    expected = SentenceEncoder(other, **options).fit(sentences).transform([["w1", "zzz"]])
    np.testing.assert_array_equal(found, expected)


def test_a_long_stream_is_read_to_its_end(table, sentences, monkeypatch):
    monkeypatch.setattr("conceptor.sentences.encoder._BATCH", 7)
    streamed = SentenceEncoder(table).fit(sentence for sentence in sentences)
    assert streamed.moments_.count == len(sentences)
    found = SentenceEncoder(table).fit_transform(sentence for sentence in sentences)
    np.testing.assert_allclose(found, streamed.transform(sentences))


def test_words_of_a_data_frame_are_taken_in_order(table, sentences):
    pandas = pytest.importorskip("pandas")
    words, vectors = table
    frame = pandas.DataFrame({"word": words[::-1]}).sort_values("word", key=lambda w: w.str[1:])
    column = frame["word"]
    rows = vectors[[words.index(word) for word in column]]
    options = {"frequencies": COUNTS}
    found = SentenceEncoder((column, rows), **options).fit(sentences).transform(["w1 w7"])
    expected = SentenceEncoder(table, **options).fit(sentences).transform(["w1 w7"])
    np.testing.assert_allclose(found, expected)


def test_numbers_and_files_of_any_kind(table, sentences, tmp_path):
    counts = tmp_path / "counts.txt"
    counts.write_text("".join(f"{word} {count}\n" for word, count in COUNTS.items()))
    words, vectors = table
    encoder = SentenceEncoder(
        (words, vectors.astype(np.longdouble)),
        aperture=np.float32(0.5),
        a=np.float64(0.01),
        frequencies=counts,
    ).fit([*sentences, ["unheard"]])
    encoder.save(tmp_path / "encoder")
    counts.unlink()
    loaded = SentenceEncoder.load(tmp_path / "encoder")
    np.testing.assert_array_equal(loaded.transform(sentences), encoder.transform(sentences))


def test_repr_does_not_print_the_vectors():
    many = {f"w{i}": np.zeros(3) for i in range(100_000)}
    assert len(repr(SentenceEncoder(many, frequencies=dict.fromkeys(many, 1.0)))) < 300


@pytest.mark.parametrize("sentence", [None, 3, b"w1 w2", ["w1", 2], [["w1"]]])
def test_what_is_no_sentence_is_said(table, sentence):
    encoder = SentenceEncoder(table).fit(["w1"])
    with pytest.raises(InvalidInputError, match="pass text or a list of words"):
        encoder.transform([sentence])


def test_tokens_may_come_one_by_one(table):
    encoder = SentenceEncoder(table).fit(["w1"])
    found = encoder.transform(
        [(word for word in ("w1", "w2")), ("w1", "w2"), np.array(["w1", "w2"])]
    )
    np.testing.assert_array_equal(found[1:], found[:2])
