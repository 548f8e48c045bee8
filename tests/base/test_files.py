from __future__ import annotations

import os
import stat

import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically
from tests.platforms import posix_only


def test_the_target_appears_with_the_block_s_success(tmp_path) -> None:
    target = tmp_path / "out"
    with replace_atomically(target) as beside:
        beside.write_text("whole")
        assert not target.exists()
        assert beside.parent == tmp_path
    assert target.read_text() == "whole"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_everything_as_it_was(tmp_path, failure) -> None:
    target = tmp_path / "out"
    target.write_text("before")

    def fail_half_way() -> None:
        with replace_atomically(target) as beside:
            beside.write_text("half")
            raise failure

    with pytest.raises(failure):
        fail_half_way()
    assert target.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]


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
