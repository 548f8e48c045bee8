"""model2vec and sentence-transformers: improved models, used and saved as those libraries do."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from conceptor import improve
from conceptor.base.errors import InvalidInputError

tokenizers = pytest.importorskip("tokenizers")
TOKENS = [f"w{i}" for i in range(200)]
SENTENCES = ["w1 w2 w3", "w4 w9", "w7"]
COUNTS = {token: float(1000 - 4 * row) for row, token in enumerate(TOKENS)}


@pytest.fixture
def tokenizer():
    vocabulary = {token: row for row, token in enumerate([*TOKENS, "[UNK]"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture(name="X")
def make_vectors(rng) -> np.ndarray:
    rows = rng.standard_normal((len(TOKENS) + 1, 8)) * np.geomspace(2, 0.2, 8) + 0.3
    return rows.astype(np.float32)


def averages(rows: np.ndarray) -> np.ndarray:
    return np.stack(
        [np.mean([rows[TOKENS.index(token)] for token in text.split()], axis=0)
         for text in SENTENCES]
    )  # fmt: skip


def _improved(rows: np.ndarray) -> np.ndarray:
    return improve(([*TOKENS, "[UNK]"], rows), "cn:lengths=kept", weights=COUNTS)[1]


def test_static_models(tokenizer, X, tmp_path) -> None:
    model2vec = pytest.importorskip("model2vec")
    model = model2vec.StaticModel(X, tokenizer)
    better, report = improve(model, weights=COUNTS, return_report=True)
    assert report.method == "cn:lengths=kept"  # lengths of rows weigh tokens
    assert report.estimated_on == len(TOKENS)
    table = _improved(X)
    assert type(better) is type(model)
    np.testing.assert_allclose(better.encode(SENTENCES), averages(table), atol=1e-5)
    np.testing.assert_allclose(model.encode(SENTENCES), averages(X), atol=1e-5)
    smaller = improve(model, weights=COUNTS, n_components=3)
    smaller.save_pretrained(tmp_path / "model")
    loaded = model2vec.StaticModel.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(loaded.encode(SENTENCES), smaller.encode(SENTENCES))
    assert loaded.dim == 3


def test_quantized_static_models(tokenizer, X) -> None:
    """Tokens that share rows, with weights of their own: each has a row afterwards."""
    model2vec = pytest.importorskip("model2vec")
    mapping = np.arange(len(X)) % 50
    weights = np.linspace(0.5, 2, len(X)).astype(np.float32)
    model = model2vec.StaticModel(X[:50], tokenizer, weights=weights, token_mapping=mapping)
    table = _improved(X[mapping] * weights[:, np.newaxis])
    better = improve(model, weights=COUNTS)
    np.testing.assert_allclose(better.encode(SENTENCES), averages(table), atol=1e-5)


@pytest.fixture
def static(tokenizer, X):
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    return library.SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=X)], device="cpu"
    )


@pytest.mark.slow
def test_static_sentence_transformers(static, X) -> None:
    better = improve(static, weights=COUNTS)
    table = _improved(X)
    np.testing.assert_allclose(better.encode(SENTENCES), averages(table), atol=1e-5)
    np.testing.assert_allclose(static.encode(SENTENCES), averages(X), atol=1e-5)
    assert improve(static, weights=COUNTS, n_components=3).encode(SENTENCES).shape == (3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, "cn:n_components=3"])
@pytest.mark.parametrize("normalized", [False, True])
def test_a_map_is_the_last_layer(method, normalized, static, rng) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize

    texts = [" ".join(rng.choice(TOKENS, 6)) for _ in range(300)]
    model = static
    if normalized:
        model = SentenceTransformer(modules=[*static, Normalize()], device="cpu")
    better, report = improve(model, method, texts=texts, return_report=True)
    assert (len(model), report.words) == (1 + normalized, 300)
    expected = improve(model.encode(texts), method, return_report=True)[0]
    if normalized:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(better.encode(texts), expected, atol=1e-5)


@pytest.mark.slow
def test_a_saved_model_needs_no_conceptor(static, rng, tmp_path) -> None:
    texts = [" ".join(rng.choice(TOKENS, 6)) for _ in range(300)]
    better = improve(static, texts=texts)
    better.save(str(tmp_path / "model"))
    np.save(tmp_path / "expected.npy", better.encode(SENTENCES))
    code = f"""
import sys
sys.modules["conceptor"] = None
import numpy as np
from sentence_transformers import SentenceTransformer
found = SentenceTransformer({str(tmp_path / "model")!r}, device="cpu").encode({SENTENCES})
np.testing.assert_allclose(found, np.load({str(tmp_path / "expected.npy")!r}), atol=1e-6)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_texts_are_asked_for(static) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize

    with pytest.raises(
        InvalidInputError, match="texts must be a sequence of hundreds of sentences"
    ):
        improve(static, texts="a sentence")
    static.truncate_dim = 4
    with pytest.raises(InvalidInputError, match="truncates to 4 dimensions"):
        improve(static, texts=SENTENCES)
    with pytest.raises(InvalidInputError, match=r"improve\(model, texts=sentences\)"):
        improve(SentenceTransformer(modules=[Normalize()], device="cpu"))
