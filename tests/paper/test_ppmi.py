"""Counts against a plain loop; PPMI by its definition; the SVD, and the paper's relation to CN."""

from __future__ import annotations

import gzip
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.paper import ppmi as module
from conceptor.paper.ppmi import cooccurrence, ppmi, truncated_svd, weight_eigenvalues

TEXT = [
    "the cat sat on the mat and the dog sat on the rug",
    "a cat and a dog ran to the house of the king",
    "the king and the queen sat in the house",
    "",
    "ran",
]


def plain_tokens(text: str) -> list[str]:
    text = text.lower().replace("’", "'")
    letters = [c.isalnum() or unicodedata.category(c)[0] == "M" for c in text] + [False]
    tokens, token = [], ""
    for i, c in enumerate(text):
        if letters[i] or (c == "'" and token and letters[i + 1]):
            token += c
        elif token:
            tokens.append(token)
            token = ""
    return [*tokens, token] if token else tokens


def plain_counts(documents, window, min_count):
    """Count everything the slow way: a dictionary of weights for ordered pairs."""
    lines = [plain_tokens(line) for document in documents for line in document.split("\n")]
    counts = Counter(token for line in lines for token in line)
    known = {word for word, count in counts.items() if count >= min_count}
    pairs: Counter[tuple[str, str]] = Counter()
    for line in lines:
        for i, word in enumerate(line):
            for j, other in enumerate(line):
                distance = abs(i - j)
                if 0 < distance <= window and word in known and other in known:
                    pairs[word, other] += window - distance + 1
    return {w: counts[w] for w in known}, {p: n / window for p, n in pairs.items()}, counts.total()


hostile = st.text(
    st.one_of(
        st.sampled_from("aabbAB  \n\n\t\r'’-.1_éÉßİΣς日本́\u00a0\u2028\ufeff𝒳"),
        st.characters(exclude_characters="\0", exclude_categories=("Cs",)),
    ),
    max_size=60,
)


@given(st.lists(hostile, max_size=4), st.integers(1, 4), st.integers(1, 2))
@example(["", "\n\n", "a"], 2, 1)
@example(["a b\n \t\na c\nb"], 5, 1)
@example(["'a' a'b'' 'a"], 2, 1)
@example(["a a a a"], 3, 1)
def test_counts_are_those_of_a_plain_loop(documents, window, min_count):
    counts, pairs, total = plain_counts(documents, window, min_count)
    options = {"window": window, "min_count": min_count}
    if len(counts) < 2:
        few = rf"^{total:,} tokens, but {len(counts)} word"
        with pytest.raises(InvalidInputError, match=few if total else "the corpus is empty"):
            cooccurrence(documents, **options)
        return
    counted = cooccurrence(documents, **options)
    assert counted.tokens == total
    assert dict(zip(counted.words, counted.counts.tolist(), strict=True)) == counts
    assert (np.diff(counted.counts) <= 0).all()
    rows, columns = counted.matrix.nonzero()
    assert {
        (counted.words[i], counted.words[j]): counted.matrix[i, j]
        for i, j in zip(rows, columns, strict=True)
    } == pairs


def test_small_blocks_change_nothing(monkeypatch, tmp_path):
    rng = np.random.default_rng(7)
    words = [f"w{rank}" for rank in np.minimum(rng.zipf(1.3, size=6_000), 300)]
    text = "\n".join(" ".join(words[i : i + 20]) for i in range(0, len(words), 20))
    path = tmp_path / "corpus.txt"
    path.write_text(text)
    whole = cooccurrence(path, window=4, min_count=3)
    monkeypatch.setattr(module, "_TOKENS_AT_ONCE", 7)
    monkeypatch.setattr(module, "BLOCK_BYTES", 50)
    parts = cooccurrence(path, window=4, min_count=3)
    counts, pairs, _ = plain_counts([text], 4, 3)
    assert whole.words == parts.words
    assert dict(zip(parts.words, parts.counts.tolist(), strict=True)) == counts
    np.testing.assert_allclose(parts.matrix.toarray(), whole.matrix.toarray(), rtol=1e-14)
    assert whole.matrix.nnz == len(pairs)


def test_order_is_by_count_then_by_first_appearance_and_rare_words_keep_their_place():
    assert cooccurrence(["b a c a b d", "e"], min_count=1).words == ["b", "a", "c", "d", "e"]
    near = cooccurrence(["a b a b", "a rare b"], min_count=2, window=1)
    assert near.matrix[0, 1] == 3  # not a–b across the rare word


@pytest.mark.parametrize(("suffix", "compress"), [("", bytes), (".gz", gzip.compress)])
def test_files_are_read_as_they_are_and_mix_with_texts(tmp_path, suffix, compress):
    path = tmp_path / f"corpus.txt{suffix}"
    path.write_bytes(compress("\ufeffnaïve café\n".encode()))
    for corpus in (path, str(path), [path], iter([path]), ["naïve", "café"]):
        assert cooccurrence(corpus, min_count=1).words == ["naïve", "café"]
    assert cooccurrence(["a", path, "", "b"], min_count=1).matrix.nnz == 2


def test_bad_text_is_named_with_its_place(tmp_path):
    for before in (3, 1_200_000):
        path = tmp_path / "latin1.txt"
        path.write_bytes(b"a " * (before // 2) + b"x" * (before % 2) + b"\xe9t\xe9 ")
        message = rf"latin1\.txt, byte {before}: 0xe9 is not UTF-8"
        with pytest.raises(InvalidInputError, match=message):
            cooccurrence(path)
    (tmp_path / "utf16.txt").write_bytes("words".encode("utf-16-le"))
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(b"some text " * 1000)[:50])
    for corpus, message in [
        (tmp_path / "utf16.txt", "byte 1: a NUL"),
        (tmp_path / "damaged.gz", "damaged"),
        ([tmp_path / "none.txt"], "no such file"),
        (tmp_path, "is a directory"),
        ([], "the corpus is empty"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            cooccurrence(corpus)


def test_entries_follow_the_definition():
    counted = cooccurrence(TEXT, min_count=1, window=3)
    matrix = ppmi(counted).toarray()
    counts = counted.matrix.toarray()
    total = counts.sum()
    word = counts.sum(axis=1) / total
    context = counts.sum(axis=0) ** 0.75
    context /= context.sum()
    for i, j in np.ndindex(counts.shape):
        if counts[i, j] == 0:
            assert matrix[i, j] == 0
            continue
        expected = np.log(counts[i, j] / total / (word[i] * context[j]))
        assert matrix[i, j] == pytest.approx(max(0.0, expected), rel=1e-5, abs=1e-6)


def test_the_factors_are_those_of_a_dense_decomposition(rng):
    from scipy import sparse

    dense = rng.standard_normal((40, 40)) * (rng.random((40, 40)) < 0.3)
    left, values = truncated_svd(sparse.csr_array(dense), 8)
    U, D, _ = np.linalg.svd(dense)
    np.testing.assert_allclose(values, D[:8], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(left * U[:, :8], axis=0)), 1, rtol=1e-8)
    assert (left[np.abs(left).argmax(axis=0), range(8)] > 0).all()
    again, _ = truncated_svd(sparse.csr_array(dense), 8)
    np.testing.assert_array_equal(left, again)
    low_rank = np.outer(np.arange(1.0, 21), np.ones(20))
    left, values = truncated_svd(sparse.csr_array(low_rank), 4)
    assert np.count_nonzero(values) == 1
    for power in (0, 0.5, -1):
        vectors = weight_eigenvalues(left, values, power)
        assert np.isfinite(vectors).all()
        assert not vectors[:, 1:].any()


def test_mistakes_are_named():
    with pytest.raises(InvalidInputError, match="window must be at least 1"):
        cooccurrence(["a b"], window=0)
    with pytest.raises(InvalidInputError, match="more often than by chance"):
        truncated_svd(0 * ppmi(cooccurrence(TEXT, min_count=1)), 1)
