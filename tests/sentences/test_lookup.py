"""Looking words up: what is remembered changes no result, whoever asks and in what order."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.tokens import tokenize
from conceptor.sentences import lookup
from conceptor.sentences.encoder import SentenceEncoder
from conceptor.sentences.lookup import is_spelt, split_unknown
from conceptor.vectors import memory
from tests.sentences.toy import COUNTS, WORDS

VECTORS = np.random.default_rng(0).standard_normal((60, 6)) + 1
PARTS = st.one_of(
    st.sampled_from(
        [*WORDS[:20], "w1-w2", "w1/unheard", "unheard", "W3's", "cannot", "of", "-", ""]
    ),
    st.sampled_from([" ", "  ", "\t", "\u00a0", "\x1c", "\u2019", "É", "日本"]),
    st.text(max_size=4),
)
SENTENCES = st.lists(st.lists(PARTS, max_size=8), min_size=1, max_size=6)


def make_encoder(unknown="spelling", **options):
    table = WORDS, VECTORS
    made = SentenceEncoder(table, unknown=unknown, words="original", frequencies=COUNTS, **options)
    return made.fit([["w1"], ["w2"]])


def plain(encoder, tokens):
    """The average of a sentence, word by word."""
    rows = {word: row for row, word in enumerate(WORDS)}
    found = []
    for token in tokens if encoder.unknown == "skip" else split_unknown(tokens, rows):
        if token in rows:
            found.append(encoder.word_weights_[rows[token]] * VECTORS[rows[token]])
        elif encoder.unknown == "spelling" and is_spelt(token):
            probability = encoder._frequencies.of([token])
            found.append(encoder._weights(probability)[0] * SPELLING([token])[0])
    return np.mean(found, axis=0) if found else np.zeros(VECTORS.shape[1])


SPELLING = lookup.Spelling(WORDS, VECTORS)
ENCODERS = {unknown: make_encoder(unknown) for unknown in ("spelling", "split", "skip")}


@pytest.mark.parametrize("unknown", ENCODERS)
@given(SENTENCES)
def test_averages_are_those_of_the_words_one_by_one(unknown, sentences):
    """The encoders have seen the sentences of all examples before."""
    encoder = ENCODERS[unknown]
    texts = ["".join(parts) for parts in sentences]
    for given_, tokens in ((sentences, sentences), (texts, list(map(tokenize, texts)))):
        averages, known = encoder.averages(given_)
        expected = np.array([plain(encoder, each) for each in tokens])
        np.testing.assert_allclose(averages, expected, rtol=1e-9, atol=1e-12)
        assert (known | ~averages.any(axis=1)).all()


STREAM = [f"w{i % 60} strange{i} w{i % 7}-w{i % 5} word{i % 40}s" for i in range(400)]


def test_forgetting_changes_nothing(monkeypatch):
    expected = make_encoder().encode(STREAM)
    monkeypatch.setattr(memory, "_MOST", 10)
    monkeypatch.setattr(lookup, "_MOST_SPELT", 5)
    encoder = make_encoder()
    for _ in range(2):
        found = [encoder.encode(STREAM[i : i + 30]) for i in range(0, len(STREAM), 30)]
        np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-12)
    assert len(encoder._lookup._numbers) < 100


def test_threads_share_an_encoder(monkeypatch):
    expected = make_encoder().encode(STREAM)
    monkeypatch.setattr(lookup, "_MOST_SPELT", 20)
    encoder = make_encoder()
    parts = [slice(i, i + 10) for i in range(0, len(STREAM), 10)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: encoder.encode(STREAM[part]), parts))
    np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-12)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_remember_nothing_and_encode_alike(duplicate):
    encoder = make_encoder()
    expected = encoder.encode(STREAM)
    other = duplicate(encoder)
    assert not other._lookup._of_runs
    np.testing.assert_array_equal(other.encode(STREAM), expected)


def test_no_sentences_at_all():
    assert make_encoder().encode([]).shape == (0, 6)
