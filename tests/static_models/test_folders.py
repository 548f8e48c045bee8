"""Folders of static models through files, Python and the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conceptor import AffineMap, inspect, open_vectors, postprocess
from conceptor.base.errors import InvalidInputError
from conceptor.fit import FitOptions
from conceptor.vectors.formats.static_model import write_folder
from tests.processes import call
from tests.static_models.conftest import TEXTS, WORDS
from tests.vectors.whole import read_all

tokenizers = pytest.importorskip("tokenizers", reason="needs the static extra")


def make_tokenizer(words=WORDS):
    tokens = ["[PAD]", "[UNK]", "!", *words]
    model = tokenizers.models.WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    return tokenizer


def make_vectors(rows, n=8, seed=0):
    """Rows that share a direction, the more so the more frequent."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(rows, n))
    vectors[:, 0] += 4 * np.linspace(1, 0, rows)
    return vectors.astype(np.float32)


@pytest.fixture
def options(tmp_path):
    lines = (f"{word} {1000 / (rank + 2.7)}" for rank, word in enumerate(WORDS))
    (tmp_path / "counts.txt").write_text("\n".join(lines))
    return FitOptions(str(tmp_path / "counts.txt"))


@pytest.fixture(params=["float32", "float16", "int8"])
def folder(request, tmp_path):
    tokenizer = make_tokenizer()
    vectors = make_vectors(tokenizer.get_vocab_size())
    write_folder(tmp_path / "in", vectors, tokenizer.to_str(), {}, "# a card\n", request.param)
    return tmp_path / "in"


def test_a_folder_becomes_a_folder_like_it(folder, tmp_path, options):
    out, map_file = tmp_path / "out", tmp_path / "map.safetensors"
    report = postprocess(folder, out, options=options, save_map=map_file)
    assert report.method == "cn:lengths=kept"
    tokens, before = read_all(open_vectors(folder))
    after_tokens, after = read_all(open_vectors(out))
    dtype = open_vectors(folder).dtype
    assert open_vectors(out).dtype == dtype
    assert after_tokens == tokens
    assert report.words == len(after) == len(WORDS) + 3
    for file in folder.iterdir():
        if file.name not in ("model.safetensors", "config.json"):
            assert (out / file.name).read_bytes() == file.read_bytes()
    expected = AffineMap.load(map_file)(before)
    if dtype == "int8":  # the scale is not kept
        after = after * np.abs(expected).max() / 127
    tolerance = {"float32": 1e-6, "float16": 2e-3, "int8": 5e-3}[dtype]
    np.testing.assert_allclose(after, expected, atol=tolerance * np.abs(expected).max())
    with pytest.raises(InvalidInputError, match="exists"):
        postprocess(folder, out, options=options)
    with pytest.raises(InvalidInputError, match="exists"):
        postprocess(folder, folder, options=options, force=True)
    postprocess(folder, tmp_path / "out.txt", options=options)
    assert read_all(open_vectors(tmp_path / "out.txt"))[0][3:] == WORDS


@pytest.mark.parametrize("folder", ["float32"], indirect=True)
def test_only_words_count_not_the_order_of_the_tokenizer(folder, tmp_path, options):
    vectors = open_vectors(folder)
    counts = vectors.token_counts({"the": 5.0, "umbrella": 1.0, "xyzzy": 9.0, "wet!": 2.0})
    assert counts == {"the": 5.0, "umbrella": 1.0, "wet": 2.0, "!": 2.0}
    with pytest.raises(InvalidInputError, match="does not reflect frequency"):
        postprocess(folder, tmp_path / "out", "cn", FitOptions("zipf"))
    report = inspect(folder, options.weights)
    assert report.count == len(WORDS) + 3
    assert "in the tokenizer's tokens" in report.fitted_on


def test_sentence_transformers_layout(tmp_path, options):
    """`embedding.weight` under 0_StaticEmbedding, as sentence-transformers may save it."""
    from safetensors.numpy import load_file, save_file

    tokenizer = make_tokenizer()
    place = tmp_path / "in" / "0_StaticEmbedding"
    place.mkdir(parents=True)
    vectors = make_vectors(tokenizer.get_vocab_size())
    save_file({"embedding.weight": vectors}, place / "model.safetensors")
    tokenizer.save(str(place / "tokenizer.json"))
    (tmp_path / "in" / "modules.json").write_text("[]")
    postprocess(tmp_path / "in", tmp_path / "out", options=options)
    written = load_file(tmp_path / "out" / "0_StaticEmbedding" / "model.safetensors")
    assert set(written) == {"embedding.weight"}
    assert (tmp_path / "out" / "modules.json").exists()


def test_tokens_that_share_rows_get_one_each(tmp_path, options):
    model2vec = pytest.importorskip("model2vec", reason="needs model2vec")
    tokenizer = make_tokenizer()
    vectors = make_vectors(tokenizer.get_vocab_size())
    whole, few, out = tmp_path / "whole", tmp_path / "in", tmp_path / "out"
    load = model2vec.StaticModel.from_pretrained
    model2vec.StaticModel(vectors, tokenizer, normalize=True).save_pretrained(whole)
    load(whole, vocabulary_quantization=9).save_pretrained(few)
    theirs = load(few)
    expected = theirs.embedding[theirs.token_mapping] * theirs.weights[:, None]
    np.testing.assert_allclose(read_all(open_vectors(few))[1], expected, rtol=1e-6)
    postprocess(few, out, options=options, save_map=tmp_path / "map")
    better = load(out)
    assert better.token_mapping is None
    np.testing.assert_allclose(
        better.embedding, AffineMap.load(tmp_path / "map")(expected), rtol=1e-4, atol=1e-5
    )


def test_distill_on_the_command_line(transformer, tmp_path, options):
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    (tmp_path / "text.txt").write_text("\n".join(TEXTS))
    arguments = ["--dimensions", "12", "--vocabulary", tmp_path / "words.txt"]
    arguments += ["--weights", options.weights, "--sentences", tmp_path / "text.txt"]
    done = call(
        "distill", transformer, tmp_path / "out", *arguments, "--dtype", "float16", "--json"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["dimension"], report["sentences"]) == (12, 300)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
