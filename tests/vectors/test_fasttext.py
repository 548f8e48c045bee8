"""fastText's `.bin`: words as averages of n-grams, read and written without fastText."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conceptor import open_vectors
from conceptor.base.errors import InvalidInputError
from tests.vectors.whole import read_all

WORDS = ["</s>", "été", "a", "naïve", "日本", "word", "🙂"]


def model_bytes(
    words,
    inputs,
    outputs,
    *,
    counts=None,
    buckets=0,
    shortest=3,
    longest=6,
    kind=2,
    version=12,
    quantised=False,
    labels=0,
    pruned=-1,
) -> bytes:
    """A model as Facebook's library writes it."""
    counts = range(len(words), 0, -1) if counts is None else counts
    dimension = inputs.shape[1]
    head = struct.pack(
        "<14id", 793712314, version, dimension, 5, 5, 1, 5, 1, 2, kind, buckets, shortest,
        longest, 100, 1e-4,
    )  # fmt: skip
    head += struct.pack("<3i2q", len(words), len(words) - labels, labels, sum(counts), pruned)
    for i, (word, count) in enumerate(zip(words, counts, strict=True)):
        head += word.encode() + b"\0" + struct.pack("<qb", count, i >= len(words) - labels)
    for matrix in (inputs, outputs):
        head += struct.pack("<?2q", quantised, *matrix.shape) + matrix.astype("<f4").tobytes()
    return head


@given(
    words=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
                           min_size=1, max_size=9), min_size=1, max_size=8, unique=True),
    buckets=st.integers(0, 20),
    shortest=st.integers(1, 4),
    more=st.integers(0, 4),
)  # fmt: skip
def test_words_are_averages_of_their_ngrams(
    words, buckets, shortest, more, tmp_path_factory
) -> None:
    ft_ngram_hashes = pytest.importorskip("gensim.models.fasttext").ft_ngram_hashes
    longest = shortest + more
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((len(words) + buckets, 5)).astype(np.float32)
    path = tmp_path_factory.mktemp("fasttext") / "any name"
    path.write_bytes(
        model_bytes(words, inputs, inputs[:1], buckets=buckets, shortest=shortest, longest=longest)
    )
    source = open_vectors(path)
    found, vectors = read_all(source)
    assert (source.format, found) == ("fasttext", words)
    for place, word in enumerate(words):
        grams = ft_ngram_hashes(word, shortest, longest, buckets) if buckets else []
        rows = inputs[[place, *(len(words) + gram for gram in grams)]]
        np.testing.assert_allclose(vectors[place], rows.mean(axis=0), atol=1e-5)
    assert "</s>" not in (source.counts or {})


@given(cut=st.integers(0, 10_000))
@example(cut=88)  # before the first word
def test_a_truncated_model_is_refused(cut, tmp_path_factory) -> None:
    inputs = np.ones((4, 3), dtype=np.float32)
    whole = model_bytes(["a", "bb"], inputs, inputs[:2], buckets=2)
    path = tmp_path_factory.mktemp("cut") / "model.bin"
    path.write_bytes(whole[: 4 + cut % (len(whole) - 4)])
    with pytest.raises(InvalidInputError, match=r"truncated or damaged.*fetch it again"):
        open_vectors(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"quantised": True}, "quantized fastText model"),
        ({"pruned": 3}, "quantized fastText model"),
        ({"version": 1213}, "of version 1213; supported are 11 and 12"),
        ({"buckets": 1}, "truncated or damaged"),
        ({"buckets": -7}, "-7 buckets"),
        ({"longest": 2**31 - 1}, "n-grams of up to 2147483647 letters"),
    ],
)
def test_models_that_cannot_be_read(changes, said, tmp_path) -> None:
    inputs = np.ones((4, 3), dtype=np.float32)
    path = tmp_path / "model.bin"
    path.write_bytes(model_bytes(["a", "bb"], inputs, inputs, **({"buckets": 2} | changes)))
    with pytest.raises(InvalidInputError, match=said):
        open_vectors(path)


def test_classifiers_are_read_without_their_labels(tmp_path) -> None:
    inputs = np.ones((2, 3), dtype=np.float32)
    classifier = tmp_path / "classifier.bin"
    classifier.write_bytes(
        model_bytes(["a", "b", "__label__x"], inputs, inputs[:1], kind=3, longest=0, labels=1)
    )
    assert read_all(open_vectors(classifier))[0] == ["a", "b"]


def test_what_gensim_saves(tmp_path, rng) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    words = [f"mot{i}é" for i in range(120)]
    shares = 1 / np.arange(1, 121)
    texts = [list(rng.choice(words, 8, p=shares / shares.sum())) for _ in range(400)]
    trained = fasttext.FastText(
        texts, vector_size=8, bucket=200, min_count=1, epochs=1, workers=1, seed=1
    )
    fasttext.save_facebook_model(trained, str(tmp_path / "in.bin"))
    source = open_vectors(tmp_path / "in.bin")
    labels, vectors = read_all(source)
    np.testing.assert_allclose(vectors, trained.wv[labels], atol=1e-6)
    assert source.counts == {word: trained.wv.get_vecattr(word, "count") for word in labels}
