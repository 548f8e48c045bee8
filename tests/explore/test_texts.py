"""The page for rows of texts: labels, row numbers, the scale of cosines, what changes."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.background import Background
from conceptor.concepts.lookup import UnknownWordsError
from conceptor.concepts.neighbors import most_similar
from conceptor.explore.session import Session, Settings
from conceptor.vectors.texts import as_texts

COUNT = 500
TEXTS = [
    f"Text {i} says something about topic{i // 5} at length. " + "And so on. " * 30
    for i in range(COUNT)
]
TEXTS[7] = TEXTS[6]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(4)
    topics = np.repeat(rng.standard_normal((COUNT // 5, 12)), 5, axis=0)
    return (topics + 0.6 * rng.standard_normal((COUNT, 12))).astype(np.float32)


@pytest.fixture(scope="module")
def session(rows) -> Session:
    return Session(as_texts(rows, TEXTS))


def test_texts_have_short_labels_of_their_own(session):
    words = session.table.words
    assert len(set(words)) == COUNT
    assert max(map(len, words)) < 120
    assert words[3].startswith("Text 3 says something about topic0 at length. And so on.")
    assert words[7] == f"{words[6]} (8)"
    about = session.about()
    assert (about["rows"], about["sorted"], about["weights"]) == ("texts", False, [])


def test_neighbors_are_those_of_the_command_line(session, rows):
    words = session.table.words
    for method in ("gentle", "renormalization", "cn"):
        expected = most_similar(rows, 40, ["original", method], n=8)
        for query in (words[40], "41", TEXTS[40]):
            answer = session.neighbors(Settings(method), [query], n=8)
            assert answer["like"] == [words[40]]
            for side, name in (("before", "original"), ("after", method)):
                near = expected[name]["41"]
                assert [each.rank for each in answer[side]] == [each.rank for each in near]
                np.testing.assert_allclose(
                    [each.cosine for each in answer[side]], [each.score for each in near], atol=1e-5
                )
                shares = [float(each.above.removesuffix("%")) / 100 for each in answer[side]]
                np.testing.assert_allclose(shares, [1 - each.p for each in near], atol=0.02)


def test_texts_are_completed_by_their_content(session):
    assert session.table.complete("TOPIC12 ", 3) == [60, 61, 62]
    assert session.table.complete("text 499", 3)[0] == 499


def test_unknown_texts_get_texts_that_contain_them(session):
    with pytest.raises(UnknownWordsError, match="no text or row 'topic99") as caught:
        session.neighbors(session.default, ["topic99 "])
    assert caught.value.unknown[0].suggestions == list(session.table.words[495:498])
    for query in ("0", "501", "9" * 30):
        with pytest.raises(UnknownWordsError):
            session.neighbors(session.default, [query])


def test_scores_show_what_changes(session):
    same, hubness = session.scores(Settings("cn"))
    assert same.before == 100
    assert 0 < same.after < 100
    assert np.isfinite([hubness.before, hubness.after]).all()


def test_texts_are_on_the_map(session):
    settings = Settings("abtt")
    assert session.points(settings)["words"] == list(session.table.words)
    places = session.neighbors(settings, ["41"])["places"]
    assert places["words"][0] == session.table.words[40]


def test_the_saved_map_has_the_scale_of_cosines(session, tmp_path):
    session.save_map(Settings("gentle"), tmp_path / "map.safetensors")
    assert AffineMap.load(tmp_path / "map.safetensors").n_in == 12
    assert Background.load(tmp_path / "map.safetensors").rows == COUNT
