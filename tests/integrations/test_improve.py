"""One call for vectors as other libraries hold them: the same kind comes back, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import conceptor
from conceptor import InvalidInputError, WordVectors, improve, open_vectors
from conceptor.integrations import registry
from conceptor.integrations.opened import open_table
from conceptor.integrations.registry import ADAPTERS, find_adapter, kinds

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
        return open_vectors(tmp_path / "out.npy").to_array()

    return make


METHODS = ["cn", "abtt", "cn+sif", "cn:n_components=5", "zipf-whitening"]


@pytest.mark.parametrize("method", METHODS)
def test_bit_for_bit_what_postprocess_writes(method, words, X, written, tmp_path) -> None:
    expected = written(method)
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


@pytest.mark.parametrize("suffix", ["npy", "safetensors", "parquet"])
def test_bit_for_bit_in_many_chunks(suffix, rng, tmp_path) -> None:
    """300 dimensions are read 3,495 rows at a time, and the last chunk is a short one."""
    X = (rng.standard_normal((9000, 300)) + 0.2).astype(np.float32)
    words = [f"w{i}" for i in range(len(X))]
    conceptor.write_vectors(tmp_path / f"in.{suffix}", [(words, X)])
    conceptor.postprocess(tmp_path / f"in.{suffix}", tmp_path / "out.npy")
    written = open_vectors(tmp_path / "out.npy").to_array()
    assert np.array_equal(improve((words, X))[1], written)


def test_nothing_that_went_in_changes(words, X) -> None:
    before = X.copy()
    improve((words, X))
    improve(dict(zip(words, X, strict=True)))
    assert np.array_equal(X, before)


def test_precision_stays(words, X) -> None:
    assert improve((words, X.astype(np.float16)))[1].dtype == np.float16
    single, double = improve((words, X))[1], improve((words, X.astype(np.float64)))[1]
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_fewer_dimensions(words, X, written) -> None:
    smaller, report = improve((words, X), n_components=5, return_report=True)
    assert np.array_equal(smaller[1], written("cn:n_components=5"))
    assert (report.dimension, report.words, report.method) == (5, N, "cn:n_components=5")
    with pytest.raises(InvalidInputError, match="counterfit keeps the dimension"):
        improve((words, X), "counterfit", n_components=5)


def test_an_array_without_words(X, tmp_path) -> None:
    np.save(tmp_path / "in.npy", X)
    conceptor.postprocess(tmp_path / "in.npy", tmp_path / "out.npy")
    expected = np.load(tmp_path / "out.npy")
    better, report = improve(X, return_report=True)
    assert np.array_equal(better, expected)
    assert (report.method, report.fitted_on) == ("gentle", "all rows, once each")
    assert np.array_equal(improve(tmp_path / "in.npy").vectors, expected)
    np.testing.assert_allclose(
        improve(X, "abtt"), conceptor.AllButTheTop().fit_transform(X), atol=1e-5
    )
    with pytest.raises(InvalidInputError, match="its rows have no words, so weights does not"):
        improve(X, "cn", weights="zipf")


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
    made = pytest.importorskip("gensim.models").KeyedVectors(DIMENSION)
    made.add_vectors(words, X)
    return made


def test_keyed_vectors(kv, words, X, written) -> None:
    before = kv.most_similar("w3")
    better = improve(kv)
    assert type(better) is type(kv)
    assert np.array_equal(better.vectors, written())
    cosines = better.vectors @ better["w3"] / np.linalg.norm(better.vectors, axis=1)
    assert better.most_similar("w3")[0][0] == words[np.argsort(-cosines)[1]]
    assert kv.most_similar("w3") == before  # the original is as it was
    better.add_vectors(["new"], better["w3"][np.newaxis])
    assert "new" not in kv
    assert improve(kv, n_components=5).vector_size == 5


def test_counts_in_keyed_vectors_are_weights(kv, words, X, tmp_path) -> None:
    counts = np.random.default_rng(1).integers(1, 1000, N)
    for word, count in zip(words, counts, strict=True):
        kv.set_vecattr(word, "count", int(count))
    better, report = improve(kv, return_report=True)
    assert "weighted by the counts in" in report.fitted_on
    given = dict(zip(words, map(float, counts), strict=True))
    assert np.array_equal(better.vectors, improve((words, X), weights=given)[1])
    assert better.get_vecattr("w7", "count") == counts[7]
    # Where there are none, gensim makes some up as it loads a file; those tell nothing.
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
    assert np.array_equal(open_vectors("vectors.bin").to_array(), X)
    models = pytest.importorskip("gensim.models")
    model = models.Word2Vec([["a", "b"]] * 20, vector_size=4, min_count=1, epochs=1)
    model.save("trained.model")
    with pytest.raises(InvalidInputError, match="never opened") as refused:
        open_vectors("trained.model")
    exec(str(refused.value).partition("convert it with gensim: ")[2])
    assert np.array_equal(open_vectors("trained.bin").to_array(), model.wv.vectors)


def test_word2vec_models_keep_their_predictions(rng) -> None:
    models = pytest.importorskip("gensim.models")
    texts = [list(rng.choice([f"w{i}" for i in range(30)], 8)) for _ in range(300)]
    model = models.Word2Vec(texts, vector_size=6, min_count=1, epochs=2, workers=1, seed=1)
    better, _ = improve(model, "cn:unit=false", return_report=True)
    assert better.wv.vectors.shape == model.wv.vectors.shape
    before = dict(model.predict_output_word(["w1", "w2"], topn=30))
    after = dict(better.predict_output_word(["w1", "w2"], topn=30))
    assert after == pytest.approx(before, abs=1e-4)
    assert not np.allclose(better.wv.vectors, model.wv.vectors)
    # Length 1 in the second step: two maps that are not one.
    chained = improve(model, "abtt+cn").wv.vectors
    counts = {word: model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key}
    plain = (model.wv.index_to_key, model.wv.vectors)
    expected = improve(plain, "abtt+cn", weights=counts)[1]
    np.testing.assert_allclose(chained, expected, atol=1e-6)


# Frames


def test_pandas(words, X, written) -> None:
    pd = pytest.importorskip("pandas")
    indexed = improve(pd.DataFrame(X, index=words))
    assert np.array_equal(indexed.to_numpy(), written())
    assert list(indexed.index) == words
    names = [f"d{i}" for i in range(DIMENSION)]
    frame = pd.DataFrame(X, columns=names).assign(note="kept")
    frame.insert(0, "word", words)
    better = improve(frame)
    assert list(better.columns) == list(frame.columns)
    assert np.array_equal(better[names].to_numpy(), written())
    assert (better["note"] == "kept").all()
    assert list(improve(frame, n_components=3).columns) == ["word", "d0", "d1", "d2", "note"]
    bare, report = improve(pd.DataFrame(X), return_report=True)
    assert report.method == "gentle"
    assert np.array_equal(bare.to_numpy(), improve(X))
    with pytest.raises(InvalidInputError, match="this DataFrame has no vectors"):
        improve(pd.DataFrame(index=words))


def test_polars_and_arrow(words, X, written) -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    expected = written()
    frame = pl.DataFrame({"word": words, "vector": X, "n": range(N)})
    better = improve(frame)
    assert better.schema == frame.schema
    assert np.array_equal(better["vector"].to_numpy(), expected)
    wide = {"word": words} | {f"d{i}": X[:, i] for i in range(DIMENSION)}
    columns = improve(pl.DataFrame(wide))
    assert np.array_equal(columns.drop("word").to_numpy(), expected)
    table = pa.table({"word": words, "vector": list(X)})
    better = improve(table)
    assert better.schema == table.schema
    assert np.array_equal(np.stack(better["vector"].to_numpy()), expected)
    assert improve(pa.table(wide), n_components=3).column_names == ["word", "d0", "d1", "d2"]
    parts = pa.concat_tables([table.slice(0, 100), table.slice(100)])
    assert np.array_equal(np.stack(improve(parts)["vector"].to_numpy()), expected)
    with pytest.raises(InvalidInputError, match=r"no column of lists.* are x; choose the"):
        improve(pa.table({"x": [1.0, 2.0]}))


# Bad input and the registry


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (3, "improve does not support int"),
        (("a", "b", "c"), r"expected \(words, array\), not a tuple of 3"),
        ((["a"], np.zeros(3)), "must be a matrix with one vector per row"),
        ((["a"], np.zeros((2, 3))), "1 words but 2 vectors"),
        ((["a", "b"], np.array([[1.0, np.nan], [1, 2]])), "NaN or infinity"),
        ({}, "a mapping of words to vectors of the same length"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "a mapping of words to vectors of the same length"),
        (np.zeros((0, 3)), "is empty"),
        (".", "is a directory; use conceptor.postprocess"),
        ("no such file", "no such file"),
    ],
)
def test_bad_input_is_one_clear_line(x, said) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        improve(x)
    assert "\n" not in str(refused.value)


def test_calls_that_make_no_sense(words, X) -> None:
    with pytest.raises(InvalidInputError, match="weights does not apply to abtt"):
        improve((words, X), "abtt", weights="zipf")
    with pytest.raises(InvalidInputError, match="original changes nothing"):
        improve((words, X), "original")
    with pytest.raises(InvalidInputError, match="texts are for a SentenceTransformer"):
        improve((words, X), texts=["a b"])


def test_keyed_vectors_without_vectors() -> None:
    models = pytest.importorskip("gensim.models")
    with pytest.raises(InvalidInputError, match=r"this KeyedVectors has no vectors \(0 × 5\)"):
        improve(models.KeyedVectors(5))


def test_a_model_of_another_library_is_refused_with_what_to_do() -> None:
    other = type("_FastText", (), {"__module__": "fasttext.FastText"})()
    with pytest.raises(InvalidInputError, match=r"save_model\(.*conceptor.postprocess"):
        improve(other)


class Own:
    def __init__(self, words, X) -> None:
        self.words, self.X = words, X


class Special(Own):
    pass


def open_own(x):
    return open_table(x.words, x.X, lambda rows: type(x)(x.words, rows))


def test_the_registry_is_open(words, X, written, monkeypatch) -> None:
    kind = kinds(Own(words, X))[0]
    entry = EntryPoint(kind, f"{__name__}:open_own", registry.GROUP)

    def entry_points(group: str) -> list[EntryPoint]:
        return [entry] if group == entry.group else []

    with pytest.raises(InvalidInputError, match="improve does not support Special"):
        improve(Special(words, X))
    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    better = improve(Special(words, X))  # also for what inherits from it
    assert type(better) is Special
    assert np.array_equal(better.X, written())


def test_every_adapter_is_there() -> None:
    for kind, home in ADAPTERS.items():
        module, _, name = home.partition(":")
        text = Path(registry.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
        assert f"def {name}(" in text, kind


def test_an_adapter_is_imported_only_when_its_kind_is_met() -> None:
    code = """
import sys
import numpy as np
import conceptor
conceptor.improve((["a", "b", "c"], np.eye(3)), "abtt")
print(*sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = {name.partition(".")[0] for name in run.stdout.split()}
    heavy = {"gensim", "spacy", "pandas", "polars", "pyarrow", "torch", "model2vec", "sklearn"}
    assert not found & heavy
    assert "conceptor.integrations.tables" in run.stdout  # the control


def test_the_kind_decides(kv) -> None:
    assert find_adapter(kv).__name__ == "open_keyed_vectors"
    assert find_adapter(Path("x")).__name__ == "open_path"
