"""The same vectors get the same method and the same map through every door."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import conceptor
from conceptor import AffineMap, Method, improve, open_vectors, write_vectors
from conceptor.base.registry import Registry
from conceptor.explore.answers import Settings
from conceptor.explore.fitted import PageMethods
from conceptor.explore.table import PageTable
from conceptor.fitting import FitOptions, fit_methods
from conceptor.integrations.reading import open_rows
from conceptor.vectors.vectors import Vectors, WrappedVectors
from tests.vectors.test_fasttext import model_bytes

LETTERS = "etaoinshrdlcumwfgypbvk"


def zipf_words(count):
    """Words that get longer with rank, as in a file sorted by frequency."""
    rng = np.random.default_rng(1)
    found = {}
    for rank in range(40 * count):
        size = 2 + int(np.log2(len(found) + 2)) + int(rng.integers(3))
        found.setdefault("".join(rng.choice(list(LETTERS), size)), rank)
        if len(found) == count:
            return list(found)
    raise AssertionError("not enough words")


@pytest.fixture(scope="module")
def words():
    return zipf_words(2400)


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
    if expected.lengths is None:
        return
    assert list(map_.lengths.words) == list(expected.lengths.words)
    np.testing.assert_allclose(map_.lengths.factors, expected.lengths.factors, rtol=1e-12)


def same_directions(map_, expected):
    assert map_.unit == expected.unit
    np.testing.assert_allclose(map_.matrix, expected.matrix, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["x.txt", "x.vec", "x.bin", "x.npy", "x.safetensors", "x.parquet"])
def test_files(words, X, expected, name, tmp_path):
    write_vectors(tmp_path / name, [(words, X)])
    target = tmp_path / f"out.{name.partition('.')[2]}"
    report = conceptor.postprocess(tmp_path / name, target, save_map=tmp_path / "map")
    assert report.method == "cn"
    same_map(AffineMap.load(tmp_path / "map"), expected)


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "conceptor", *map(str, arguments), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("workers", "suffix"), [(1, "bin"), (2, "bin"), (1, "npy")])
def test_shards(words, X, expected, workers, suffix, tmp_path):
    (tmp_path / "in").mkdir()
    for number, part in enumerate((slice(0, 1000), slice(1000, None))):
        write_vectors(tmp_path / "in" / f"{number}.{suffix}", [(words[part], X[part])])
    options = ["--workers", workers, "--save-map", tmp_path / "map"]
    report = run("postprocess", tmp_path / "in" / f"*.{suffix}", tmp_path / "out", *options)
    assert report["method"] == "cn"
    same_map(AffineMap.load(tmp_path / "map"), expected)


def test_rows_dealt_out_to_shards_are_not_taken_for_ranks(words, X, tmp_path):
    from conceptor.distributed.shards import find_shards
    from conceptor.distributed.vectors import ShardedVectors

    for number in range(2):
        write_vectors(tmp_path / f"{number}.bin", [(words[number::2], X[number::2])])
    assert not ShardedVectors(find_shards(tmp_path)).ranked


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
    x, rows_of = make(words, X)
    better, report = improve(x, return_report=True)
    assert report.method == "cn"
    assert report.lengths == "usage"
    wanted = expected.map_words(words, X)
    np.testing.assert_allclose(rows_of(better), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [in_gensim, in_spacy, in_pandas, as_pair])
def test_objects_that_are_only_read(words, X, expected, make):
    """`compare`, `most_similar` and `inspect` fit to what `improve` changes."""
    opened = open_rows(make(words, X)[0])
    assert Method.default_for(opened).name == "cn"
    same_map(fit_methods(opened, ["cn"]).methods["cn"].map, expected)


def test_counts_of_gensim_count_through_every_door(words, X):
    kv, _ = in_gensim(words, X)
    by_rank = fit_methods(kv, ["cn"]).methods["cn"].map
    counts = np.random.default_rng(2).permutation(np.arange(1, len(words) + 1))
    for word, count in zip(words, counts.tolist(), strict=True):
        kv.set_vecattr(word, "count", count)
    found = fit_methods((words, X), ["cn"], FitOptions(dict(zip(words, counts, strict=True))))
    by_counts = found.methods["cn"].map
    assert not np.allclose(by_counts.matrix, by_rank.matrix), "the control"
    for opened in (kv, open_rows(kv)):
        same_map(fit_methods(opened, ["cn"]).methods["cn"].map, by_counts)
    better = improve(kv).vectors
    np.testing.assert_allclose(better, by_counts.map_words(words, X), rtol=1e-5, atol=1e-6)


def test_the_estimator(X, expected):
    same_directions(conceptor.estimator("cn").set_params(weights="zipf").fit(X).map_, expected)


def page_map(path, method):
    """The map that `explore` shows for a file."""
    source = open_vectors(path)
    table = PageTable.open(source, str(path))
    fitted = PageMethods(table, [method], FitOptions())
    return fitted.map(Settings(method=method))


def test_the_page(words, X, expected, tmp_path):
    write_vectors(tmp_path / "x.txt", [(words, X)])
    same_map(page_map(tmp_path / "x.txt", "cn"), expected)


def test_a_fasttext_model_is_weighted_by_its_own_counts(words, X, tmp_path):
    some, rows = words[:300], X[:300]
    counts = [int(1e6 / (rank + 1) ** 0.5) for rank in range(300)][::-1]  # against the ranks
    (tmp_path / "m.bin").write_bytes(model_bytes(some, rows, rows, counts=counts, longest=0))
    report = conceptor.postprocess(
        tmp_path / "m.bin", tmp_path / "out.bin", save_map=tmp_path / "map"
    )
    assert report.method == "cn"
    written = AffineMap.load(tmp_path / "map")
    by_counts = conceptor.estimator("cn").fit(rows, sample_weight=counts)
    same_directions(written, by_counts.map_)
    same_map(page_map(tmp_path / "m.bin", "cn"), written)


def test_a_static_folder_is_weighted_by_its_tokens(tmp_path):
    pytest.importorskip("wordfreq")
    from conceptor.static_models.words import word_model

    some = ["the", "of", "rain", "umbrella", "coat", "river", "boat", "bank", "money", "loan"]
    rows = np.random.default_rng(0).standard_normal((10, 4)) + 1
    word_model(some, rows, {}).save(tmp_path / "model")
    report = conceptor.postprocess(
        tmp_path / "model", tmp_path / "out.txt", save_map=tmp_path / "map"
    )
    assert report.method == "cn:lengths=kept"
    written = AffineMap.load(tmp_path / "map")
    source = open_vectors(tmp_path / "model")
    assert str(Method.default_for(source)) == report.method
    table = PageTable.open(source, "model")
    assert str(Method.default_for(table.vectors)) == report.method
    usage = FitOptions().weights_for("usage", source).counts
    assert FitOptions().weights_for("usage", table.vectors).counts == usage
    assert written.n_in == 4


def test_rows_without_words(X, tmp_path):
    np.save(tmp_path / "e.npy", X)
    report = run(
        "postprocess", tmp_path / "e.npy", tmp_path / "o.npy", "--save-map", tmp_path / "m"
    )
    assert report["method"] == "gentle"
    written = AffineMap.load(tmp_path / "m")
    options = ["--workers", 1, "--save-map", tmp_path / "n"]
    report = run("postprocess", tmp_path / "e.npy", tmp_path / "out", *options)
    assert report["method"] == "gentle"
    same_directions(AffineMap.load(tmp_path / "n"), written)
    same_directions(conceptor.estimator("gentle").fit(X).map_, written)
    assert written.lengths is None
    better, found = improve(X, return_report=True)
    assert found.method == "gentle"
    np.testing.assert_array_equal(better, np.load(tmp_path / "o.npy"))


# Embeddings of texts


@pytest.fixture(scope="module")
def texts():
    """Sentences of a review or a caption, in which some come twice."""
    rng = np.random.default_rng(3)
    nouns, verbs = ("a dog", "the river", "her aunt", "that film"), ("sleeps", "was long", "sings")
    made = [f"{nouns[i % 4].capitalize()} {verbs[i % 3]}, take {i % 290}!" for i in range(300)]
    return [made[i] for i in rng.permutation(300)]


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
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    if path.suffix in (".parquet", ".feather"):
        table = pa.table(text_columns(texts, E))
        write = pa.parquet.write_table if path.suffix == ".parquet" else pa.feather.write_feather
        write(table, path)
    elif path.suffix == ".npy":
        np.save(path, E)
        path.with_suffix(".txt").write_text("\n".join(texts) + "\n")
    else:
        write_vectors(path, [(texts, E)])


FILES_OF_TEXTS = ["x.npy", "x.parquet", "x.feather", "x.safetensors", "x.txt", "x.vec"]


@pytest.mark.parametrize("name", FILES_OF_TEXTS)
def test_files_of_texts(texts, E, gentle, name, tmp_path):
    write_texts(tmp_path / name, texts, E)
    target = tmp_path / f"out{(tmp_path / name).suffix}"
    report = conceptor.postprocess(tmp_path / name, target, save_map=tmp_path / "map")
    assert (report.method, report.rows, report.words) == ("gentle", "texts", len(texts))
    same_map(AffineMap.load(tmp_path / "map"), gentle)
    found = conceptor.inspect(tmp_path / name)
    assert (found.rows, found.weights) == ("texts", "uniform")
    assert set(found.predictions) == {"sts"}  # what was measured of rows of texts
    as_words = Method.default_for(open_vectors(tmp_path / name, rows="words"))
    assert str(as_words) == "cn", "the control: what was said decides"


@pytest.mark.parametrize("suffix", ["parquet", "npy"])
def test_shards_of_texts(texts, E, gentle, suffix, tmp_path):
    (tmp_path / "in").mkdir()
    for number, part in enumerate((slice(0, 130), slice(130, None))):
        path = tmp_path / "in" / f"{number}.{suffix}"
        write_texts(path, texts[part] + [""] * (len(texts[part]) % 2), E[part])
        path.with_suffix(".txt").unlink(missing_ok=True)
    options = ["--workers", 1, "--save-map", tmp_path / "map"]
    report = run("postprocess", tmp_path / "in", tmp_path / "out", *options)
    assert (report["method"], report["rows"]) == ("gentle", "texts")
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


def test_the_command_line_says_what_rows_are(texts, E, tmp_path):
    write_texts(tmp_path / "x.parquet", texts, E)
    calls = {"": "texts", "--rows=words": "words", "--rows=texts": "texts"}
    for option, expected in calls.items():
        done = subprocess.run(
            [sys.executable, "-m", "conceptor", "inspect", tmp_path / "x.parquet", "--json"]
            + ([option] if option else []),
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["rows"] == expected
        assert ("treated as texts" in done.stderr) is (option == "")
        assert ("use --rows words" in done.stderr) is (option == "")


def test_wrappers_forward_every_question():
    asked = {name for name in vars(Vectors) if not name.startswith("_")}
    assert asked == {name for name in vars(WrappedVectors) if not name.startswith("_")}


def test_no_part_of_the_package_sniffs_vectors():
    from pathlib import Path

    root = Path(conceptor.__file__).parent
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for call in ("getattr(vectors", "hasattr(vectors", "getattr(source", "getattr(opened"):
            assert call not in text, path


def test_a_method_from_outside_is_found_everywhere(tmp_path):
    """A toy method in one file of another package, by an entry point."""
    package = tmp_path / "toy_method.py"
    package.write_text(
        "from conceptor.algebra.gates import DropLeading\n"
        "from conceptor.algebra.recipes import Recipe, Words\n"
        "TOY = Recipe('toy', 'a toy from outside', Words.ALL, 'second_moment', DropLeading(1))\n"
    )
    info = tmp_path / "toy_method-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-method\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[conceptor.methods]\ntoy = toy_method:TOY\n")
    np.save(tmp_path / "e.npy", np.random.default_rng(0).standard_normal((50, 4)))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from conceptor.__main__ import main\n"
        "from conceptor.cli.options import complete_method\n"
        "assert complete_method('to') == ['toy'], complete_method('to')\n"
        f"sys.argv = ['conceptor', 'postprocess', {str(tmp_path / 'e.npy')!r},"
        f" {str(tmp_path / 'o.npy')!r}, '--method', 'toy', '--json']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "sys.argv = ['conceptor', 'methods']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"method": "toy"' in done.stdout
    assert "a toy from outside" in done.stdout


def test_a_broken_plugin_is_named(monkeypatch):
    class Entry:
        name, value = "broken", "nowhere:X"

        def load(self):
            raise ImportError("no module named nowhere")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Entry()])
    with pytest.raises(conceptor.ConceptorError, match="broken of nowhere:X could not be"):
        list(Registry("conceptor.methods", ()))


@pytest.mark.parametrize(
    "text",
    [
        "cn",
        "cn:aperture=2",
        "cn:lengths=unit",
        "abtt:n_directions=3+counterfit",
        "cn+sif",
        "original",
    ],
)
def test_printing_and_parsing_are_inverses(text):
    assert str(Method.parse(text)) == text
    assert Method.parse(str(Method.parse(text))) == Method.parse(text)
