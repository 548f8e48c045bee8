"""The same vectors get the same method and the same map through every door."""

from __future__ import annotations

import json

import numpy as np
import pytest

import conceptor
from conceptor import AffineMap, StaticModel, improve, open_vectors, write_vectors
from conceptor.explore.session import Session, Settings
from conceptor.fit import FitOptions, fit_methods
from conceptor.integrations.objects import open_rows
from conceptor.methods import default_method
from conceptor.weights import rank_weights
from tests import processes
from tests.vectors.test_fasttext import model_bytes


@pytest.fixture(scope="module")
def words():
    """Words that get longer with rank, as in a file sorted by frequency."""
    rng = np.random.default_rng(1)
    words = {}
    while len(words) < 2400:
        size = 2 + int(np.log2(len(words) + 2)) + int(rng.integers(3))
        words.setdefault("".join(rng.choice(list("etaoinshrdlcumwfgypbvk"), size)))
    return list(words)


@pytest.fixture(scope="module")
def X(words):  # noqa: N802 - the letter of scikit-learn
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((len(words), 12)) * np.linspace(2, 0.3, 12)
    return (rows + rng.standard_normal(12)).astype(np.float32)


@pytest.fixture(scope="module")
def expected(words, X, tmp_path_factory):
    """What `postprocess` makes of a binary file, as a map."""
    folder = tmp_path_factory.mktemp("door")
    write_vectors(folder / "in.bin", [(words, X)])
    report = conceptor.postprocess(folder / "in.bin", folder / "out.bin", save_map=folder / "map")
    assert report.method == "cn"
    return AffineMap.load(folder / "map")


def same_map(map_, expected):
    same_directions(map_, expected)
    assert (map_.lengths is None) == (expected.lengths is None)
    if expected.lengths is not None:
        assert list(map_.lengths) == list(expected.lengths)
        assert map_.lengths == pytest.approx(expected.lengths, rel=1e-12)


def same_directions(map_, expected):
    assert map_.unit == expected.unit
    np.testing.assert_allclose(map_.matrix, expected.matrix, rtol=1e-12, atol=1e-12)


def map_of(vectors, method="cn", options=None):
    return fit_methods(vectors, [method], options).methods[method].map


@pytest.fixture
def process_shards():
    """Post-process shards, one after another in this process."""
    dask = pytest.importorskip("dask")
    from conceptor import distributed

    with dask.config.set(scheduler="synchronous"):
        yield distributed.postprocess


@pytest.mark.parametrize("name", ["x.txt", "x.vec", "x.bin", "x.npy", "x.parquet"])
def test_files(words, X, expected, name, tmp_path):
    write_vectors(tmp_path / name, [(words, X)])
    target = tmp_path / f"out.{name.partition('.')[2]}"
    report = conceptor.postprocess(tmp_path / name, target, save_map=tmp_path / "map")
    assert report.method == "cn"
    same_map(AffineMap.load(tmp_path / "map"), expected)


@pytest.mark.parametrize("suffix", ["bin", "npy"])
def test_shards(words, X, expected, suffix, tmp_path, process_shards):
    (tmp_path / "in").mkdir()
    for number, part in enumerate((slice(0, 1000), slice(1000, None))):
        write_vectors(tmp_path / "in" / f"{number}.{suffix}", [(words[part], X[part])])
    report = process_shards(
        tmp_path / "in" / f"*.{suffix}", tmp_path / "out", save_map=tmp_path / "map"
    )
    assert report.method == "cn"
    same_map(AffineMap.load(tmp_path / "map"), expected)


def in_gensim(words, X):
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(X.shape[1])
    vectors.add_vectors(words, X)
    return vectors, lambda better: better.vectors


def in_spacy(words, X):
    import spacy

    nlp = spacy.blank("en")
    nlp.vocab.vectors = spacy.vectors.Vectors(shape=X.shape)
    for word, row in zip(words, X, strict=True):
        nlp.vocab.set_vector(word, row)
    return nlp, lambda better: np.stack([better.vocab.get_vector(word) for word in words])


def in_pandas(words, X):
    import pandas as pd

    return pd.DataFrame(X, index=words), lambda better: better.to_numpy()


def as_pair(words, X):
    return (words, X), lambda better: better[1]


@pytest.mark.parametrize("make", [in_gensim, in_spacy, in_pandas, as_pair])
def test_objects(words, X, expected, make):
    """`compare`, `most_similar` and `inspect` fit to the vectors that `improve` changes."""
    x, rows_of = make(words, X)
    opened = open_rows(x)
    assert default_method(opened).name == "cn"
    same_map(map_of(opened), expected)
    better, report = improve(x, return_report=True)
    assert (report.method, report.lengths) == ("cn", "usage")
    mapped = expected.map_words(words, X)
    np.testing.assert_allclose(rows_of(better), mapped, rtol=1e-5, atol=1e-6)


def test_the_estimator(X, expected):
    by_rank = rank_weights(0, len(X))
    same_directions(conceptor.estimator("cn").fit(X, sample_weight=by_rank).map_, expected)
    same_directions(conceptor.ConceptorNegation().fit(X, sample_weight=by_rank).map_, expected)


def page_map(path, method):
    """The map that `explore` shows for a file."""
    return Session(open_vectors(path), methods=[method]).fitted(Settings(method)).map


def test_the_page(words, X, expected, tmp_path):
    write_vectors(tmp_path / "x.txt", [(words, X)])
    same_map(page_map(tmp_path / "x.txt", "cn"), expected)


def test_a_fasttext_model_is_weighted_by_its_own_counts(words, X, tmp_path):
    rows = X[:300]
    counts = [int(1e6 / (rank + 1) ** 0.5) for rank in range(300)][::-1]  # against the ranks
    model = model_bytes(words[:300], rows, rows, counts=counts, longest=0)
    (tmp_path / "m.bin").write_bytes(model)
    conceptor.postprocess(tmp_path / "m.bin", tmp_path / "out.bin", save_map=tmp_path / "map")
    written = AffineMap.load(tmp_path / "map")
    by_counts = conceptor.estimator("cn").fit(rows, sample_weight=counts)
    same_directions(written, by_counts.map_)
    same_map(page_map(tmp_path / "m.bin", "cn"), written)


def test_a_static_folder_is_weighted_by_its_tokens(tmp_path, monkeypatch):
    pytest.importorskip("wordfreq")
    counts = {"the": 0.05, "of": 0.03, "rain": 0.001, "coat": 0.0005, "bank": 0.0002}
    monkeypatch.setattr("conceptor.weights.read_wordfreq", lambda language: counts)
    tokens = ["the", "of", "rain", "umbrella", "coat", "river", "boat", "bank", "money", "loan"]
    rows = np.random.default_rng(0).standard_normal((10, 4)) + 1
    StaticModel.from_words(tokens, rows).save(tmp_path / "model")
    report = conceptor.postprocess(
        tmp_path / "model", tmp_path / "out.txt", save_map=tmp_path / "map"
    )
    method = "cn:lengths=kept"
    opened = open_vectors(tmp_path / "model")
    assert report.method == str(default_method(opened)) == method
    written = AffineMap.load(tmp_path / "map")
    same_map(page_map(tmp_path / "model", method), written)
    uniform = map_of(opened, method, FitOptions("uniform"))
    assert not np.allclose(uniform.matrix, written.matrix), "the control"


def test_rows_without_words(X, tmp_path, process_shards):
    np.save(tmp_path / "e.npy", X)
    for run, target in ((conceptor.postprocess, "o.npy"), (process_shards, "out")):
        report = run(tmp_path / "e.npy", tmp_path / target, save_map=tmp_path / f"{target}.map")
        assert report.method == "gentle"
        written = AffineMap.load(tmp_path / f"{target}.map")
        same_map(written, conceptor.estimator("gentle").fit(X).map_)
    better, report = improve(X, return_report=True)
    assert report.method == "gentle"
    np.testing.assert_array_equal(better, np.load(tmp_path / "o.npy"))


# Embeddings of texts


@pytest.fixture(scope="module")
def texts():
    """Sentences of a review or a caption, in which some come twice."""
    nouns, verbs = ("a dog", "the river", "her aunt", "that film"), ("sleeps", "was long", "sings")
    texts = [f"{nouns[i % 4].capitalize()} {verbs[i % 3]}, take {i % 290}!" for i in range(300)]
    return [texts[i] for i in np.random.default_rng(3).permutation(300)]


@pytest.fixture(scope="module")
def E(texts):  # noqa: N802
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((len(texts), 10)) * np.linspace(1.5, 0.5, 10) + 0.4
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def gentle(E):
    return conceptor.estimator("gentle").fit(E).map_


def text_columns(texts, E):
    """A table as people have it: ids before, texts and classes beside the embeddings."""
    return {
        "id": list(range(len(texts))),
        "text": texts,
        "embedding": list(E),
        "score": [0.5] * len(texts),
        "split": ["train", "test"] * (len(texts) // 2),
    }


def write_texts(path, texts, E):
    import pyarrow.feather
    import pyarrow.parquet

    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table(text_columns(texts, E)), path)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(pyarrow.table(text_columns(texts, E)), path)
    elif path.suffix == ".npy":
        np.save(path, E)
    else:
        write_vectors(path, [(texts, E)])


@pytest.mark.parametrize("suffix", ["npy", "parquet", "feather", "txt", "vec"])
def test_files_of_texts(texts, E, gentle, suffix, tmp_path):
    path = tmp_path / f"x.{suffix}"
    write_texts(path, texts, E)
    if suffix == "npy":
        path.with_suffix(".txt").write_text("\n".join(texts) + "\n")
    target, map_file = tmp_path / f"out.{suffix}", tmp_path / "map"
    report = conceptor.postprocess(path, target, save_map=map_file)
    assert (report.method, report.rows, report.words) == ("gentle", "texts", len(texts))
    same_map(AffineMap.load(map_file), gentle)
    inspection = conceptor.inspect(path)
    assert (inspection.rows, inspection.weights) == ("texts", "uniform")
    as_words = default_method(open_vectors(path, rows="words"))
    assert str(as_words) == "cn", "the control: the user's choice decides"


@pytest.mark.parametrize("suffix", ["parquet", "npy"])
def test_shards_of_texts(texts, E, gentle, suffix, tmp_path, process_shards):
    (tmp_path / "in").mkdir()
    for number, part in enumerate((slice(0, 130), slice(130, None))):
        write_texts(tmp_path / "in" / f"{number}.{suffix}", texts[part], E[part])
    report = process_shards(tmp_path / "in", tmp_path / "out", save_map=tmp_path / "map")
    assert (report.method, report.rows) == ("gentle", "texts")
    same_map(AffineMap.load(tmp_path / "map"), gentle)


def texts_in_pandas(texts, E):
    import pandas as pd

    frame = pd.DataFrame(text_columns(texts, E))
    return frame, lambda better: np.stack(better["embedding"])


def texts_in_polars(texts, E):
    import polars

    frame = polars.DataFrame(text_columns(texts, E) | {"embedding": E})
    return frame, lambda better: better["embedding"].to_numpy()


def texts_in_arrow(texts, E):
    import pyarrow

    table = pyarrow.table(text_columns(texts, E))
    return table, lambda better: np.stack(better["embedding"].to_numpy())


@pytest.mark.parametrize("make", [texts_in_pandas, texts_in_polars, texts_in_arrow, as_pair])
def test_objects_of_texts(texts, E, gentle, make):
    x, rows_of = make(texts, E)
    better, report = improve(x, return_report=True)
    assert (report.method, report.rows) == ("gentle", "texts")
    np.testing.assert_allclose(rows_of(better), gentle(E), rtol=1e-5, atol=1e-6)
    _, report = improve(x, rows="words", return_report=True)
    assert (report.method, report.rows) == ("cn", "words"), "the control"
    assert conceptor.inspect(x).rows == "texts"


def test_the_command_line_reports_what_rows_are(texts, E, tmp_path):
    write_texts(tmp_path / "x.parquet", texts, E)
    for options, rows in {
        (): "texts",
        ("--rows=words",): "words",
        ("--rows=texts",): "texts",
    }.items():
        done = processes.call("inspect", tmp_path / "x.parquet", "--json", *options)
        assert json.loads(done.stdout)["rows"] == rows
        assert ("treated as texts" in done.stderr) is ("use --rows words" in done.stderr)
        assert ("treated as texts" in done.stderr) is not bool(options)
