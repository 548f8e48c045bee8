"""Words or texts: one decision from the labels, whichever door they come through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from conceptor.base.arrays import cosines
from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import MISSING, WordVectors
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


def test_what_labels_decide():
    assert decide_kind(["positive", "negative"] * 50)[0] is RowKind.TEXTS
    words = [f"word{i}" for i in range(90)] + ["New York"] * 10
    assert decide_kind(words) == (RowKind.WORDS, "")
    assert decide_kind(["a b"] * 1000 + WORDS)[1].startswith("0 of the first 1,000")
    half = [f"w{i}" for i in range(60)] + [f"two words {i}" for i in range(40)]
    kind, evidence = decide_kind(half)
    assert kind is RowKind.WORDS
    assert evidence == "60 of the first 100 labels are distinct single words"


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


def test_keys_keep_their_case_and_the_first_of_two_equal_words_wins():
    vectors = WordVectors(["Apple", "apple", "pear", "apple"], np.eye(4))
    assert vectors.rows(["apple", "Apple", "APPLE", "pear"]).tolist() == [1, 0, MISSING, 2]
    assert vectors.rows(["APPLE", "Pear", "Apple"], lowercase=True).tolist() == [1, 2, 0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_vectors_that_are_not_finite_are_refused(bad):
    matrix = np.ones((3, 2))
    matrix[1, 1] = bad
    matrix[2, 0] = -bad
    with pytest.raises(InvalidInputError, match="NaN or infinity"):
        WordVectors(["a", "b", "c"], matrix)
    # Finite numbers whose sum is not are fine.
    WordVectors(["a", "b"], np.full((2, 2), 1e308))


@pytest.mark.parametrize("bad", [None, 3, "vectors.bin", {}, ["a", "b", "c"]])
def test_what_is_not_vectors_is_refused_in_one_line(bad):
    with pytest.raises(InvalidInputError) as error:
        as_vectors(bad)
    assert "\n" not in str(error.value)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInputError, match="2 words but 3 vectors"):
        WordVectors(["a", "b"], np.eye(3))
    with pytest.raises(InvalidInputError, match="matrix"):
        WordVectors(["a", "b"], np.ones(2))


finite = st.floats(-1e300, 1e300, allow_subnormal=True)


@given(
    hnp.arrays(np.float64, (3, 4), elements=finite), hnp.arrays(np.float64, (3, 4), elements=finite)
)
def test_cosines_of_any_finite_rows_stay_within_one(left, right):
    scores = cosines(left, right)
    assert np.isfinite(scores).all()
    assert (np.abs(scores) <= 1 + 1e-12).all()
    zero = ~left.any(axis=1) | ~right.any(axis=1)
    assert (scores[zero] == 0).all()
