"""One call for vectors as other libraries hold them: the same kind comes back, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import conceptor
from conceptor import improve, open_vectors
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.table import WordVectors
from tests.vectors.whole import read_all

N, DIMENSION = 400, 12


@pytest.fixture(name="X")
def make_vectors(rng) -> np.ndarray:
    return (rng.standard_normal((N, DIMENSION)) * np.geomspace(2, 0.2, DIMENSION) + 0.3).astype(
        np.float32
    )


@pytest.fixture
def words() -> list[str]:
    return [f"w{i}" for i in range(N)]


@pytest.fixture
def written(words, X, tmp_path):
    """What `postprocess` writes for these vectors, by a method's name."""

    def make(method: str = "cn") -> np.ndarray:
        conceptor.write_vectors(tmp_path / "in.npy", [(words, X)], force=True)
        conceptor.postprocess(tmp_path / "in.npy", tmp_path / "out.npy", method, force=True)
        return read_all(open_vectors(tmp_path / "out.npy"))[1]

    return make


METHODS = ["cn", "abtt:lengths=usage", "cn:n_components=5"]


@pytest.mark.parametrize("method", METHODS)
def test_bit_for_bit_what_postprocess_writes(method, words, X, written, tmp_path) -> None:
    expected, before = written(method), X.copy()
    same_words, array = improve((words, X), method)
    assert same_words is words
    assert array.dtype == np.float32
    assert np.array_equal(array, expected)
    as_dict = improve(dict(zip(words, X, strict=True)), method)
    assert list(as_dict) == words
    assert np.array_equal(np.stack(list(as_dict.values())), expected)
    table = improve(WordVectors(words, X), method)
    assert isinstance(table, WordVectors)
    assert np.array_equal(table.vectors, expected)
    for path in (tmp_path / "in.npy", str(tmp_path / "in.npy")):
        read = improve(path, method)
        assert np.array_equal(read.vectors, expected)
        assert list(read.words) == words
    assert np.array_equal(X, before)  # the input is unchanged
    assert improve((words, X.astype(np.float16)), method)[1].dtype == np.float16


def test_parameters(words, X, written) -> None:
    smaller, report = improve((words, X), n_components=5, return_report=True)
    assert np.array_equal(smaller[1], written("cn:n_components=5"))
    assert (report.dimension, report.words, report.method) == (5, N, "cn:n_components=5")
    assert np.array_equal(improve((words, X), aperture=2)[1], written("cn:aperture=2"))


def test_remarks_are_warnings_unless_a_report_is_asked_for(rng) -> None:
    words = sorted(f"w{i:03}" for i in range(150))
    X = (rng.standard_normal((150, 4)) + 3).astype(np.float32)
    with pytest.warns(UserWarning, match="alphabetical order"):
        improve((words, X))
    _, report = improve((words, X), return_report=True)
    assert any("alphabetical order" in remark for remark in report.remarks)


# gensim


@pytest.fixture
def kv(words, X):
    vectors = pytest.importorskip("gensim.models").KeyedVectors(DIMENSION)
    vectors.add_vectors(words, X)
    return vectors


def test_keyed_vectors(kv, words, X, written) -> None:
    before = kv.most_similar("w3")
    better = improve(kv)
    assert type(better) is type(kv)
    assert np.array_equal(better.vectors, written())
    cosines = better.vectors @ better["w3"] / np.linalg.norm(better.vectors, axis=1)
    assert better.most_similar("w3")[0][0] == words[np.argsort(-cosines)[1]]
    assert kv.most_similar("w3") == before  # the original is unchanged
    better.add_vectors(["new"], better["w3"][np.newaxis])
    assert "new" not in kv
    assert improve(kv, n_components=5).vector_size == 5
    with pytest.raises(InvalidInputError, match="vectors is empty: 0 rows x 5"):
        improve(type(kv)(5))


def test_counts_in_keyed_vectors_are_weights(kv, words, X, tmp_path) -> None:
    counts = np.random.default_rng(1).integers(1, 1000, N)
    for word, count in zip(words, counts, strict=True):
        kv.set_vecattr(word, "count", int(count))
    better, report = improve(kv, return_report=True)
    assert "weighted by the counts in" in report.fitted_on
    mapping = dict(zip(words, map(float, counts), strict=True))
    assert np.array_equal(better.vectors, improve((words, X), weights=mapping)[1])
    assert better.get_vecattr("w7", "count") == counts[7]
    # gensim invents counts when it loads a file without any; those are ignored.
    kv.save_word2vec_format(str(tmp_path / "kv.bin"), binary=True)
    loaded = type(kv).load_word2vec_format(str(tmp_path / "kv.bin"), binary=True)
    _, report = improve(loaded, return_report=True)
    assert "weighted by rank" in report.fitted_on


def test_the_lines_that_convert_a_pickle_do(kv, X, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    kv.save("vectors.kv")
    with pytest.raises(InvalidInputError, match="never opened") as refused:
        improve("vectors.kv")
    exec(str(refused.value).partition("convert it with gensim: ")[2])
    assert np.array_equal(read_all(open_vectors(Path("vectors.bin")))[1], X)


@pytest.fixture
def sentences(rng):
    return [list(rng.choice([f"w{i}" for i in range(30)], 8)) for _ in range(300)]


def test_fasttext_models_map_their_ngrams(sentences) -> None:
    models = pytest.importorskip("gensim.models")
    model = models.FastText(
        sentences, vector_size=6, min_count=1, epochs=2, workers=1, seed=1, bucket=500
    )
    better, report = improve(model.wv, return_report=True)
    assert report.lengths == "kept"
    # One linear map for the words of the table and for an unknown word.
    A = np.linalg.lstsq(model.wv.vectors, better.vectors, rcond=None)[0]
    np.testing.assert_allclose(better["w1w2"], model.wv["w1w2"] @ A, atol=1e-4)
    assert not np.allclose(better["w1w2"], model.wv["w1w2"])
    with pytest.raises(InvalidInputError, match=r"vectors of a FastText; pass model\.wv"):
        improve(model)


# Frames


def test_pandas(words, X, written) -> None:
    pd = pytest.importorskip("pandas")
    indexed = improve(pd.DataFrame(X, index=words))
    assert np.array_equal(indexed.to_numpy(), written())
    assert list(indexed.index) == words
    names = [f"d{i}" for i in range(DIMENSION)]
    frame = pd.DataFrame(X, columns=names).assign(note="kept", object=[{}] * N)
    frame.insert(0, "word", words)
    better = improve(frame)
    assert (better.dtypes == frame.dtypes).all()
    assert np.array_equal(better[names].to_numpy(), written())
    assert (better["note"] == "kept").all()
    fewer = ["word", "d0", "d1", "d2", "note", "object"]
    assert list(improve(frame, n_components=3).columns) == fewer
    bare, report = improve(pd.DataFrame(X), return_report=True)
    assert report.method == "gentle"
    assert np.array_equal(bare.to_numpy(), improve(X))
    with pytest.raises(InvalidInputError, match="this DataFrame: has no vectors"):
        improve(pd.DataFrame(index=words))


@pytest.mark.parametrize("kind", [np.array, list, tuple, "arrow"])
def test_columns_of_lists_in_pandas(kind, words, X, written) -> None:
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    if kind == "arrow":
        dtype = pd.ArrowDtype(pa.list_(pa.float32(), DIMENSION))
        column = pd.Series(list(X), dtype=dtype)
    else:
        column = pd.Series([kind(row) for row in X])
    frame = pd.DataFrame({"word": pd.Categorical(words), "vector": column, "n": range(N)})
    better = improve(frame)
    assert (better.dtypes == frame.dtypes).all()
    assert type(better["vector"][3]) is type(frame["vector"][3])
    np.testing.assert_allclose(np.stack(better["vector"]), written(), atol=1e-6)
    assert len(improve(frame, n_components=3)["vector"][0]) == 3
    if kind != "arrow":
        column[6] = kind(X[6, :2])
        with pytest.raises(InvalidInputError, match=r"this DataFrame, row 7: .* found 2"):
            improve(frame.assign(vector=column))


def test_polars_and_arrow(words, X, written) -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    expected = written()
    frame = pl.DataFrame({"word": words, "vector": X, "n": range(N)})
    frame = frame.with_columns(object=pl.Series([object()] * N, dtype=pl.Object))
    better = improve(frame)
    assert better.schema == frame.schema
    assert np.array_equal(better["vector"].to_numpy(), expected)
    wide = {"word": words} | {f"d{i}": X[:, i] for i in range(DIMENSION)}
    columns = improve(pl.DataFrame(wide))
    assert np.array_equal(columns.drop("word").to_numpy(), expected)
    assert improve(pl.DataFrame(wide), n_components=2).columns == ["word", "d0", "d1"]
    table = pa.table({"word": words, "vector": list(X)})
    better = improve(table)
    assert better.schema == table.schema
    assert np.array_equal(np.stack(better["vector"].to_numpy()), expected)
    assert improve(pa.table(wide), n_components=3).column_names == ["word", "d0", "d1", "d2"]
    parts = pa.concat_tables([table.slice(0, 100), table.slice(100)])
    assert np.array_equal(np.stack(improve(parts)["vector"].to_numpy()), expected)
    two = table.append_column("other", table["vector"])
    better = improve(two, column="vector")
    assert better["other"].equals(two["other"])


# Bad input and adapters


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (3, r"improve does not support builtins\.int"),
        (("a", "b", "c"), "vectors cannot be read from a tuple"),
        ((["a", "b"], np.array([[1.0, np.nan], [1, 2]])), "NaN or infinity"),
        ({}, "vectors cannot be read from a dict"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "must have rows of the same length"),
        (np.zeros((0, 3)), "is empty"),
        ("no such file", "no such file"),
    ],
)
def test_bad_input_is_one_clear_line(x, message) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        improve(x)
    assert "\n" not in str(refused.value)


def test_calls_that_make_no_sense(words, X) -> None:
    with pytest.raises(InvalidInputError, match="weights does not apply to abtt"):
        improve((words, X), "abtt", weights="zipf")
    with pytest.raises(InvalidInputError, match="original changes nothing"):
        improve((words, X), "original")
    with pytest.raises(InvalidInputError, match="texts are for a SentenceTransformer"):
        improve((words, X), texts=["a b"])
    with pytest.raises(InvalidInputError, match="a tuple has no columns"):
        improve((words, X), column="vector")


def test_an_adapter_is_imported_only_when_its_kind_is_met() -> None:
    code = """
import sys
import numpy as np
import conceptor
conceptor.improve((["a", "b", "c"], np.eye(3)), "abtt")
print(*sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {name.partition(".")[0] for name in run.stdout.split()}
    heavy = {"gensim", "spacy", "pandas", "polars", "pyarrow", "torch", "model2vec", "sklearn"}
    assert not modules & heavy
    assert "conceptor.integrations.objects" in run.stdout  # the control
