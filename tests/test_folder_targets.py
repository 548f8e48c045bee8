"""Folders as targets: nothing else is lost, nothing else is copied, errors are one line."""

from __future__ import annotations

import os
import shutil

import pytest

from conceptor.base import files
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_folder_atomically
from conceptor.base.folders import copy_folder
from conceptor.vectors import write_vectors
from tests.model_folders import MAKERS, VECTORS, WORDS, content
from tests.platforms import posix_only
from tests.processes import call
from tests.vectors.test_full_disk import largest_file

pytest.importorskip("tokenizers", reason="needs the static extra")


@pytest.fixture(params=["static", "spacy"])
def model(request, tmp_path):
    """A folder inside another one, with a file beside it."""
    pytest.importorskip("spacy" if request.param == "spacy" else "tokenizers")
    (tmp_path / "par").mkdir()
    MAKERS[request.param](tmp_path / "par" / "model")
    (tmp_path / "par" / "thesis.txt").write_text("years of work")
    return tmp_path / "par" / "model"


def assert_refused(run, said):
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_target_around_the_input_is_refused(model, tmp_path):
    before = content(tmp_path)
    for target in (model.parent, model, model / "x"):
        run = call("postprocess", model, target, "--force", "--weights", "zipf")
        assert_refused(run, "is the input, contains it or is inside it")
    link = tmp_path / "link"
    link.symlink_to(model.parent)
    assert_refused(call("postprocess", model, link, "--force"), "contains it")
    assert content(tmp_path) == before


def test_force_replaces_only_the_same_kind(model, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "photos.zip").write_bytes(b"precious")
    assert_refused(call("postprocess", model, home, "--force"), "name another folder")
    assert content(home) == {"photos.zip": b"precious"}
    other = model.with_name("other")
    shutil.copytree(model, other)
    (other / "notes.txt").write_text("my own")
    assert_refused(call("postprocess", model, other, "--force"), "holds notes.txt")
    assert (other / "notes.txt").read_text() == "my own"


@pytest.mark.parametrize("arguments", [("--format", "hub"), ()])
def test_a_hub_folder_is_not_replaced_around_its_input(arguments, tmp_path):
    MAKERS["hub"](tmp_path / "hub")
    write_vectors(tmp_path / "hub" / "README.txt", [(WORDS, VECTORS)])
    before = content(tmp_path)
    run = call(
        "postprocess", tmp_path / "hub" / "README.txt", tmp_path / "hub", "--force", *arguments
    )
    assert run.returncode == 2
    assert content(tmp_path) == before


def test_distill_does_not_replace_what_it_reads(tmp_path):
    MAKERS["static"](tmp_path / "out")
    (tmp_path / "out" / "model").mkdir()
    (tmp_path / "out" / "model" / "config.json").write_text("{}")
    before = content(tmp_path)
    run = call("distill", tmp_path / "out" / "model", tmp_path / "out", "--force")
    assert_refused(run, "is the input, contains it or is inside it")
    assert content(tmp_path) == before


@posix_only("makes links")
def test_links_out_of_a_folder_are_not_followed(model, tmp_path):
    (tmp_path / "SECRET").write_text("hunter2")
    (model / "notes").symlink_to(tmp_path / "SECRET")
    (model / "stuff").symlink_to(tmp_path)
    run = call("postprocess", model, tmp_path / "out", "--weights", "uniform")
    assert run.returncode == 0, run.stderr
    assert not any(b"hunter2" in each for each in content(tmp_path / "out").values())
    assert not {"notes", "stuff"} & set(os.listdir(tmp_path / "out"))
    (model / "README.md").unlink(missing_ok=True)
    (model / "README.md").symlink_to(tmp_path / "SECRET")
    run = call("postprocess", model, tmp_path / "new", "--weights", "uniform")
    assert_refused(run, "README.md: not a regular file of this folder")
    assert not (tmp_path / "new").exists()


@posix_only("makes links")
def test_the_links_of_a_hub_cache_are_followed(tmp_path):
    blobs, snapshot = tmp_path / "m" / "blobs", tmp_path / "m" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (blobs / "1").write_text("card")
    (snapshot / "README.md").symlink_to("../../blobs/1")
    (snapshot / "LICENSE").symlink_to("README.md")
    copy_folder(snapshot, tmp_path / "out", lambda _: True, tmp_path / "out")
    assert content(tmp_path / "out") == {"README.md": b"card", "LICENSE": b"card"}
    assert not (tmp_path / "out" / "README.md").is_symlink()
    os.mkfifo(snapshot / "NOTICE")
    with pytest.raises(InvalidInputError, match="NOTICE: not a regular file of"):
        copy_folder(snapshot, tmp_path / "two", lambda _: True, tmp_path / "two")


@posix_only("limits the size of files")
@pytest.mark.parametrize("kind", ["full", "fifo", "dangling"])
def test_targets_that_cannot_be_written_name_themselves(model, kind, tmp_path):
    target = tmp_path / "out"
    if kind == "fifo":
        os.mkfifo(target)
    elif kind == "dangling":
        target.symlink_to(tmp_path / "nowhere" / "at" / "all")
    arguments = ("postprocess", model, target, "--weights", "uniform")
    if kind == "full":
        with largest_file(3000):
            run = call(*arguments)
    else:
        run = call(*arguments)
    assert run.returncode == (1 if kind == "full" else 2), run.stderr
    assert run.stderr.count("\n") == 1
    assert str(target) in run.stderr
    assert ".partial" not in run.stderr
    assert not any(name.startswith(".") for name in os.listdir(tmp_path))


def replace(folder, text):
    with replace_folder_atomically(folder) as beside:
        (beside / "file").write_text(text)


@pytest.mark.parametrize("can_swap", [True, False])
def test_a_folder_is_replaced_in_one_step_or_in_two(tmp_path, monkeypatch, can_swap):
    if not can_swap:
        monkeypatch.setattr(files, "exchange", lambda one, other: False)
    folder = tmp_path / "out"
    replace(folder, "one")
    folder.chmod(0o700)
    replace(folder, "two")
    assert content(tmp_path) == {"out/file": b"two"}
    if os.name != "nt":
        assert folder.stat().st_mode & 0o777 == 0o700
