"""Folders of static models and arrays without words, through files, Python and the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from conceptor import InvalidInputError, inspect, open_vectors
from conceptor.postprocessing import fit, postprocess
from conceptor.vectors.formats.static_model import StaticModelSource, write_folder
from tests.static_models.conftest import TEXTS, WORDS

tokenizers = pytest.importorskip("tokenizers", reason="needs the static extra")


def make_tokenizer(words=WORDS):
    tokens = ["[PAD]", "[UNK]", "!", *words]
    model = tokenizers.models.WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(model)
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["[PAD]", "[UNK]"])
    return made


def make_vectors(rows, n=8, seed=0):
    """Rows that share a direction, the more so the more frequent."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(rows, n))
    vectors[:, 0] += 4 * np.linspace(1, 0, rows)
    return vectors.astype(np.float32)


@pytest.fixture
def counts_file(tmp_path):
    lines = (f"{word} {1000 / (rank + 2.7)}" for rank, word in enumerate(WORDS))
    (tmp_path / "counts.txt").write_text("\n".join(lines))
    return tmp_path / "counts.txt"


@pytest.fixture(params=["float32", "float16", "int8"])
def folder(request, tmp_path):
    tokenizer = make_tokenizer()
    vectors = make_vectors(tokenizer.get_vocab_size())
    write_folder(tmp_path / "in", vectors, tokenizer.to_str(), {}, "# a card\n", request.param)
    return tmp_path / "in"


def test_a_folder_becomes_a_folder_like_it(folder, tmp_path, counts_file):
    report = postprocess(folder, tmp_path / "out", options=_options(counts_file))
    before, after = StaticModelSource(folder), StaticModelSource(tmp_path / "out")
    assert report.words == after.rows == len(WORDS) + 3
    assert before.dtype == after.dtype
    assert before.words == after.words
    for file in folder.iterdir():
        if file.name not in ("model.safetensors", "config.json"):
            assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    solution, _ = fit(folder, "cn:unit=false", _options(counts_file))
    expected = solution.map(before.to_array())
    got = after.to_array()
    if before.dtype == np.int8:  # the scale is not kept
        got = got * np.abs(expected).max() / 127
    tolerance = {"float32": 1e-6, "float16": 2e-3, "int8": 5e-3}[before.dtype.name]
    np.testing.assert_allclose(got, expected, atol=tolerance * np.abs(expected).max())
    with pytest.raises(InvalidInputError, match="exists"):
        postprocess(folder, tmp_path / "out", options=_options(counts_file))
    with pytest.raises(InvalidInputError, match="is the input"):
        postprocess(folder, folder, options=_options(counts_file), force=True)


def _options(counts_file):
    from conceptor import FitOptions

    return FitOptions(str(counts_file))


@pytest.mark.parametrize("folder", ["float32"], indirect=True)
def test_only_words_count_not_the_order_of_the_tokenizer(folder, counts_file):
    source = StaticModelSource(folder)
    counted = source.token_counts({"the": 5.0, "umbrella": 1.0, "xyzzy": 9.0, "wet!": 2.0})
    assert counted == {"the": 5.0, "umbrella": 1.0, "wet": 2.0, "!": 2.0}
    with pytest.raises(InvalidInputError, match="does not reflect frequency"):
        fit(folder, "cn", _options("zipf"))
    found = inspect(folder, str(counts_file))
    assert found.count == len(WORDS) + 3
    assert "in the tokenizer's tokens" in found.fitted_on


def test_sentence_transformers_layout(tmp_path, counts_file):
    """`embedding.weight` under 0_StaticEmbedding, as sentence-transformers may save it."""
    from safetensors.numpy import load_file, save_file

    tokenizer = make_tokenizer()
    place = tmp_path / "in" / "0_StaticEmbedding"
    place.mkdir(parents=True)
    vectors = make_vectors(tokenizer.get_vocab_size())
    save_file({"embedding.weight": vectors}, place / "model.safetensors")
    tokenizer.save(str(place / "tokenizer.json"))
    (tmp_path / "in" / "modules.json").write_text("[]")
    postprocess(tmp_path / "in", tmp_path / "out", options=_options(counts_file))
    written = load_file(tmp_path / "out" / "0_StaticEmbedding" / "model.safetensors")
    assert set(written) == {"embedding.weight"}
    assert (tmp_path / "out" / "modules.json").exists()


def test_quantised_vocabularies_stay_so(tmp_path, counts_file):
    model2vec = pytest.importorskip("model2vec", reason="needs model2vec")
    tokenizer = make_tokenizer()
    count = tokenizer.get_vocab_size()
    model2vec.StaticModel(make_vectors(count), tokenizer, normalize=True).save_pretrained(
        tmp_path / "whole"
    )
    model2vec.StaticModel.from_pretrained(
        tmp_path / "whole", vocabulary_quantization=9
    ).save_pretrained(tmp_path / "in")
    theirs = model2vec.StaticModel.from_pretrained(tmp_path / "in")
    source = StaticModelSource(tmp_path / "in")
    expected = theirs.embedding[theirs.token_mapping] * theirs.weights[:, None]
    np.testing.assert_allclose(source.to_array(), expected, rtol=1e-6)
    postprocess(tmp_path / "in", tmp_path / "out", options=_options(counts_file))
    better = model2vec.StaticModel.from_pretrained(tmp_path / "out")
    assert better.vocabulary_quantization == 9
    solution, _ = fit(tmp_path / "in", "cn:unit=false", _options(counts_file))
    found = better.embedding[better.token_mapping] * better.weights[:, None]
    np.testing.assert_allclose(found, solution.map(expected), rtol=1e-4, atol=1e-5)
    # A method with an offset moves tokens of a cluster apart: then each gets its own row.
    postprocess(tmp_path / "in", tmp_path / "centred", "abtt:n_directions=1")
    assert model2vec.StaticModel.from_pretrained(tmp_path / "centred").token_mapping is None


@pytest.mark.parametrize("folder", ["int8"], indirect=True)
def test_tokens_to_a_file_of_vectors(folder, tmp_path, counts_file):
    postprocess(folder, tmp_path / "out.txt", options=_options(counts_file))
    assert open_vectors(tmp_path / "out.txt").words[3:] == WORDS


@pytest.mark.parametrize("folder", ["float32"], indirect=True)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b"not safetensors at all"),
        ("tokenizer.json", b'{"model": {}}'),
    ],
)
def test_damaged_folders(folder, tmp_path, counts_file, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=name.replace(".", r"\.")):
        postprocess(folder, tmp_path / "out", options=_options(counts_file))
    assert not (tmp_path / "out").exists()


def test_mapping_beyond_the_matrix(tmp_path):
    from safetensors.numpy import save_file

    tensors = {
        "embeddings": np.ones((2, 3), np.float32),
        "mapping": np.array([0, 5]),
        "weights": np.ones(2),
    }
    save_file(tensors, tmp_path / "model.safetensors")
    make_tokenizer().save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InvalidInputError, match="mapping"):
        StaticModelSource(tmp_path)


def test_arrays_without_words(tmp_path):
    rows = make_vectors(300)
    rows[5] = rows[4]  # equal rows are two rows
    np.save(tmp_path / "in.npy", rows)
    with pytest.raises(InvalidInputError, match="words are missing"):
        open_vectors(tmp_path / "in.npy")
    report = postprocess(tmp_path / "in.npy", tmp_path / "out.npy")
    assert report.method == "gentle"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.npy", "out.npy"]
    solution = fit(tmp_path / "in.npy")[0].solution
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), solution.map(rows), atol=1e-6)
    assert solution.gate[0] == pytest.approx(0.5)
    assert (np.diff(solution.gate) >= 0).all()
    for wrong in ("cn+sif", "counterfit", "hsr"):
        with pytest.raises(InvalidInputError, match="no words"):
            postprocess(tmp_path / "in.npy", tmp_path / "no.npy", wrong)
    with pytest.raises(InvalidInputError, match="no words, so weights"):
        postprocess(tmp_path / "in.npy", tmp_path / "no.npy", "cn", _options("wordfreq:en"))
    with pytest.raises(InvalidInputError, match="needs words"):
        postprocess(tmp_path / "in.npy", tmp_path / "no.txt")


def test_tables_without_words(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    rows = make_vectors(100)
    lists = arrow.FixedSizeListArray.from_arrays(rows.reshape(-1), 8)
    parquet.write_table(
        arrow.table({"id": range(100), "embedding": lists}), tmp_path / "in.parquet"
    )
    postprocess(tmp_path / "in.parquet", tmp_path / "out.parquet")
    np.save(tmp_path / "in.npy", rows)
    postprocess(tmp_path / "in.npy", tmp_path / "out.npy")
    written = parquet.read_table(tmp_path / "out.parquet")
    assert written.column_names == ["id", "embedding"]
    found = np.stack(written.column("embedding").to_numpy())
    np.testing.assert_array_equal(found, np.load(tmp_path / "out.npy"))


@pytest.mark.parametrize(
    ("shared", "expected"), [(6.0, "should gain on sts"), (0.0, "do not show")]
)
def test_advice_follows_what_rows_share(tmp_path, shared, expected):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(500, 32)).astype(np.float32)
    rows[:, 3] += shared
    np.save(tmp_path / "in.npy", rows)
    found = inspect(tmp_path / "in.npy")
    assert expected in found.advice
    assert [each.sign for each in found.predictions.values()] == [int(shared > 0)]


@pytest.mark.parametrize("folder", ["float16"], indirect=True)
def test_the_command_line(folder, tmp_path, counts_file):
    np.save(tmp_path / "rows.npy", make_vectors(100))
    counts = ["--weights", str(counts_file)]
    for arguments in (
        ["postprocess", str(folder), str(tmp_path / "out"), *counts],
        ["inspect", str(folder), "--json", *counts],
        ["fit", str(tmp_path / "rows.npy"), str(tmp_path / "map.safetensors")],
        ["apply", *(str(tmp_path / name) for name in ("map.safetensors", "rows.npy", "o.npy"))],
    ):
        done = _run(*arguments)
        assert done.returncode == 0, done.stderr
        if arguments[0] == "inspect":
            assert json.loads(done.stdout)["dimension"] == 8
    assert len(np.load(tmp_path / "o.npy")) == 100
    failed = _run("postprocess", str(folder), str(tmp_path / "out"), *counts)
    assert failed.returncode == 2
    assert "--force" in failed.stderr
    assert failed.stderr.count("\n") == 1


def _run(*arguments):
    command = [sys.executable, "-m", "conceptor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_distill_on_the_command_line(transformer, tmp_path, counts_file):
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    (tmp_path / "text.txt").write_text("\n".join(TEXTS))
    done = _run(
        *("distill", str(transformer), str(tmp_path / "out"), "--dimensions", "12"),
        *("--vocabulary", str(tmp_path / "words.txt"), "--weights", str(counts_file)),
        *("--sentences", str(tmp_path / "text.txt"), "--dtype", "float16", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dimension"] == 12
    assert StaticModelSource(tmp_path / "out").dtype == np.float16
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
