from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically
from tests.platforms import posix_only


@posix_only("has permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode) -> None:
    target = tmp_path / "out"
    target.write_text("before")
    target.chmod(mode)
    with replace_atomically(target) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == mode, "also while it is written"
        beside.chmod(0o600 | mode)
        beside.write_text("after")
        beside.chmod(mode)
    assert target.read_text() == "after"
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.parametrize("name", ["n" * 250, "é" * 125, "n" * 255])
def test_names_as_long_as_a_system_takes(tmp_path, name) -> None:
    with replace_atomically(tmp_path / name) as beside:
        beside.write_text("x")
    assert os.listdir(tmp_path) == [name]


@posix_only("makes a named pipe")
def test_places_where_no_file_can_be_written_are_named(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for target, said in (
        (tmp_path / "nowhere" / "out", "nowhere does not exist"),
        (tmp_path, "is a directory"),
        (pipe, "not a regular file"),
        (tmp_path / "link", "not a regular file"),
    ):
        with pytest.raises(InvalidInputError, match=said), replace_atomically(target) as beside:
            beside.write_text("x")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "link", pipe]
    assert pipe.is_fifo()


@given(st.text())
def test_an_error_is_one_line_whatever_the_file_contains(name):
    assert "\n" not in str(InvalidInputError(f"{name}: contains no vectors"))
