from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor.algebra.moments import Moments
from conceptor.algebra.recipes import METHODS
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.neighbours import most_similar
from conceptor.concepts.query import Criterion, Query, rank_words
from conceptor.explore import search
from conceptor.explore.search import RowSearch, Searcher
from conceptor.explore.table import PageTable
from conceptor.explore.views import Reach, View
from conceptor.vectors import WordVectors
from conceptor.vectors.files import open_vectors, write_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.concepts.found import Neighbour
    from conceptor.explore.answers import Near


def cosines(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    return rows @ query / np.where(lengths > 0, lengths, 1.0)


def towards(vector: np.ndarray) -> Criterion:
    """What looks for the direction of a vector, or of the mean of some."""
    return Criterion.from_vectors(np.atleast_2d(vector))


def view_at(table: PageTable, name: str, **parameters) -> View:
    """A view of a method at a setting, among gates of many settings."""
    recipe = METHODS[name]
    moments = Moments.from_vectors(table.rows, unit=recipe.unit)
    base = recipe.solve(moments)
    solution = recipe.with_parameters(**parameters).solve(moments)
    if base.aperture is None:
        gates = [recipe.with_parameters(n_directions=d).solve(moments).gate for d in range(8)]
    else:
        apertures = base.aperture * np.geomspace(1 / 40, 40, 64)
        gates = [recipe.with_parameters(aperture=a).solve(moments).gate for a in apertures]
    return Reach(table, base, np.array(gates)).view(solution)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), power=st.floats(-1.4, 1.4), k=st.integers(1, 12))
@pytest.mark.parametrize("method", ["cn", "cn-paper"])
def test_any_aperture_finds_what_a_search_through_mapped_vectors_finds(method, seed, power, k):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((300, 8)) * np.geomspace(4, 0.1, 8) + rng.standard_normal(8)
    rows[7] = 0
    table = PageTable("t", WordVectors([f"w{i}" for i in range(300)], rows.astype(np.float32)))
    auto = METHODS[method].solve(Moments.from_vectors(table.rows, unit=METHODS[method].unit))
    view = view_at(table, method, aperture=float(auto.aperture * 10**power))
    mapped = view.map(table.rows.astype(np.float64))
    query = mapped[11]
    found = Searcher(table).ask(RowSearch(view, towards(query), k, [11])).result(30)
    expected = cosines(mapped, query) - table.penalties
    expected[[7, 11]] = -np.inf
    best = np.argsort(-expected, kind="stable")[:k]
    np.testing.assert_allclose(expected[found.rows], expected[best], atol=1e-9)
    np.testing.assert_allclose(found.cosines, cosines(mapped, query)[found.rows], atol=1e-9)


@pytest.mark.parametrize("directions", [0, 2, 5])
def test_a_mean_is_taken_off_first(table, directions):
    view = view_at(table, "abtt", n_directions=directions)
    mapped = view.map(table.rows.astype(np.float64))
    found = Searcher(table).ask(RowSearch(view, towards(mapped[5]), 8, [5])).result(30)
    expected = cosines(mapped, mapped[5]) - table.penalties
    expected[5] = -np.inf
    assert found.rows.tolist() == np.argsort(-expected, kind="stable")[:8].tolist()


@pytest.mark.parametrize("avoided", [[151], [101, 328], [2, 40, 325]])
@pytest.mark.parametrize("method", ["cn", "abtt"])
def test_exclusion_is_that_of_the_query_language(table, method, avoided):
    view = view_at(table, method)
    mapped = view.map(table.rows.astype(np.float64))
    criterion = Criterion.from_vectors(mapped[[1, 8]], [mapped[avoided]])
    left_out = [1, 8, *avoided]
    found = Searcher(table).ask(RowSearch(view, criterion, 10, left_out)).result(30)
    expected = criterion.scores(mapped) - table.penalties
    expected[left_out] = -np.inf
    assert found.rows.tolist() == np.argsort(-expected, kind="stable")[:10].tolist()
    plain = Searcher(table).ask(RowSearch(view, towards(mapped[[1, 8]]), 10, left_out)).result(30)
    assert plain.rows.tolist() != found.rows.tolist()


def test_questions_that_wait_together_are_answered_as_alone(table):
    view, plain = view_at(table, "cn"), View.plain(table)
    searcher = Searcher(table)
    queries = [
        RowSearch(v, towards(v.rows(np.array([i]))), 5, [i])
        for i in range(40)
        for v in (view, plain)
    ]
    together = [future.result(60) for future in [searcher.ask(query) for query in queries]]
    for query, found in zip(queries, together, strict=True):
        alone = Searcher(table).ask(query).result(30) if query.left_out[0] % 13 == 0 else found
        assert found.rows.tolist() == alone.rows.tolist()


def test_who_stops_waiting_takes_nothing_from_the_others(table):
    view, searcher = view_at(table, "cn"), Searcher(table)
    found = searcher.ask(RowSearch(view, towards(view.rows(np.array([1]))), 5, [1]))
    assert not found.cancel()
    assert len(found.result(30).rows) == 5


@pytest.mark.parametrize("rows", [1, 37, 5000])
def test_however_the_table_is_cut_all_that_wait_get_their_own_best(table, monkeypatch, rows):
    """Searches of several views, with and without exclusions, in one pass over many blocks."""
    monkeypatch.setattr(search, "_LEAST_ROWS", rows)
    monkeypatch.setattr(search, "_MOST_ROWS", rows)
    mapped = {
        view: view.rows(slice(None))
        for view in (view_at(table, "cn"), view_at(table, "abtt"), View.plain(table))
    }
    batch = []
    for i in range(2 if rows == 1 else 12):
        for view, vectors in mapped.items():
            avoided = [vectors[[i + 50, i + 90]]] if i % 3 == 0 else []
            criterion = Criterion.from_vectors(vectors[[i, i + 20]], avoided)
            batch.append(RowSearch(view, criterion, 1 + i, [i, i + 20]))
    searcher = Searcher(table)
    for each, future in [(each, searcher.ask(each)) for each in batch]:
        scores = each.criterion.scores(mapped[each.view]) - table.penalties
        scores[each.left_out] = -np.inf
        best = np.argsort(-scores, kind="stable")[: each.k]
        assert future.result(60).rows.tolist() == best.tolist()


def printed(near: Sequence[Near | Neighbour]) -> list[tuple[str, str]]:
    """Words and scores as both the page and the command line print them."""
    return [(each.word, f"{each.score:.3f}") for each in near]


def test_page_and_command_line_print_the_same_words_and_numbers(session, table):
    found = session.neighbours(session.default, ["bank"], [], 6)
    expected = most_similar(table.vectors, "bank", ["original", "cn"], n=6)
    for side, name in ((found.before, "original"), (found.after, "cn")):
        assert printed(side) == printed(expected[name]["bank"])
        assert [near.rank for near in side] == [near.rank for near in expected[name]["bank"]]
    moved = {near.word for near in found.after if near.moved == "new"}
    assert moved == {n.word for n in found.after} - {n.word for n in found.before}


def test_exclusions_on_the_page_are_those_of_the_command_line(session, table):
    found = session.neighbours(session.default, ["bank", "music"], ["river", "water"], 6)
    query = Query(["bank", "music"], ["river", "water"])
    expected = rank_words(table.vectors, query, ["original", "cn"], n=6)
    for side, name in ((found.before, "original"), (found.after, "cn")):
        assert printed(side) == printed(expected[name])
    with pytest.raises(InvalidInputError, match="both wanted and excluded"):
        session.neighbours(session.default, ["bank"], ["bank"], 6)


def test_completion_is_by_beginning_in_any_case_and_common_words_come_first(table):
    words = list(table.words)
    for prefix in ("b", "BA", "x", "<", "日"):
        expected = [w for w in words if w.casefold().startswith(prefix.casefold())][:6]
        assert [word for word, _ in table.complete(prefix, 6)] == expected
    assert table.complete("bank", 3)[0] == ("bank", words.index("bank"))
    assert table.complete("nothing begins so", 3) == []
    assert all(words[row] == word for word, row in table.complete("a", 50))


def test_a_word_that_is_not_there_has_suggestions(table):
    unknown = table.unknown("docter")
    assert (unknown.word, unknown.where, unknown.suggestions) == ("docter", "toys", ["doctor"])


@pytest.mark.parametrize("name", ["v.npy", "v.txt", "v.bin", "v.safetensors"])
def test_files_are_mapped_or_decoded_to_the_same_table(tmp_path, table, name):
    write_vectors(tmp_path / name, [(table.words, table.rows)], count=len(table))
    opened = PageTable.open(open_vectors(tmp_path / name), name)
    assert list(opened.words) == list(table.words)
    np.testing.assert_array_equal(opened.rows, table.rows)


def test_rows_with_nan_are_named_or_skipped(tmp_path):
    write_vectors(tmp_path / "v.npy", [(["a", "b"], np.ones((2, 3), np.float32))], count=2)
    array = np.load(tmp_path / "v.npy")
    array[1, 2] = np.nan
    np.save(tmp_path / "v.npy", array)
    with pytest.raises(InvalidInputError, match=r"v\.npy, row 2: the vector of 'b' has NaN"):
        PageTable.open(open_vectors(tmp_path / "v.npy"), "v.npy")
    assert list(PageTable.open(open_vectors(tmp_path / "v.npy", on_error="skip"), "v").words) == [
        "a"
    ]


def test_large_files_go_through_a_temporary_file(tmp_path, table, monkeypatch):
    monkeypatch.setattr("conceptor.explore.table.memory_bytes", lambda: 0)
    write_vectors(tmp_path / "v.bin", [(table.words, table.rows)], count=len(table))
    opened = PageTable.open(open_vectors(tmp_path / "v.bin"), "v")
    np.testing.assert_array_equal(opened.rows, table.rows)
    assert list(opened.words) == list(table.words)
