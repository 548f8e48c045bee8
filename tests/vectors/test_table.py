from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from conceptor.base.arrays import cosines
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import MISSING, WordVectors
from tests.vectors.whole import read_all


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


@pytest.mark.parametrize(
    "given_as",
    [
        lambda words, matrix: (words, matrix),
        lambda words, matrix: dict(zip(words, matrix, strict=True)),
        lambda words, matrix: WordVectors(words, matrix),
    ],
)
def test_what_people_have_is_accepted(given_as):
    matrix = np.eye(2, dtype=np.float32)
    words, rows = read_all(as_vectors(given_as(["a", "b"], matrix)))
    assert words == ["a", "b"]
    np.testing.assert_array_equal(rows, matrix)


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
    found = cosines(left, right)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1 + 1e-12).all()
    zero = ~left.any(axis=1) | ~right.any(axis=1)
    assert (found[zero] == 0).all()
