"""The page for rows of texts: labels, row numbers, the scale of cosines, what changes."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.background import Background
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.neighbors import UnknownWordsError, most_similar
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
    assert (about["rows"], about["sorted"], about["columns"]) == ("texts", False, [])


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


def test_unknown_texts_get_texts_that_contain_them(session):
    with pytest.raises(UnknownWordsError, match="no text or row 'topic99") as caught:
        session.neighbors(session.default, ["topic99 "])
    assert caught.value.unknown[0].suggestions == list(session.table.words[495:498])
    for query in ("0", "501", "9" * 30):
        with pytest.raises(UnknownWordsError):
            session.neighbors(session.default, [query])


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    arrow = pytest.importorskip("pyarrow", reason="needs the arrow extra")
    import pyarrow.parquet

    columns = {
        "text": TEXTS,
        "year": [None if i == 3 else 1950 + i for i in range(COUNT)],
        "kind": [f"kind {int(i**0.5)}" for i in range(COUNT)],
        "free": [i % 2 == 0 for i in range(COUNT)],
        "vector": arrow.array(rows.tolist(), arrow.list_(arrow.float32(), rows.shape[1])),
    }
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    pyarrow.parquet.write_table(arrow.table(columns), path)
    return Session(path)


def test_columns_of_texts_are_groups_on_the_map(table):
    assert table.about()["columns"] == ["year", "kind", "free"]
    year = table.column("year")
    assert year["is_number"]
    assert year["names"][0] == "1950 – 2051"
    assert year["names"][-1] == "missing"
    assert year["groups"][3] == len(year["names"]) - 1
    assert np.bincount(year["groups"])[:5].tolist() == pytest.approx([100] * 5, abs=1)
    kind = table.column("kind")
    assert not kind["is_number"]
    assert kind["names"] == [*(f"kind {i}" for i in range(21, 14, -1)), "other"]
    assert sorted(table.column("free")["names"]) == ["False", "True"]
    with pytest.raises(InvalidInputError, match="no column 'text'"):
        table.column("text")


def test_rows_are_saved_with_whole_texts_and_all_columns(table):
    lines = list(csv.reader(io.StringIO(table.save_rows([4, 1, 999]))))
    assert lines[0] == ["row", "text", "year", "kind", "free"]
    assert lines[1] == ["4", TEXTS[3], "", "kind 1", "False"]
    assert [line[0] for line in lines] == ["row", "4", "1"]


def test_the_saved_map_has_the_scale_of_cosines(session, tmp_path):
    session.save_map(Settings("gentle"), tmp_path / "map.safetensors")
    assert AffineMap.load(tmp_path / "map.safetensors").n_in == 12
    assert Background.load(tmp_path / "map.safetensors").rows == COUNT
