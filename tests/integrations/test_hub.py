"""A folder for the hub: what is in it loads, and the upload is called as the library wants it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from conceptor import AffineMap, InvalidInputError, open_vectors, postprocess, write_vectors
from conceptor.base.errors import ConceptorError
from conceptor.integrations.hub import push_to_hub, save_folder
from tests.processes import call

WORDS = ["the", "of", *(f"w{i}" for i in range(198))]


@pytest.fixture
def file(tmp_path, rng):
    path = tmp_path / "in.txt"
    X = rng.standard_normal((200, 8)) * np.geomspace(2, 0.2, 8) + 0.4
    write_vectors(path, [(WORDS, X)])
    return path


def test_the_folder_holds_what_postprocess_writes(file, tmp_path):
    folder = tmp_path / "better"
    report = save_folder(
        file, folder, "cn:n_components=5", name='A "title": x', license="pddl", language="en"
    )
    assert report.dimension == 5
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "map.safetensors",
        "vectors.safetensors",
    ]
    postprocess(file, tmp_path / "same.safetensors", "cn:n_components=5")
    same = (tmp_path / "same.safetensors").read_bytes()
    assert (folder / "vectors.safetensors").read_bytes() == same
    words, vectors = open_vectors(folder / "vectors.safetensors").read()
    assert words == WORDS
    map_ = AffineMap.load(folder / "map.safetensors")
    mapped = map_.map_words(words, open_vectors(file).to_array())
    np.testing.assert_allclose(mapped, vectors, atol=1e-6)


def test_the_hub_s_own_library_reads_the_card(file, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    save_folder(file, tmp_path / "better", name='A "title": x', license="pddl", dtype="int8")
    card = hub.ModelCard.load(tmp_path / "better" / "README.md")
    assert card.data.to_dict() == {
        "license": "pddl",
        "library_name": "conceptor",
        "tags": ["word-embeddings", "static-embeddings", "conceptor"],
    }
    assert '# A "title": x' in card.text
    assert "| words | 200 |" in card.text
    assert "| numbers | int8 |" in card.text


@pytest.mark.parametrize("method", ["hsr", "abtt+cn"])
def test_what_is_no_single_map_comes_without(method, file, tmp_path):
    save_folder(file, tmp_path / "better", method)
    assert not (tmp_path / "better" / "map.safetensors").exists()
    assert "map.safetensors" not in (tmp_path / "better" / "README.md").read_text()


def test_nothing_is_replaced_or_left_half_done(file, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(InvalidInputError, match="exists; name a new folder"):
            save_folder(file, tmp_path / "mine", force=force)
    with pytest.raises(InvalidInputError, match="unknown method"):
        save_folder(file, tmp_path / "better", "no-such-method")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "mine"]
    save_folder(file, tmp_path / "better", "cn")
    with pytest.raises(InvalidInputError, match="exists"):
        save_folder(file, tmp_path / "better", "abtt")
    save_folder(file, tmp_path / "better", "abtt", force=True)
    assert "`abtt`" in (tmp_path / "better" / "README.md").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["better", "in.txt", "mine"]


def test_from_the_command_line(file, tmp_path):
    arguments = ("postprocess", "in.txt", "better", "--format", "hub", "--aperture", "2")
    run = call(*arguments, "--dtype", "int8", "--dimensions", "3", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "200 words × 3" in run.stderr
    assert open_vectors(tmp_path / "better" / "vectors.safetensors").dimension == 3
    assert AffineMap.load(tmp_path / "better" / "map.safetensors").n_out == 3
    run = call(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert "exists; name a new folder, or replace an earlier hub folder with --force" in run.stderr
    run = call(*arguments, "--force", "--save-map", "map", cwd=tmp_path)
    assert run.returncode == 2
    assert "remove --save-map" in run.stderr


def test_the_upload_up_to_the_call(file, tmp_path, monkeypatch):
    """Without a network: the real signatures, bound to what is passed."""
    hub = pytest.importorskip("huggingface_hub")
    from inspect import signature

    calls = []

    def recorded(name: str):
        real = signature(getattr(hub.HfApi, name))

        def call(self, *arguments, **options):
            calls.append((name, real.bind(self, *arguments, **options).arguments))
            return "https://huggingface.co/me/better"

        return call

    for name in ("create_repo", "upload_folder"):
        monkeypatch.setattr(hub.HfApi, name, recorded(name))
    save_folder(file, tmp_path / "better")
    url = push_to_hub(tmp_path / "better", "me/better", private=True, token="t")
    assert url == "https://huggingface.co/me/better"
    (_, made), (_, uploaded) = calls
    assert made["repo_id"] == uploaded["repo_id"] == "me/better"
    assert made["private"] is True
    assert made["exist_ok"] is True
    assert uploaded["folder_path"] == tmp_path / "better"
    assert 'hf_hub_download("me/better"' in (tmp_path / "better" / "README.md").read_text()


def test_a_failing_upload_is_one_line(file, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_, **__):
        raise OSError("Network is unreachable\nand more")

    monkeypatch.setattr(hub.HfApi, "create_repo", fail)
    save_folder(file, tmp_path / "better")
    with pytest.raises(ConceptorError, match=r"^me/x: could not be uploaded \(Network is unrea"):
        push_to_hub(tmp_path / "better", "me/x")
    with pytest.raises(InvalidInputError, match=r"no vectors\.safetensors in it"):
        push_to_hub(tmp_path, "me/x")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"pip install 'conceptor\[hub\]'"):
        push_to_hub(tmp_path / "better", "me/x")


EVIL = "x\n---\nlicense: mit\n# <script>alert(1)</script> | `a`"


def test_names_from_elsewhere_are_one_line_of_text_in_cards(tmp_path, rng):
    from conceptor.static_models.words import word_model

    hub = pytest.importorskip("huggingface_hub")
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / EVIL.replace("/", "")
    write_vectors(file, [(WORDS, rng.standard_normal((200, 4)))], format="glove-text")
    save_folder(file, tmp_path / "better", name=EVIL)
    made = word_model(WORDS, rng.standard_normal((200, 4)), {"model": EVIL, "vocabulary": EVIL})
    made.save(tmp_path / "static")
    for folder in ("better", "static"):
        card = hub.ModelCard.load(tmp_path / folder / "README.md")
        assert card.data.to_dict().get("license") is None
        assert "<script" not in card.text
        assert sum(line.startswith("# ") for line in card.text.splitlines()) == 1
