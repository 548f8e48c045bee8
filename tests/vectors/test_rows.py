"""Words or texts: one decision from the labels, whichever door they come through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.rows import LABELS, SaidRows, decide_rows, describe_rows, is_word, parse_rows
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowKind

WORDS = ["the", "of", "don't", "New_York", "naïve", "1990", "##ing", "▁un", "u.s."]
TEXTS = [
    "A man plays a guitar.",
    "two words",
    "一个男人正在弹吉他",
    "彼は公園で犬と一緒に走っている",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "https://example.org/a/long/address.html",
    "",
    " ",
]


@pytest.mark.parametrize("label", WORDS)
def test_a_single_token_may_be_a_word(label):
    assert is_word(label)


@pytest.mark.parametrize("label", TEXTS)
def test_a_text_is_no_word(label):
    assert not is_word(label)


@given(st.lists(st.sampled_from(WORDS + TEXTS), min_size=1, max_size=40), st.randoms())
def test_neither_order_nor_repetition_of_the_whole_decides(labels, random):
    kind = decide_rows(labels).kind
    mixed = random.sample(labels, len(labels))
    assert decide_rows(mixed).kind is kind
    if kind is RowKind.TEXTS:
        assert decide_rows(labels * 3).kind is RowKind.TEXTS


@given(st.lists(st.text(), max_size=40))
def test_what_the_user_says_decides(labels):
    for kind in (RowKind.WORDS, RowKind.TEXTS):
        table = WordVectors(labels, np.zeros((len(labels), 2)), kind=kind)
        assert (table.kind, table.kind_evidence) == (kind, "")


def test_classes_are_no_vocabulary():
    assert decide_rows(["positive", "negative"] * 50).kind is RowKind.TEXTS


def test_a_few_phrases_do_not_make_a_vocabulary_texts():
    words = [f"word{i}" for i in range(90)] + ["New York"] * 10
    assert decide_rows(words) == (RowKind.WORDS, "")


def test_a_doubtful_vocabulary_is_said_aloud():
    half = [f"w{i}" for i in range(60)] + [f"two words {i}" for i in range(40)]
    found = decide_rows(half)
    assert found.kind is RowKind.WORDS
    assert found.evidence == "60 of the first 100 labels are distinct single words"


def test_only_the_first_labels_count():
    assert decide_rows(["a b"] * LABELS + WORDS).evidence.startswith(f"0 of the first {LABELS:,}")


@pytest.mark.parametrize("name", ["x.txt", "x.vec", "x.npy", "x.safetensors", "x.parquet"])
@pytest.mark.parametrize("kind", list(RowKind)[::2])
def test_files(kind, name, tmp_path):
    labels = [f"word{i}" if kind is RowKind.WORDS else f"a text, {i}" for i in range(50)]
    labels = [f"{label}!" for label in labels]  # no number at the end
    X = np.random.default_rng(0).standard_normal((50, 3))
    write_vectors(tmp_path / name, [(labels, X)])
    source = open_vectors(tmp_path / name)
    assert source.kind is kind
    assert WordVectors(labels, X).kind is kind
    other = RowKind.TEXTS if kind is RowKind.WORDS else RowKind.WORDS
    assert open_vectors(tmp_path / name, rows=str(other)).kind is other
    assert SaidRows(source, other).kind is other
    assert (describe_rows(source) is None) is (kind is RowKind.WORDS)


@pytest.mark.parametrize("name", ["x.npy", "x.parquet", "x.feather", "x.txt"])
def test_of_two_equal_texts_both_are_kept(name, tmp_path):
    texts = ["the same text", "another text", "the same text"]
    write_vectors(tmp_path / name, [(texts, np.arange(6.0).reshape(3, 2))])
    source = open_vectors(tmp_path / name)
    assert source.words == texts
    assert source.count == 3
    as_words = open_vectors(tmp_path / name, rows="words")
    assert as_words.words == texts[:2]
    assert as_words.findings.duplicates == 1


def test_rows_that_cannot_be_what_the_user_says(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(InvalidInputError, match="have no words; leave out rows"):
        open_vectors(tmp_path / "x.npy", wordless=True, rows="words")
    with pytest.raises(InvalidInputError, match="rows is 'both'; it must be"):
        parse_rows("both")
