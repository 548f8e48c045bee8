"""Encoders are saved and loaded; other files are refused."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from conceptor import SentenceEncoder
from conceptor.base.errors import InvalidInputError


@pytest.mark.parametrize("weights", ["average", "sif"])
@pytest.mark.parametrize("removal", [0, 2, "conceptor"])
def test_a_loaded_encoder_encodes_the_same(table, sentences, weights, removal, tmp_path, counts):
    options = {"frequencies": counts | {"elsewhere": 300.0}} if removal == 2 else {}
    sentences = [*sentences, ["elsewhere", "w5"], ["unheard"]]
    encoder = SentenceEncoder(table, weights=weights, removal=removal, **options).fit(sentences)
    encoder.save(tmp_path / "encoder.safetensors")
    loaded = SentenceEncoder.load(tmp_path / "encoder.safetensors")
    np.testing.assert_array_equal(loaded.transform(sentences), encoder.transform(sentences))
    encoder.partial_fit(sentences[:20])
    loaded.partial_fit(sentences[:20])
    np.testing.assert_allclose(loaded.map_.matrix, encoder.map_.matrix)
    np.testing.assert_allclose(
        loaded.fit(sentences).map_.matrix, encoder.fit(sentences).map_.matrix
    )


def test_numbers_of_any_kind_and_a_file_of_counts(table, sentences, tmp_path, counts):
    file = tmp_path / "counts.txt"
    file.write_text("".join(f"{word} {count}\n" for word, count in counts.items()))
    words, vectors = table
    encoder = SentenceEncoder(
        (words, vectors.astype(np.longdouble)),
        aperture=np.float32(0.5),
        a=np.float64(0.01),
        frequencies=file,
    ).fit([*sentences, ["unheard"]])
    encoder.save(tmp_path / "encoder")
    file.unlink()
    loaded = SentenceEncoder.load(tmp_path / "encoder")
    np.testing.assert_array_equal(loaded.transform(sentences), encoder.transform(sentences))


def test_odd_words_survive(tmp_path):
    words = ["", "line\nbreak", "\ud800", "日本"]
    encoder = SentenceEncoder((words, np.eye(4))).fit([[word] for word in words])
    encoder.save(tmp_path / "encoder")
    loaded = SentenceEncoder.load(tmp_path / "encoder")
    queries = [[word] for word in words]
    np.testing.assert_array_equal(loaded.transform(queries), encoder.transform(queries))


def test_other_files_are_refused_in_one_line(table, sentences, tmp_path):
    path = tmp_path / "encoder.safetensors"
    encoder = SentenceEncoder(table).fit(sentences)
    encoder.save(path)
    whole = path.read_bytes()
    for damaged in (b"", b"not safetensors", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidInputError, match="encoder"):
            SentenceEncoder.load(path)
    encoder.map_.save(path)
    with pytest.raises(InvalidInputError, match="not a sentence encoder saved"):
        SentenceEncoder.load(path)
    with pytest.raises(InvalidInputError, match="directory"):
        SentenceEncoder.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"totals": np.full(3, np.inf)},
        {"totals": np.array([1.0, -1.0, 1.0])},
        {"totals": np.ones(4)},
        {"scatter": np.ones(1)},
        {"matrix": np.ones((6, 3))},
        {"matrix": np.full((6, 6), np.nan)},
        {"vectors": np.ones(6)},
        {"counts": np.ones(3)},
        {"words": np.frombuffer(b"3", dtype=np.uint8)},
        {"parameters": '{"frequencies": "/etc/passwd"}'},
        {"parameters": '{"weights": "third"}'},
        {"parameters": '{"other": 3}'},
        {"parameters": "[" * 100_000},
        {"parameters": '{"removal": null}'},
        {"provenance": "{"},
    ],
)
def test_an_invented_file_is_refused(table, sentences, tmp_path, change):
    SentenceEncoder(table).fit(sentences).save(tmp_path / "good")
    with safe_open(tmp_path / "good", framework="numpy") as file:
        metadata = file.metadata()
        parts = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    metadata |= {key: value for key, value in change.items() if isinstance(value, str)}
    parts |= {key: value for key, value in change.items() if not isinstance(value, str)}
    save_file(parts, tmp_path / "bad", metadata=metadata)
    with pytest.raises(InvalidInputError, match=r"damaged|not a saved sentence encoder"):
        SentenceEncoder.load(tmp_path / "bad")
