"""The page for rows of texts: labels, numbers, what a cosine means, what changes."""

from __future__ import annotations

import time

import numpy as np
import pytest

from conceptor import AffineMap, Background, most_similar
from conceptor.concepts.found import UnknownWordsError
from conceptor.explore.answers import Settings
from conceptor.explore.figures import Figures
from conceptor.explore.session import Session
from conceptor.explore.table import PageTable
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
    return Session(PageTable.open(as_texts(rows, TEXTS), "texts"))


def test_texts_have_short_labels_of_their_own(session) -> None:
    words = session.table.words
    assert len(set(words)) == COUNT
    assert max(map(len, words)) < 120
    assert words[3].startswith("Text 3 says something about topic0 at length. And so on.")
    assert words[7] == f"{words[6]} (8)"
    assert session.about.rows == "texts"
    assert not session.about.sorted


def test_neighbours_are_those_of_the_command_line(session, rows) -> None:
    words = session.table.words
    for method in ("gentle", "renormalization", "cn"):
        expected = most_similar(rows, 40, ["original", method], n=8)
        for asked in (words[40], "41", TEXTS[40]):
            found = session.neighbours(Settings(method), [asked], [], 8)
            assert found.like == [words[40]]
            for side, name in ((found.before, "original"), (found.after, method)):
                near = expected[name]["41"]
                assert [each.rank for each in side] == [each.rank for each in near]
                np.testing.assert_allclose(
                    [each.cosine for each in side], [each.score for each in near], atol=1e-5
                )
                shares = [float(each.above.removesuffix("%")) / 100 for each in side]
                np.testing.assert_allclose(shares, [1 - each.p for each in near], atol=0.02)


def test_words_of_the_page_say_nothing_of_random_pairs() -> None:
    from tests.explore.conftest import toy_vectors

    session = Session(PageTable("toys", toy_vectors()))
    assert session.about.rows == "words"
    found = session.neighbours(session.default, ["bank"], [], 5)
    assert {each.above for each in found.after} == {""}


def test_texts_are_completed_by_what_they_contain(session) -> None:
    found = session.table.complete("TOPIC12 ", 3)
    assert [row for _, row in found] == [60, 61, 62]
    assert session.table.complete("text 499", 3)[0][1] == 499


def test_unknown_texts_get_texts_that_contain_them(session) -> None:
    with pytest.raises(UnknownWordsError, match="no text or row 'topic99'") as caught:
        session.neighbours(session.default, ["topic99 "], [], 3)
    assert caught.value.unknown[0].suggestions == list(session.table.words[495:498])
    for asked in ("0", "501", "9" * 30):
        with pytest.raises(UnknownWordsError):
            session.neighbours(session.default, [asked], [], 3)


def test_figures_say_what_changes(session) -> None:
    kept, hubness = session.benchmarks(Settings("cn"))
    assert kept.before == 100
    assert 0 < kept.after < 100
    assert hubness.before is not None
    assert session.solve(Settings("cn")).scores == []


def test_maps_directions_and_places_are_there(session) -> None:
    settings = Settings("abtt")
    assert len(session.points(settings, "pca", 200).words) == 200
    assert session.place(settings, ["41"], [], "pca", 200).words[0] == session.table.words[40]
    assert session.directions(settings).directions[0].frequency is None


def test_the_comparison_is_that_of_texts(session) -> None:
    figures = Figures(session)
    figures.start(session.default)
    end = time.monotonic() + 300
    while figures.state.state == "running" and time.monotonic() < end:
        time.sleep(0.05)
    assert figures.state.state == "done", figures.state.label
    assert "Without labels" in figures.state.html


def test_the_saved_map_is_that_of_the_method(session, tmp_path) -> None:
    from conceptor.explore.api import _save_map

    (tmp_path / "map.safetensors").write_bytes(_save_map(session, Settings("gentle")))
    assert AffineMap.load(tmp_path / "map.safetensors").n_in == 12
    assert Background.load(tmp_path / "map.safetensors").rows == COUNT
