"""fastText's `.bin`: words as averages of n-grams, read and written without fastText."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conceptor
from conceptor import open_vectors, postprocess
from conceptor.base.errors import InvalidInputError
from conceptor.fit import fit_methods
from conceptor.postprocessing import convert
from tests.processes import conceptor as run
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


def ngrams(word: str, shortest: int, longest: int) -> list[bytes]:
    """The n-grams of `<word>`, in an order of their own: another computation than the kernel's."""
    if word == "</s>":
        return []
    text = f"<{word}>"
    found = []
    for n in range(shortest, longest + 1):
        grams = [text[i : i + n] for i in range(len(text) - n + 1)]
        found += grams[1:-1] if n == 1 else grams
    return [gram.encode() for gram in found]


def fnv(gram: bytes) -> int:
    value = 2166136261
    for byte in gram:
        signed = byte - 256 if byte > 127 else byte
        value = ((value ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return value


def compose(word, place, inputs, words, buckets, shortest, longest) -> np.ndarray:
    rows = [] if place is None else [inputs[place]]
    if buckets:
        grams = ngrams(word, shortest, longest)
        rows += [inputs[words + fnv(gram) % buckets] for gram in grams]
    return np.mean(np.asarray(rows, dtype=np.float64), axis=0)


@pytest.fixture
def model(tmp_path, rng):
    inputs = (rng.standard_normal((len(WORDS) + 50, 6)) + 1).astype(np.float32)
    outputs = rng.standard_normal((len(WORDS), 6)).astype(np.float32)
    path = tmp_path / "model.bin"
    path.write_bytes(model_bytes(WORDS, inputs, outputs, buckets=50))
    return path, inputs, outputs


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
        expected = compose(word, place, inputs, len(words), buckets, shortest, longest)
        np.testing.assert_allclose(vectors[place], expected, atol=1e-5)
    assert "</s>" not in (source.counts or {})


def test_counts_are_the_weights(model, tmp_path) -> None:
    path, *_ = model
    report = postprocess(path, tmp_path / "out.txt")
    assert report.fitted_on == f"all words, weighted by the counts in {path}"
    assert report.estimated_on == len(WORDS) - 1  # </s> counts lines
    words, vectors = read_all(open_vectors(path))
    counts = dict(zip(WORDS[1:], range(len(WORDS) - 1, 0, -1), strict=True))
    expected = conceptor.improve((words, vectors), weights=counts)[1]
    np.testing.assert_allclose(read_all(open_vectors(tmp_path / "out.txt"))[1], expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["cn", "abtt:n_directions=1", "ppa:n_components=4"])
def test_a_map_improves_unknown_words_too(method, model, tmp_path) -> None:
    path, inputs, _ = model
    better = tmp_path / "better.bin"
    postprocess(path, better, method)
    map_ = next(iter(fit_methods(path, [method]).methods.values())).map.linear()
    words, vectors = read_all(open_vectors(better))
    old = read_all(open_vectors(path))[1]
    assert words == WORDS
    np.testing.assert_allclose(vectors, map_(old), atol=1e-5)
    # The file of the new model, taken apart by hand.
    size = len(WORDS)
    shape = (len(inputs), map_.n_out)
    new = np.frombuffer(better.read_bytes(), "<f4", shape[0] * shape[1], _matrix_start(path))
    new = new.reshape(shape)
    unknown = compose("inconnu", None, new, size, 50, 3, 6)
    before = compose("inconnu", None, inputs, size, 50, 3, 6)
    np.testing.assert_allclose(unknown, map_(before), atol=1e-5)
    assert open_vectors(better).counts == open_vectors(path).counts


def _matrix_start(path) -> int:
    data = path.read_bytes()
    position = struct.calcsize("<14id3i2q")
    for _ in WORDS:
        position = data.index(b"\0", position) + 10
    return position + struct.calcsize("<?2q")


def test_products_with_the_output_layer_stay(model, tmp_path) -> None:
    """So that training can go on: cn drops no direction and shifts nothing."""
    path, inputs, outputs = model
    postprocess(path, tmp_path / "better.bin")
    data = (tmp_path / "better.bin").read_bytes()
    new_outputs = np.frombuffer(data[-outputs.nbytes :], dtype="<f4").reshape(outputs.shape)
    new_inputs = np.frombuffer(data, "<f4", inputs.size, _matrix_start(path))
    products = new_inputs.reshape(inputs.shape) @ new_outputs.T
    np.testing.assert_allclose(products, inputs @ outputs.T, atol=1e-4)
    assert not np.allclose(new_outputs, outputs)


def test_bin_to_bin_by_the_command(model, tmp_path) -> None:
    path, *_ = model
    out = tmp_path / "out.bin"
    convert(path, out)
    assert out.read_bytes() == path.read_bytes()
    convert(path, tmp_path / "x.w2v")
    assert open_vectors(tmp_path / "x.w2v").format == "word2vec-binary"
    assert run("postprocess", path, tmp_path / "better.bin").returncode == 0
    assert open_vectors(tmp_path / "better.bin").format == "fasttext"


@given(cut=st.integers(0, 10_000))
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


def test_models_that_cannot_be_written(model, tmp_path) -> None:
    path, inputs, _ = model
    out = tmp_path / "out.bin"
    with pytest.raises(InvalidInputError, match="keeps all its words unchanged"):
        postprocess(open_vectors(path, on_error="skip"), out)
    with pytest.raises(InvalidInputError, match="fasttext cannot be compressed with gzip"):
        postprocess(path, tmp_path / "out.bin.gz")
    conceptor.write_vectors(tmp_path / "x.txt", [(["a", "b"], inputs[:2])])
    with pytest.raises(InvalidInputError, match="written from a source of the same"):
        convert(tmp_path / "x.txt", out, format="fasttext")
    with pytest.raises(InvalidInputError, match="written from a source of the same"):
        conceptor.write_vectors(out, [(["a"], inputs[:1])], format="fasttext")
    classifier = tmp_path / "classifier.bin"
    classifier.write_bytes(
        model_bytes(["a", "b", "__label__x"], inputs[:2], inputs[:1], kind=3, longest=0, labels=1)
    )
    assert read_all(open_vectors(classifier))[0] == ["a", "b"]
    with pytest.raises(InvalidInputError, match=r"classifier.*write them to a \.vec file"):
        postprocess(classifier, out)
    assert not out.exists()


def test_gensim_writes_and_loads_them(tmp_path, rng) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    words = [f"mot{i}é" for i in range(120)]
    shares = 1 / np.arange(1, 121)
    texts = [list(rng.choice(words, 8, p=shares / shares.sum())) for _ in range(400)]
    trained = fasttext.FastText(
        texts, vector_size=8, bucket=200, min_count=1, epochs=1, workers=1, seed=1
    )
    path, better = str(tmp_path / "in.bin"), str(tmp_path / "out.bin")
    fasttext.save_facebook_model(trained, path)
    source = open_vectors(path)
    found, vectors = read_all(source)
    np.testing.assert_allclose(vectors, trained.wv[found], atol=1e-6)
    assert source.counts == {word: trained.wv.get_vecattr(word, "count") for word in found}
    report = postprocess(path, better)
    assert "weighted by the counts" in report.fitted_on
    map_ = fit_methods(path, ["cn"]).methods["cn"].map.linear()
    loaded = fasttext.load_facebook_vectors(better)
    for word in ("mot3é", "mots", "inconnu"):
        np.testing.assert_allclose(loaded[word], map_(trained.wv[word]), atol=1e-6)
    whole = fasttext.load_facebook_model(better)
    whole.train(texts[:20], total_examples=20, epochs=1)
    # The model in memory goes the same way.
    improved, said = conceptor.improve(trained, return_report=True)
    assert said.fitted_on == "all words, weighted by the counts in vectors"
    for word in ("mot3é", "inconnu"):
        np.testing.assert_allclose(improved.wv[word], loaded[word], atol=1e-5)
    assert not np.allclose(trained.wv["inconnu"], improved.wv["inconnu"])
    np.testing.assert_allclose(improved.syn1neg, whole.syn1neg, atol=0.1)
