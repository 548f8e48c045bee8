from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor import InvalidInputError, WordVectors, open_vectors
from conceptor.concepts.align import align, align_files, read_dictionary, rotation
from conceptor.evaluation.translation import distinct, translate
from conceptor.vectors import write_vectors


@pytest.fixture
def languages(rng):
    """One set of meanings in two coordinate systems, and a dictionary."""
    meanings = rng.standard_normal((200, 10)) * np.geomspace(3, 0.3, 10)
    turned = meanings @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
    source = WordVectors([f"a{i}" for i in range(200)], meanings)
    target = WordVectors([f"b{i}" for i in range(200)], 2 * turned + 0.01 * rng.standard_normal())
    return source, target, [(f"a{i}", f"b{i}") for i in range(200)]


@pytest.mark.parametrize("method", ["original", "cn", "abtt"])
def test_the_same_meanings_find_each_other(languages, method) -> None:
    source, target, pairs = languages
    found = align(source, target, pairs[:60], method=method)
    assert (found.pairs, found.listed) == (60, 60)
    left = source.with_vectors(found.source(source.vectors))
    right = target.with_vectors(found.target(target.vectors))
    for csls in (False, True):
        result = translate(left, right, pairs[60:], csls=csls)
        assert (result.ranks == 1).mean() > 0.95
    # The control: without a dictionary that tells, nothing is found.
    wrong = [(a, b) for (a, _), (_, b) in zip(pairs[:60], pairs[1:61][::-1], strict=True)]
    lost = align(source, target, wrong, method=method)
    mapped = source.with_vectors(lost.source(source.vectors))
    assert (translate(mapped, right, pairs[60:]).ranks == 1).mean() < 0.5


@given(st.integers(0, 10_000))
def test_the_rotation_is_orthogonal_and_the_best(seed) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2, 12, 4))
    W = rotation(left, right)
    np.testing.assert_allclose(W.T @ W, np.eye(4), atol=1e-10)
    best = np.linalg.norm(left @ W - right)
    for _ in range(5):
        other = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        assert best <= np.linalg.norm(left @ other - right) + 1e-9


def test_dimensions_may_differ(rng, languages) -> None:
    source, target, pairs = languages
    wider = target.with_vectors(np.pad(target.vectors, ((0, 0), (0, 5))))
    found = align(source, wider, pairs, method="original")
    assert (found.source.n_out, found.target.n_out) == (15, 15)


def test_words_with_one_vector_are_one_candidate() -> None:
    target = WordVectors(["x", "y", "z", "w"], np.array([[1, 0.1], [1, 0.1], [1, 0], [0, 1.0]]))
    source = WordVectors(["q", "r"], np.array([[1.0, 0.1], [0.0, 1.0]]))
    assert len(set(distinct(target.vectors))) == 3
    result = translate(source, target, [("q", "z"), ("r", "x"), ("r", "w"), ("none", "x")])
    assert (result.ranks.tolist(), result.total) == ([2, 1], 3)
    assert result.statistics["MRR"].scores.tolist() == [0.5, 1.0]


def test_csls_is_its_formula(rng) -> None:
    source = WordVectors([f"a{i}" for i in range(30)], rng.standard_normal((30, 4)))
    target = WordVectors([f"b{i}" for i in range(25)], rng.standard_normal((25, 4)))
    A, B = (
        each.vectors / np.linalg.norm(each.vectors, axis=1, keepdims=True)
        for each in (source, target)
    )
    cos = A @ B.T
    near_a = np.sort(cos, axis=1)[:, -10:].mean(axis=1)
    near_b = np.sort(cos, axis=0)[-10:].mean(axis=0)
    scores = 2 * cos - near_a[:, None] - near_b
    pairs = [(f"a{i}", f"b{i % 25}") for i in range(30)]
    expected = [1 + int((scores[i] > scores[i, i % 25] + 1e-6).sum()) for i in range(30)]
    assert translate(source, target, pairs, csls=True).ranks.tolist() == expected


def test_files(tmp_path, languages) -> None:
    source, target, pairs = languages
    dictionary = tmp_path / "pairs.tsv"
    dictionary.write_text("".join(f"{a}\t{b}\n" for a, b in [*pairs, ("unknown", "b1")]))
    for name, table in (("en.bin", source), ("fr.bin", target)):
        write_vectors(tmp_path / name, [(table.words, table.vectors.astype(np.float32))])
    found, reports = align_files(
        tmp_path / "en.bin", tmp_path / "fr.bin", dictionary, tmp_path / "deep/aligned"
    )
    assert (found.pairs, found.listed, [each.words for each in reports]) == (200, 201, [200, 200])
    (chunk,) = open_vectors(tmp_path / "deep/aligned/en.bin").chunks()
    expected = found.source(source.vectors.astype(np.float32))
    np.testing.assert_allclose(chunk.vectors, expected, atol=1e-5)
    with pytest.raises(InvalidInputError, match="force=True"):
        align_files(tmp_path / "en.bin", tmp_path / "fr.bin", dictionary, tmp_path / "deep/aligned")
    with pytest.raises(InvalidInputError, match=r"both files are named en\.bin"):
        align_files(tmp_path / "en.bin", tmp_path / "en.bin", dictionary, tmp_path / "other")
    with pytest.raises(InvalidInputError, match="is a file"):
        align_files(tmp_path / "en.bin", tmp_path / "fr.bin", dictionary, dictionary)


def test_dictionaries_that_are_none(tmp_path, languages) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("one two three\n")
    with pytest.raises(InvalidInputError, match="line 1: expected a word and its translation"):
        read_dictionary(path)
    path.write_text("\n")
    with pytest.raises(InvalidInputError, match="contains no pairs"):
        read_dictionary(path)
    source, target, pairs = languages
    with pytest.raises(InvalidInputError, match="0 of the dictionary's 1 pairs"):
        align(source, target, [("b1", "a1")])
    with pytest.raises(InvalidInputError, match="contains no pairs"):
        align(source, target, [])
    short = align(source, target, pairs[:5])
    assert "do not determine" in short.remarks[-1]
