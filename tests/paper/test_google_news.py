"""The union of two parts of one file."""

from __future__ import annotations

import os

import numpy as np
import pytest

from conceptor.data import registry as datasets
from conceptor.paper.google_news import FREQUENT, google_news_vectors, merge
from conceptor.vectors.table import WordVectors

DATA = os.environ.get("CONCEPTOR_DATA")


def test_a_union_keeps_known_lengths_and_gives_others_their_root_mean_square(rng):
    whole = rng.normal(size=(8, 5)).astype(np.float32)
    words = list("abcdefgh")
    units = whole[:5] / np.linalg.norm(whole[:5], axis=1, keepdims=True)
    other = WordVectors(words[3:][::-1], whole[3:][::-1])
    merged, scale, rescaled = merge(WordVectors(words[:5], units), other)
    assert list(merged.words) == [*"abcde", *"hgf"]
    lengths = np.linalg.norm(merged.vectors, axis=1)
    known = np.linalg.norm(whole, axis=1)
    assert rescaled == 3
    assert scale == pytest.approx(np.sqrt((known[3:5] ** 2).mean()))
    np.testing.assert_allclose(lengths, [scale] * 3 + list(known[[3, 4, 7, 6, 5]]), rtol=1e-6)
    for word, vector in zip(merged.words, merged.vectors, strict=True):
        row = whole[words.index(word)]
        assert row @ vector == pytest.approx(np.linalg.norm(row) * np.linalg.norm(vector), rel=1e-5)


@pytest.mark.skipif(not DATA, reason="set CONCEPTOR_DATA to a directory with both parts")
def test_the_published_parts_agree():
    merged, note = google_news_vectors(DATA)
    assert len(merged) == len(set(merged.words)) == 31_530
    assert merged.words[0] == "in"
    assert note.startswith("31,530 of the 3,000,000 Google News words; 18,517")


@pytest.mark.skipif(not DATA, reason="set CONCEPTOR_DATA to a directory with the first part")
def test_the_first_part_is_enough(tmp_path, monkeypatch):
    (tmp_path / "vectors").mkdir()
    (tmp_path / FREQUENT).symlink_to(os.path.join(DATA, FREQUENT))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    alone, note = google_news_vectors(tmp_path, offline=True)
    assert len(alone) == 26_423
    assert "all of length 1" in note
    (tmp_path / FREQUENT).unlink()
    with pytest.raises(datasets.MissingDataError, match="googlenews-26k"):
        google_news_vectors(tmp_path, offline=True)
