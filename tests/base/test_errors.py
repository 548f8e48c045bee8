from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError, printable


@given(st.text())
def test_an_error_is_one_line_whatever_the_file_contains(name):
    assert "\n" not in str(InvalidInputError(f"{name}: contains no vectors"))


def test_names_do_not_control_a_terminal():
    assert printable("a\x1b[31m\u202eb\tc") == "a\\x1b[31m\\u202eb\tc"
