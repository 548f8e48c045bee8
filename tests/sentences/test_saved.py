"""Encoders come back from disk as they were, and from nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from conceptor import InvalidInputError
from conceptor.sentences.encoder import SentenceEncoder
from tests.sentences.toy import COUNTS


@pytest.mark.parametrize("weights", ["average", "sif", "usif"])
@pytest.mark.parametrize("removal", [0, 2, "piecewise", "conceptor"])
def test_saved_and_loaded_it_encodes_the_same(table, sentences, weights, removal, tmp_path):
    options = {"frequencies": COUNTS | {"elsewhere": 300.0}} if removal == 2 else {}
    sentences = [*sentences, ["elsewhere", "w5"], ["unheard"]]
    encoder = SentenceEncoder(table, weights=weights, removal=removal, **options).fit(sentences)
    encoder.save(tmp_path / "encoder.safetensors")
    loaded = SentenceEncoder.load(tmp_path / "encoder.safetensors")
    np.testing.assert_array_equal(loaded.transform(sentences), encoder.transform(sentences))
    encoder.partial_fit(sentences[:20])
    loaded.partial_fit(sentences[:20])
    np.testing.assert_allclose(loaded.map_.matrix, encoder.map_.matrix)
    again, anew = loaded.fit(sentences), encoder.fit(sentences)
    np.testing.assert_allclose(again.map_.matrix, anew.map_.matrix)


def test_what_is_no_encoder_is_refused_in_one_line(table, sentences, tmp_path):
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
        {"totals": np.array([1.0, 1.0, np.nan])},
        {"totals": np.ones(4)},
        {"scatter": np.ones(1)},
        {"matrix": np.ones((6, 3))},
        {"matrix": np.full((6, 6), np.nan)},
        {"mean": np.full(6, np.inf)},
        {"vectors": np.ones(6)},
        {"counts": np.ones(3)},
        {"words": np.frombuffer(b"\xff\xfe", dtype=np.uint8)},
        {"parameters": '{"frequencies": "/etc/passwd"}'},
        {"parameters": '{"frequencies": "zipf", "weights": "third"}'},
        {"parameters": '{"frequencies": "zipf", "other": 3}'},
        {"parameters": "[" * 100_000},
        {"parameters": "null"},
        {"parameters": '{"frequencies": "zipf", "weights": null}'},
        {"parameters": '{"frequencies": "zipf", "removal": null}'},
        {"parameters": '{"frequencies": null}'},
        {"provenance": "{"},
    ],
)
def test_a_file_made_up_by_someone_is_refused(table, sentences, tmp_path, change):
    SentenceEncoder(table).fit(sentences).save(tmp_path / "good")
    with safe_open(tmp_path / "good", framework="numpy") as file:
        metadata = file.metadata()
        parts = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    metadata |= {key: value for key, value in change.items() if isinstance(value, str)}
    parts |= {key: value for key, value in change.items() if not isinstance(value, str)}
    save_file(parts, tmp_path / "bad", metadata=metadata)
    with pytest.raises(InvalidInputError, match=r"damaged|not a saved sentence encoder") as refused:
        SentenceEncoder.load(tmp_path / "bad")
    assert "/bin/" not in str(refused.value)


def test_words_that_cannot_be_written_and_an_empty_one(tmp_path):
    odd = SentenceEncoder((["\ud800"], np.ones((1, 2)))).fit([["\ud800"]])
    with pytest.raises(InvalidInputError, match="UTF-8"):
        odd.save(tmp_path / "encoder")
    assert not any(tmp_path.iterdir())
    empty = SentenceEncoder(([""], np.ones((1, 2)))).fit([[""]])
    empty.save(tmp_path / "encoder")
    found = SentenceEncoder.load(tmp_path / "encoder").transform([[""]])
    np.testing.assert_array_equal(found, empty.transform([[""]]))
