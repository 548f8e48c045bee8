"""A folder for the hub: its files load, and nothing of the user's is lost."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import AffineMap, open_vectors, postprocess, write_vectors
from conceptor.base.errors import InvalidInputError
from conceptor.integrations.hub import save_folder
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
    assert save_folder(file, folder, "cn:n_components=5").dimension == 5
    names = ["README.md", "map.safetensors", "vectors.safetensors"]
    assert sorted(path.name for path in folder.iterdir()) == names
    postprocess(file, tmp_path / "same.safetensors", "cn:n_components=5")
    same = (tmp_path / "same.safetensors").read_bytes()
    assert (folder / "vectors.safetensors").read_bytes() == same
    ((words, vectors),) = open_vectors(folder / "vectors.safetensors").chunks()
    assert words == WORDS
    map_ = AffineMap.load(folder / "map.safetensors")
    ((_, rows),) = open_vectors(file).chunks()
    np.testing.assert_allclose(map_.map_words(words, rows), vectors, atol=1e-6)


def test_the_hub_s_own_library_reads_the_card(file, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    header = {"license": "pddl", "language": "en"}
    save_folder(file, tmp_path / "better", name='A "title": x', dtype="int8", **header)
    card = hub.ModelCard.load(tmp_path / "better" / "README.md")
    tags = ["word-embeddings", "static-embeddings", "conceptor"]
    assert card.data.to_dict() == header | {"library_name": "conceptor", "tags": tags}
    assert '# A "title": x' in card.text
    assert "| words | 200 |" in card.text
    assert "| numbers | int8 |" in card.text
    assert "\n| made from | `in.txt` |\n| method | `cn` |\n" in card.text


def test_nothing_is_replaced_or_left_half_done(file, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for force, message in {False: "exists; use --force", True: "exists and is not a hub"}.items():
        with pytest.raises(InvalidInputError, match=message):
            save_folder(file, tmp_path / "mine", force=force)
    with pytest.raises(InvalidInputError, match="unknown method"):
        save_folder(file, tmp_path / "better", "no-such-method")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "mine"]
    save_folder(file, tmp_path / "better", "cn")
    with pytest.raises(InvalidInputError, match="exists"):
        save_folder(file, tmp_path / "better", "abtt")
    save_folder(file, tmp_path / "better", "abtt", force=True)
    assert "`abtt`" in (tmp_path / "better" / "README.md").read_text()
    (tmp_path / "better" / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidInputError, match=r"thesis\.txt.* would be lost"):
        save_folder(file, tmp_path / "better", "cn", force=True)
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
    assert "exists; use --force to replace it" in run.stderr
    run = call(*arguments, "--force", "--save-map", "map", cwd=tmp_path)
    assert run.returncode == 2
    assert "remove --save-map" in run.stderr


def test_a_hostile_name_is_one_line_of_text_in_the_card(tmp_path, rng):
    hub = pytest.importorskip("huggingface_hub")
    name = "x\n---\nlicense: mit\n# <script>alert(1)</script> | `a`"
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / name.replace("/", "")
    write_vectors(file, [(WORDS, rng.standard_normal((200, 4)))], format="glove-text")
    save_folder(file, tmp_path / "better", name=name)
    card = hub.ModelCard.load(tmp_path / "better" / "README.md")
    assert card.data.to_dict().get("license") is None
    assert "<script" not in card.text
    assert sum(line.startswith("# ") for line in card.text.splitlines()) == 1
