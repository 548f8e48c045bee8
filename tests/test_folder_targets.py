"""Folders as targets: nothing is lost, nothing else is copied, errors are one line."""

from __future__ import annotations

import os

import pytest

from tests.model_folders import content, make_static
from tests.platforms import posix_only
from tests.processes import call
from tests.vectors.test_full_disk import largest_file

pytest.importorskip("tokenizers", reason="needs the static extra")


@pytest.fixture
def model(tmp_path):
    make_static(tmp_path / "model")
    return tmp_path / "model"


def refuse(model, target, said, status=2):
    run = call("postprocess", model, target, "--force", "--weights", "uniform")
    assert (run.returncode, run.stderr.count("\n")) == (status, 1), run.stderr
    assert said in run.stderr
    assert str(target if "LICENSE" not in said else model) in run.stderr
    assert ".partial" not in run.stderr
    assert not any(name.startswith(".") for name in os.listdir(model.parent))


def test_folders_are_never_replaced(model, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    before = content(tmp_path)
    for target in (model.parent, model, tmp_path / "link"):
        refuse(model, target, "exists; remove it")
    assert content(tmp_path) == before


@posix_only("makes links")
@pytest.mark.parametrize("cache", [False, True])
def test_links_are_followed_only_within_a_folder_or_hub_cache(model, cache, tmp_path):
    (tmp_path / "SECRET").write_text("hunter2")
    (model / "notes").symlink_to(tmp_path / "SECRET")
    (model / "1_Stuff").symlink_to(tmp_path)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "1").write_text("terms")
    if cache:
        (tmp_path / "snapshots").mkdir()
        model = model.rename(tmp_path / "snapshots" / "abc")
    (model / "LICENSE").symlink_to(tmp_path / "blobs" / "1")
    out = tmp_path / "out"
    if not cache:
        refuse(model, out, "LICENSE: not a regular file of this folder")
        assert not out.exists()
        return
    run = call("postprocess", model, out, "--weights", "uniform")
    assert run.returncode == 0, run.stderr
    assert content(out)["LICENSE"] == b"terms"
    assert not (out / "LICENSE").is_symlink()
    assert not {"notes", "1_Stuff"} & set(os.listdir(out))
    assert not any(b"hunter2" in each for each in content(out).values())


@posix_only("limits the size of files")
def test_targets_that_cannot_be_written_name_themselves(model, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refuse(model, tmp_path / "pipe", "exists")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "at" / "all")
    refuse(model, tmp_path / "dangling", "does not exist")
    with largest_file(3000):
        refuse(model, tmp_path / "out", "too large", status=1)
