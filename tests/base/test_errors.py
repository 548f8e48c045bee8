from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError, Message, Setting


@given(st.text(), st.text())
def test_an_error_is_one_line_whatever_the_file_contains(name, column):
    error = InvalidInputError(name, ": no vectors; say which, as in ", Setting("column", column))
    assert "\n" not in str(error)
    assert str(Message(error.message, "!")) == f"{error}!"
