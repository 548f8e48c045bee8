"""Moments in the precision of the data: the same map to 1e-6, the same bits however rows come."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor.algebra.recipes import METHODS
from conceptor.fitting import Request, fit_methods, gather
from conceptor.methods import Method
from conceptor.postprocessing import postprocess
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.chunks import chunk_rows, even_chunks
from conceptor.vectors.table import as_word_vectors
from conceptor.vectors.words import PackedWords
from conceptor.weights import Weights

ROWS, DIMENSION = 45_000, 40


@pytest.fixture(scope="module")
def vectors() -> tuple[list[str], np.ndarray]:
    """Words that grow with rank, and rows that share a direction."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((ROWS, DIMENSION)) * np.geomspace(1, 0.05, DIMENSION) + 0.1
    words = ["x" * (1 + int(np.log2(i + 2)) + i % 3) + f"{i:05d}" for i in range(ROWS)]
    return words, rows.astype(np.float32)


def cut(vectors, sizes):
    words, rows = vectors
    start = 0
    while start < len(words):
        stop = start + next(sizes)
        yield PackedWords.from_words(words[start:stop]), rows[start:stop]
        start = stop


def of_size(size):
    while True:
        yield size


def random_sizes(rng):
    while True:
        yield int(rng.integers(1, 9000))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [1000, 4097, ROWS, None])
def test_sums_have_the_same_bits_whatever_the_chunks_and_threads(vectors, rng, size, threads):
    weights = [Weights("zipf", unit=True, single=True), Weights(), Weights(top=40_000)]
    expected = gather([vectors], Request(weights), threads=1)
    sizes = random_sizes(rng) if size is None else of_size(size)
    found = gather(cut(vectors, sizes), Request(weights), threads=threads)
    assert found.count == expected.count == ROWS
    for each in weights:
        assert found.of(each).scatter.tobytes() == expected.of(each).scatter.tobytes()
        assert found.of(each).mean.tobytes() == expected.of(each).mean.tobytes()
        assert found.of(each).rounding == expected.of(each).rounding
    assert found.of(weights[0]).rounding > 0


def test_every_format_of_the_same_vectors_yields_the_same_map(vectors, tmp_path):
    matrices = []
    for name in ("v.bin", "v.vec", "v.txt", "v.npy", "v.safetensors"):
        write_vectors(tmp_path / name, [vectors], count=ROWS)
        solution = fit_methods(tmp_path / name, ["cn"]).methods["cn"].solution
        matrices.append(solution.map.matrix.tobytes())
        assert solution.moments.rounding > 0
    assert len(set(matrices)) == 1


def test_even_chunks_are_the_same_rows_in_powers_of_two(vectors, rng):
    size = chunk_rows(DIMENSION)
    assert size & (size - 1) == 0
    parts = list(even_chunks(cut(vectors, random_sizes(rng))))
    assert [len(words) for words, _ in parts[:-1]] == [size] * (len(parts) - 1)
    assert [word for words, _ in parts for word in words] == vectors[0]
    assert (np.concatenate([rows for _, rows in parts]) == vectors[1]).all()
    (whole,) = even_chunks([(vectors[0][:size], vectors[1][:size])])
    assert whole[1].base is vectors[1], "no copy where none is needed"


@pytest.mark.parametrize("method", ["cn", "cn:power=1", "cn:unit=false", "gentle"])
def test_maps_move_by_less_than_a_millionth(vectors, method):
    recipe = Method.of(method).recipe
    assert recipe.bears_rounding
    found = fit_methods(as_word_vectors(vectors), [method]).methods[Method.of(method).name].solution
    assert found.moments.rounding > 0, "it was in single precision"
    weights = Weights("zipf" if method != "gentle" else "uniform", unit=recipe.unit)
    exact = recipe.solve(gather([vectors], Request([weights])).of(weights))
    norm = np.linalg.norm(exact.map.matrix, 2)
    assert np.linalg.norm(found.map.matrix - exact.map.matrix, 2) < 1e-6 * norm
    assert found.aperture == (exact.aperture and pytest.approx(exact.aperture, rel=1e-6))


@pytest.mark.parametrize("name", [n for n in METHODS if "aperture" not in METHODS[n].parameters])
def test_what_drops_directions_or_divides_by_small_ones_stays_in_float64(name):
    recipe = METHODS[name]
    if name != "gentle" and hasattr(recipe, "bears_rounding"):
        assert not recipe.bears_rounding
    assert not METHODS["cn"].with_parameters(n_components=3).bears_rounding
    assert not METHODS["cn"].with_parameters(aperture=100.0).bears_rounding


def test_directions_that_are_missing_are_not_taken_for_weak_ones(vectors):
    """Rounding would fill the last dimensions, and the aperture would count them."""
    words, rows = vectors
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((DIMENSION, DIMENSION)))[0]
    flat = ((rows * (np.arange(DIMENSION) < 30)).astype(np.float64) @ turn).astype(np.float32)
    weights = Weights("zipf", unit=True)
    expected = METHODS["cn"].solve(gather([(words, flat)], Request([weights])).of(weights))
    found = fit_methods(as_word_vectors((words, flat)), ["cn"]).methods["cn"].solution
    assert found.moments.rounding == 0, "the spectrum asked for float64"
    assert found.aperture == pytest.approx(expected.aperture, rel=1e-12)


def test_files_are_the_same_bits_whatever_the_block(vectors, tmp_path, monkeypatch):
    write_vectors(tmp_path / "in.bin", [vectors], count=ROWS)
    written = []
    for number, usual in enumerate((32, 3, 500)):
        monkeypatch.setattr("conceptor.vectors.formats.word2vec_binary._USUAL_WORD", usual)
        postprocess(tmp_path / "in.bin", tmp_path / f"{number}.bin", "cn")
        written.append(open_vectors(tmp_path / f"{number}.bin").to_array())
    assert (written[0] == written[1]).all()
    assert (written[0] == written[2]).all()
