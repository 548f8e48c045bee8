"""Distilled models: their sources, and that three libraries read the folders alike."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.static_models import StaticModel, distill
from conceptor.static_models.distilling import describe_model, read_sentences
from conceptor.static_models.transformer import Transformer
from conceptor.vectors.tokenizer import token_usage
from tests.static_models.conftest import TEXTS, WORDS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HOSTILE = ["", "  ", "!?", "xyzzy quux", "The RAIN, raining!", "çafé naïve", "日本"]
LONG = ["cat dog " * 300 + "river"]  # beyond 512 tokens


@pytest.fixture(scope="module")
def model(transformer, counts):
    return distill(transformer, vocabulary=WORDS, weights=counts, sentences=TEXTS)


def test_words_are_one_token_and_rare_ones_fall_into_pieces(model):
    encoded = model.tokenizer.encode("the umbrella raining", add_special_tokens=False)
    assert encoded.tokens == ["the", "umbrella", "rain", "##ing"]
    assert model.tokens[:2] == ["[PAD]", "[UNK]"]
    assert model.tokens[2] == "the"  # the most frequent first
    assert not model.vectors[:2].any()
    assert len(model.tokens) == len(model.vectors)
    assert "[CLS]" not in model.tokens


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_three_libraries_encode_alike(model, tmp_path, dtype):
    model2vec = pytest.importorskip("model2vec", reason="needs model2vec")
    model.save(tmp_path / "out", dtype=dtype)
    texts = [*TEXTS[:20], *HOSTILE]
    ours = StaticModel.load(tmp_path / "out").encode(texts)
    loaded = model2vec.StaticModel.from_pretrained(tmp_path / "out")
    theirs = loaded.encode(texts)
    # model2vec returns float16 where the table is; int8 is averaged as it is stored.
    np.testing.assert_allclose(ours, theirs, atol=1e-6 if dtype != "float16" else 2e-3)
    if dtype == "float32":  # model2vec adds up in the table's precision
        sentence_transformers = pytest.importorskip("sentence_transformers")
        third = sentence_transformers.SentenceTransformer(str(tmp_path / "out"), device="cpu")
        np.testing.assert_allclose(ours, third.encode(texts), atol=1e-6)
        np.testing.assert_allclose(ours, model.encode(texts), atol=1e-6)
        long = model.encode(LONG)
        np.testing.assert_allclose(long, loaded.encode(LONG), atol=1e-5)
        assert np.abs(long - model.encode([LONG[0][:2000]])).max() > 1e-4
    lengths = np.linalg.norm(ours, axis=1)
    assert np.allclose(lengths[:20], 1, atol=1e-5)
    assert not ours[20:22].any()


def test_the_folder_says_where_it_comes_from(model, tmp_path):
    model.save(tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    for line in (
        'license: "apache-2.0"',
        'base_model: "tiny-bert"',
        "made from tiny-bert by",
        "- sif: 0.001",
    ):
        assert line in card
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["conceptor"]["sentences"] == len(TEXTS)
    assert config["hidden_dim"] == 24
    with pytest.raises(InvalidInputError, match="exists"):
        model.save(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_an_interrupted_run_goes_on(transformer, counts, tmp_path, monkeypatch):
    arguments = {"vocabulary": WORDS, "weights": counts, "sentences": TEXTS}
    whole = distill(transformer, **arguments, keep=tmp_path)
    assert Transformer.load(transformer)(LONG).shape == (1, 24)  # beyond its 64 positions
    monkeypatch.setattr(Transformer, "_run", lambda *_: pytest.fail("computed again"))
    again = distill(transformer, **arguments, keep=tmp_path)
    np.testing.assert_array_equal(whole.vectors, again.vectors)


def test_any_function_from_texts_to_vectors(counts):
    def encode(texts):
        return np.array([[len(t), t.count("a"), t.count("e"), 1.0] for t in texts])

    model = distill(encode, vocabulary=WORDS, weights=counts, dimensions=3)
    assert model.encode(["the cat sleeps", "zzz"]).shape == (2, 3)
    assert "##t" in model.tokens
    with pytest.raises(InvalidInputError, match="one finite vector for each"):
        distill(lambda texts: np.zeros(3), vocabulary=WORDS, weights=counts)


def test_sentences_drawn_from_frequencies_take_the_place_of_text(counts):
    """They are words of the counts, as often as these say, and always the same."""
    seen = []

    def encode(texts):
        seen.append(list(texts))
        return np.array([[len(text), 1.0, 0.0] for text in texts])

    options = {"vocabulary": WORDS, "weights": counts, "sentences": "drawn:900"}
    model = distill(encode, **options)
    assert model.provenance["sentences"] == 900
    assert model.provenance["text"] == "words drawn by frequency"
    drawn = [sentence.split() for sentence in next(each for each in seen if len(each) == 900)]
    assert {len(sentence) for sentence in drawn} == set(range(6, 15))
    words = [word for sentence in drawn for word in sentence]
    assert set(words) <= set(counts)
    commonest = max(counts, key=counts.__getitem__)
    share = counts[commonest] / sum(counts.values())
    assert words.count(commonest) / len(words) == pytest.approx(share, abs=0.03)
    np.testing.assert_array_equal(distill(encode, **options).vectors, model.vectors)
    for wrong in ("drawn:", "drawn:0", "drawn:-3", "drawn:many"):
        with pytest.raises(InvalidInputError, match="expected sentences drawn:N"):
            distill(encode, **(options | {"sentences": wrong}))
    with pytest.raises(InvalidInputError, match="draws words by frequency"):
        distill(encode, **(options | {"weights": "sentences"}))
    with pytest.raises(InvalidInputError, match="needs sentences to count"):
        distill(encode, **(options | {"weights": "sentences", "sentences": None}))


def test_rows_are_weighed_by_how_often_tokens_are_used(transformer, counts, monkeypatch):
    options = {"vocabulary": WORDS, "weights": counts}
    weighed = distill(transformer, **options)
    assert weighed.provenance["sif"] == 0.01
    monkeypatch.setattr("conceptor.static_models.distilling.SIF_WITHOUT_TEXT", 1e9)
    alike = distill(transformer, **options).vectors
    used = token_usage(weighed.tokenizer, counts)
    factors = 0.01 / (0.01 + used / used.sum())
    assert factors.min() < 0.5
    np.testing.assert_allclose(weighed.vectors, factors[:, np.newaxis] * alike, rtol=1e-5)


def test_wrong_calls(counts, tmp_path):
    def encode(texts):
        return np.array([[len(text), 1.0, 0.0] for text in texts])

    with pytest.raises(InvalidInputError, match="do not give frequencies"):
        distill(encode, vocabulary=WORDS, weights="zipf")
    with pytest.raises(InvalidInputError, match="the vectors have 3"):
        distill(encode, vocabulary=WORDS, weights=counts, dimensions=4)
    with pytest.raises(InvalidInputError, match=r"no config\.json"):
        distill(tmp_path)
    for place in (tmp_path / "nowhere", "nowhere/"):
        with pytest.raises(InvalidInputError, match="no such folder"):
            distill(place)
    with pytest.raises(InvalidInputError, match="no such file or folder"):
        distill(encode, vocabulary=WORDS, weights=counts, sentences=tmp_path / "x.txt")
    for texts in (["the cat"], ["日本", "中国"]):
        with pytest.raises(InvalidInputError, match="too few sentences, or they have no word"):
            distill(encode, vocabulary=WORDS, weights=counts, sentences=texts)
    with pytest.raises(InvalidInputError, match="cannot distill a int"):
        distill(3)
    with pytest.raises(InvalidInputError, match="ever used"):
        distill(encode, vocabulary=WORDS, weights={" ": 1.0})


def test_sentences_are_spread_over_a_file_or_the_files_of_a_folder(tmp_path, monkeypatch):
    lines = [f"line {i}" for i in range(1000)]
    (tmp_path / "all.txt").write_text("\n\n".join(lines))
    (tmp_path / "parts" / "more").mkdir(parents=True)
    (tmp_path / "parts" / "a.txt").write_text("\n".join(lines[:300]))
    (tmp_path / "parts" / "more" / "c.txt").write_text("\n".join(lines[300:]))
    (tmp_path / "parts" / "notes.md").write_text("not a sentence of the corpus")
    for source in (tmp_path / "all.txt", tmp_path / "parts", lines):
        assert read_sentences(source) == lines
        with monkeypatch.context() as patch:
            patch.setattr("conceptor.static_models.distilling.MOST_SENTENCES", 100)
            sample = read_sentences(source)
        assert 50 <= len(sample) <= 100
        numbers = [int(line.split()[1]) for line in sample]
        assert len(set(np.diff(numbers))) == 1  # evenly
        assert numbers[-1] > 980
    with pytest.raises(InvalidInputError, match="contains no sentences"):
        read_sentences(["", "  "])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match=r"no such file or folder of \.txt files"):
        read_sentences(tmp_path / "empty")


def test_a_model_goes_by_its_own_name(tmp_path):
    name = "sentence-transformers/all-MiniLM-L6-v2"
    assert describe_model(name) == {"model": name}
    cached = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / "0a1b"
    cached.mkdir(parents=True)
    assert describe_model(cached) == {"model": name}
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# A model of mine\n")
    assert describe_model(folder) == {"model": "model", "license": "mit"}


def test_a_hub_out_of_reach_fails_at_once_with_the_whole_message(monkeypatch):
    pytest.importorskip("transformers", reason="needs the static extra")
    import huggingface_hub

    timeouts = []

    def out_of_reach(self, name, **options):
        timeouts.append(options["timeout"])
        raise OSError("no route to host " + "x" * 300)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", out_of_reach)
    with pytest.raises(ConceptorError, match=r"x{300}.*name its folder"):
        Transformer.load("nobody/nothing-here")
    assert len(timeouts) == 1
    assert timeouts[0] < 10


def test_a_decoder_without_sentences_warns(transformer, counts):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(transformer)
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 64}
    config = transformers.GPT2Config(vocab_size=len(tokenizer), **sizes)
    options = {"vocabulary": WORDS, "weights": counts}
    with pytest.warns(UserWarning, match="is a decoder"):
        distill(transformers.GPT2Model(config), tokenizer, **options)


def test_sentences_are_text(tmp_path):
    (tmp_path / "store.parquet").write_bytes(b"PAR1\x15\x04\xff\xfe\n")
    with pytest.raises(InvalidInputError, match="not UTF-8; pass text"):
        read_sentences(tmp_path / "store.parquet")
