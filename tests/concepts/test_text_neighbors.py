"""The nearest texts, by text and by number, with the scale of their cosines."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from conceptor import AffineMap, most_similar, open_vectors, postprocess
from conceptor.algebra.background import Background, BackgroundWarning
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.neighbors import UnknownWordsError
from conceptor.vectors.table import WordVectors
from tests.algebra.test_background import all_cosines

COUNT = 500
TEXTS = [f"This is text number {i}, and it is short." for i in range(COUNT)]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(8)
    return (rng.standard_normal((COUNT, 20)) + 0.2).astype(np.float32)


def expected(rows: np.ndarray, place: int, n: int) -> list[int]:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[place]), kind="stable")
    return [row for row in order.tolist() if row != place][:n]


def test_neighbors_are_the_nearest_rows_for_any_name_of_a_row(rows) -> None:
    for query in (TEXTS[41], "42", 41, f"  {TEXTS[41]} "):
        neighbors = most_similar(rows, query, texts=TEXTS, n=7)["original"]
        assert list(neighbors) == [TEXTS[41]]
        near = neighbors[TEXTS[41]]
        assert [each.rank - 1 for each in near] == expected(rows, 41, 7)
        assert [each.word for each in near] == [TEXTS[each.rank - 1] for each in near]


def test_p_is_the_share_of_random_pairs_with_such_a_cosine(rows) -> None:
    near = most_similar(rows, 5, n=400)["original"]["6"]
    cosines = all_cosines(rows.astype(np.float64))
    for each in near[::40]:
        assert each.p == pytest.approx((cosines >= each.score).mean(), rel=0.02, abs=2e-5)
    assert [each.p for each in near] == sorted(each.p for each in near)


def test_equal_texts(rows) -> None:
    twice = TEXTS[:250] * 2
    neighbors = most_similar(rows, [TEXTS[3], 253], texts=twice, n=5)["original"]
    assert list(neighbors) == [f"{TEXTS[3]} (row 4)", f"{TEXTS[3]} (row 254)"]
    ranks = [[each.rank - 1 for each in near] for near in neighbors.values()]
    assert ranks == [expected(rows, 3, 5), expected(rows, 253, 5)]
    # Few rows have neighbors but no p.
    near = most_similar(rows[:20], 0, n=3)["original"]["1"]
    assert [each.rank - 1 for each in near] == expected(rows[:20], 0, 3)
    assert {each.p for each in near} == {None}


def test_unknown_texts_come_with_texts_that_contain_them(rows) -> None:
    with pytest.raises(
        UnknownWordsError, match=r"no text or row 'NUMBER 7,'; did you mean 8 \(This"
    ):
        most_similar(rows, "NUMBER 7,", texts=TEXTS)
    for query in ("501", "0", 500, -1, "nothing like it"):
        with pytest.raises(UnknownWordsError, match=f"there is no text or row '{query}'"):
            most_similar(rows, query, texts=TEXTS)
    reports: list[object] = []
    near = most_similar(rows, ["nothing like it", 3], texts=TEXTS, unknown=reports.append)
    assert list(near["original"]) == [TEXTS[3]]
    assert len(reports) == 1


def test_words_take_no_background(rows) -> None:
    words = WordVectors([f"w{i}x" for i in range(COUNT)], rows)
    with pytest.raises(InvalidInputError, match="background is for texts"):
        most_similar(words, "w1x", background=Background.fit(rows))


def test_a_map_of_texts_is_saved_with_the_scale_of_its_cosines(rows, tmp_path) -> None:
    np.save(tmp_path / "x.npy", rows)
    saved = tmp_path / "map.safetensors"
    postprocess(tmp_path / "x.npy", tmp_path / "y.npy", save_map=saved)
    mapped = np.concatenate([part for _, part in open_vectors(tmp_path / "y.npy").chunks()])
    np.testing.assert_allclose(AffineMap.load(saved)(rows), mapped, atol=1e-6)
    background = Background.load(saved)
    assert background.rows == COUNT
    cosines = all_cosines(mapped.astype(np.float64))
    for p in (0.5, 0.01):
        assert (cosines >= background.cosine(p)).mean() == pytest.approx(p, rel=0.05)
    # With it, p does not depend on the other rows.
    few, all_ = (
        most_similar(mapped[:size], 0, n=COUNT, background=saved)["original"]["1"]
        for size in (120, COUNT)
    )
    by_row = {each.rank: each.p for each in all_}
    assert all(each.p == by_row[each.rank] for each in few)


def test_an_unsuitable_background_gives_a_warning(rows, tmp_path) -> None:
    narrow = np.ones(20) + 0.1 * rows
    with pytest.warns(BackgroundWarning, match="random pairs of these rows have a median p"):
        most_similar(rows, 1, background=Background.fit(narrow))
    with pytest.raises(InvalidInputError, match="background is for the cosines of one method"):
        most_similar(rows, 1, ["original", "cn"], background=Background.fit(rows))
    repeated = np.repeat(rows[:100], 5, axis=0)
    np.save(tmp_path / "x.npy", repeated)
    saved = tmp_path / "map.safetensors"
    report = postprocess(tmp_path / "x.npy", tmp_path / "y.npy", save_map=saved)
    assert any("nearly repeat another" in str(each) for each in report.remarks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        most_similar(rows, 1)  # the control
