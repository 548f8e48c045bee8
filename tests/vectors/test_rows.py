"""Words or texts: one decision from the labels, whichever door they come through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.files import in_memory
from conceptor.vectors.vectors import RowKind, decide_kind, is_word
from tests.vectors.whole import read_all

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


def test_a_single_token_may_be_a_word_and_a_text_is_none():
    assert list(filter(is_word, WORDS + TEXTS)) == WORDS


@given(st.lists(st.sampled_from(WORDS + TEXTS), min_size=1, max_size=40), st.randoms())
def test_neither_order_nor_repetition_of_the_whole_decides(labels, random):
    kind = decide_kind(labels)[0]
    mixed = random.sample(labels, len(labels))
    assert decide_kind(mixed)[0] is kind
    if kind is RowKind.TEXTS:
        assert decide_kind(labels * 3)[0] is RowKind.TEXTS


@given(st.lists(st.text(), max_size=40))
def test_what_the_user_says_decides(labels):
    for kind in (RowKind.WORDS, RowKind.TEXTS):
        vectors = in_memory(labels, np.zeros((len(labels), 2))).with_kind(str(kind))
        assert (vectors.kind, vectors.evidence) == (kind, "")


def test_what_labels_decide():
    assert decide_kind(["positive", "negative"] * 50)[0] is RowKind.TEXTS
    words = [f"word{i}" for i in range(90)] + ["New York"] * 10
    assert decide_kind(words) == (RowKind.WORDS, "")
    assert decide_kind(["a b"] * 1000 + WORDS)[1].startswith("0 of the first 1,000")
    half = [f"w{i}" for i in range(60)] + [f"two words {i}" for i in range(40)]
    kind, evidence = decide_kind(half)
    assert kind is RowKind.WORDS
    assert evidence == "60 of the first 100 labels are distinct single words"


@pytest.mark.parametrize("name", ["x.txt", "x.vec", "x.npy", "x.safetensors", "x.parquet"])
@pytest.mark.parametrize("kind", list(RowKind)[::2])
def test_files(kind, name, tmp_path):
    labels = [f"word{i}" if kind is RowKind.WORDS else f"a text, {i}" for i in range(50)]
    labels = [f"{label}!" for label in labels]  # no number at the end
    X = np.random.default_rng(0).standard_normal((50, 3))
    write_vectors(tmp_path / name, [(labels, X)])
    source = open_vectors(tmp_path / name)
    assert source.kind is kind
    assert in_memory(labels, X).kind is kind
    other = RowKind.TEXTS if kind is RowKind.WORDS else RowKind.WORDS
    assert open_vectors(tmp_path / name, rows=str(other)).kind is other
    assert source.with_kind(str(other)).kind is other
    assert (source.describe_kind() == "") is (kind is RowKind.WORDS)


@pytest.mark.parametrize("name", ["x.npy", "x.parquet", "x.feather", "x.txt"])
def test_of_two_equal_texts_both_are_kept(name, tmp_path):
    texts = ["the same text", "another text", "the same text"]
    write_vectors(tmp_path / name, [(texts, np.arange(6.0).reshape(3, 2))])
    source = open_vectors(tmp_path / name)
    assert read_all(source)[0] == texts
    as_words = open_vectors(tmp_path / name, rows="words")
    assert read_all(as_words)[0] == texts[:2]
    assert as_words.findings.duplicates == 1


def test_rows_that_cannot_be_what_the_user_says(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(InvalidInputError, match="have no words; leave out --rows words"):
        open_vectors(tmp_path / "x.npy", rows="words")
    with pytest.raises(InvalidInputError, match="rows is 'both'; it must be"):
        open_vectors(tmp_path / "x.npy", rows="both")
