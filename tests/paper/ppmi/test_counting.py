"""Counts against a plain loop over characters, tokens and pairs."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.paper.ppmi import cooccurrence, counting
from conceptor.paper.ppmi import text as text_module
from conceptor.vectors import numbering


def plain_tokens(text: str, kind: str) -> list[str]:
    if kind == "spaces":
        return text.split()
    text = text.replace("’", "'")
    letters = [c.isalnum() or unicodedata.category(c)[0] == "M" for c in text] + [False]
    tokens, token = [], ""
    for i, c in enumerate(text):
        if letters[i] or (c == "'" and token and letters[i + 1]):
            token += c
        elif token:
            tokens.append(token)
            token = ""
    return [*tokens, token] if token else tokens


def plain_units(document: str, unit: str) -> list[str]:
    if unit == "document":
        return [document]
    lines = document.split("\n")
    if unit == "line":
        return lines
    units = [""]
    for line in lines:
        if line.strip(" \t\r\v\f\x1c\x1d\x1e\x1f") or any(ord(c) > 32 for c in line):
            units[-1] += "\n" + line
        else:
            units.append("")
    return units


def plain_counts(documents, window, dynamic, min_count, kind, lowercase, unit):
    """Count everything the slow way: a dictionary of weights for ordered pairs."""
    sentences = [
        plain_tokens(part.lower() if lowercase else part, kind)
        for document in documents
        for part in plain_units(document, unit)
    ]
    counts = Counter(token for sentence in sentences for token in sentence)
    known = {word for word, count in counts.items() if count >= min_count}
    pairs: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, other in enumerate(sentence):
                distance = abs(i - j)
                if 0 < distance <= window and word in known and other in known:
                    pairs[word, other] += window - distance + 1 if dynamic else 1
    scale = window if dynamic else 1
    return {w: counts[w] for w in known}, {p: n / scale for p, n in pairs.items()}, counts.total()


hostile = st.text(
    st.one_of(
        st.sampled_from("aabbAB  \n\n\t\r'’-.1_éÉßİΣς日本́\u00a0\u2028\ufeff𝒳"),
        st.characters(exclude_characters="\0", exclude_categories=("Cs",)),
    ),
    max_size=60,
)


@given(
    st.lists(hostile, max_size=4),
    st.integers(1, 4),
    st.booleans(),
    st.integers(1, 2),
    st.sampled_from(["words", "spaces"]),
    st.booleans(),
    st.sampled_from(["line", "paragraph", "document"]),
    st.integers(1, 3),
)
@example(["", "\n\n", "a"], 2, True, 1, "words", True, "line", 1)
@example(["a b\n \t\na c\nb"], 5, True, 1, "words", True, "paragraph", 2)
@example(["'a' a'b'' 'a"], 2, False, 1, "words", True, "line", 1)
@example(["a a a a"], 3, True, 1, "words", True, "line", 2)
def test_counts_are_those_of_a_plain_loop(
    documents, window, dynamic, min_count, kind, lowercase, unit, threads
):
    counts, pairs, total = plain_counts(
        documents, window, dynamic, min_count, kind, lowercase, unit
    )
    options = {
        "window": window,
        "dynamic_window": dynamic,
        "min_count": min_count,
        "tokens": kind,
        "lowercase": lowercase,
        "unit": unit,
        "threads": threads,
    }
    if len(counts) < 2:
        few = rf"^{total:,} tokens, but {len(counts)} word"
        with pytest.raises(InvalidInputError, match=few if total else "the corpus is empty"):
            cooccurrence(documents, **options)
        return
    found = cooccurrence(documents, **options)
    assert found.tokens == total
    assert dict(zip(found.words, found.counts.tolist(), strict=True)) == counts
    assert (np.diff(found.counts) <= 0).all()
    rows, columns = found.matrix.nonzero()
    assert {
        (found.words[i], found.words[j]): found.matrix[i, j]
        for i, j in zip(rows, columns, strict=True)
    } == pairs


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    """Words by Zipf's law, more pairs of them than the first hash table holds."""
    rng = np.random.default_rng(7)
    ranks = np.minimum(rng.zipf(1.3, size=60_000), 3000)
    words = [f"w{rank}" for rank in ranks]
    return [" ".join(words[i : i + 20]) for i in range(0, len(words), 20)]


def test_growing_tables_and_small_blocks_change_nothing(sentences, monkeypatch, tmp_path):
    counts, pairs, _ = plain_counts(sentences, 4, True, 3, "spaces", False, "line")
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(sentences))
    monkeypatch.setattr(counting, "_FIRST_PLACES", 16)
    monkeypatch.setattr(numbering, "_FIRST_PLACES", 16)
    monkeypatch.setattr(counting, "_TOKENS_AT_ONCE", 7)
    monkeypatch.setattr(counting, "_IN_MEMORY", 100)
    monkeypatch.setattr(text_module, "BLOCK_BYTES", 5000)
    found = cooccurrence(path, window=4, min_count=3, tokens="spaces", lowercase=False, threads=3)
    assert dict(zip(found.words, found.counts.tolist(), strict=True)) == counts
    matrix = found.matrix.toarray()
    assert np.count_nonzero(matrix) == len(pairs)
    numbers = {word: i for i, word in enumerate(found.words)}
    expected = np.zeros_like(matrix)
    for (word, other), weight in pairs.items():
        expected[numbers[word], numbers[other]] = weight
    np.testing.assert_allclose(matrix, expected, rtol=1e-14)


def test_order_is_by_count_then_by_first_appearance():
    found = cooccurrence(["b a c a b d", "e"], min_count=1)
    assert found.words == ["b", "a", "c", "d", "e"]
    assert cooccurrence(["b a c a b d"], min_count=1, max_words=2).words == ["b", "a"]


def test_rare_words_keep_their_place():
    near = cooccurrence(["a b a b", "a rare b"], min_count=2, window=1)
    assert near.matrix[0, 1] == 3  # not a–b across the rare word


def test_mistakes_are_named():
    for options, message in [
        ({"window": 0}, "window must be at least 1"),
        ({"min_count": 0}, "min_count must be at least 1"),
        ({"max_words": 0}, "max_words must be at least 1"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"tokens": "letters"}, "tokens must be 'words' or 'spaces'"),
        ({"unit": "page"}, "unit must be one of line, paragraph, document"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            cooccurrence(["a b"], **options)
    for nothing in ([], [""], ["\n"]):
        with pytest.raises(InvalidInputError, match="the corpus is empty"):
            cooccurrence(nothing)
