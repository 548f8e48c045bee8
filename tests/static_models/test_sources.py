"""What models are made from: names, folders of text, a hub that cannot be reached."""

from __future__ import annotations

import shutil

import pytest

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import log_progress
from conceptor.static_models.sentences import read_sentences
from conceptor.static_models.sources import model_name
from tests import processes


def test_a_folder_of_text_files_is_taken_as_one_text(tmp_path) -> None:
    lines = [f"sentence number {i}" for i in range(30)]
    (tmp_path / "all.txt").write_text("\n".join(lines))
    parts = tmp_path / "parts"
    (parts / "more").mkdir(parents=True)
    (parts / "a.txt").write_text("\n".join(lines[:10]))
    (parts / "b.txt").write_text("\n".join(lines[10:20]))
    (parts / "more" / "c.txt").write_text("\n\n".join(lines[20:]))
    (parts / "notes.md").write_text("not a sentence of the corpus")
    assert read_sentences(parts, 100) == read_sentences(tmp_path / "all.txt", 100) == lines


def test_a_folder_without_text_says_so(tmp_path) -> None:
    with pytest.raises(InvalidInputError, match=r"contains no \.txt file"):
        read_sentences(tmp_path, 10)
    with pytest.raises(InvalidInputError, match="no such file or folder"):
        read_sentences(tmp_path / "nowhere", 10)


def test_a_model_goes_by_its_own_name(tmp_path) -> None:
    assert model_name("sentence-transformers/all-MiniLM-L6-v2").endswith("/all-MiniLM-L6-v2")
    cached = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / "0a1b"
    cached.mkdir(parents=True)
    assert model_name(cached) == "sentence-transformers/all-MiniLM-L6-v2"
    folder = tmp_path / "model"
    folder.mkdir()
    assert model_name(folder) == "model"
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# tiny-bert\nIt is small.\n")
    assert model_name(folder) == "tiny-bert"
    (folder / "README.md").write_text("# A model of mine\n")
    assert model_name(folder) == "model"


def test_the_card_names_the_base_model(transformer, tmp_path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(transformer, folder)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# tiny-bert\n")
    done = processes.call("distill", folder, tmp_path / "out", "--vocabulary", "tokens")
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "out" / "README.md").read_text()
    assert 'base_model: "tiny-bert"' in card
    assert "made from tiny-bert by" in card


def test_a_hub_out_of_reach_fails_at_once_with_the_whole_message(monkeypatch) -> None:
    pytest.importorskip("transformers", reason="needs the static extra")
    import huggingface_hub

    from conceptor.static_models.transformer import Transformer

    asked = []

    def out_of_reach(self, name, **options):
        asked.append((name, options["timeout"]))
        raise OSError("no route to host " + "x" * 300)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", out_of_reach)
    with pytest.raises(ConceptorError, match=r"x{300}.*name its folder"):
        Transformer.load("nobody/nothing-here")
    assert len(asked) == 1
    assert asked[0][1] < 10


def test_a_log_gets_a_line_per_minute(capsys) -> None:
    now = 0.0
    report = log_progress(lambda: now)
    for now in range(0, 301, 10):
        report("words", now / 300, now)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"conceptor: words: {s / 300:.0%}, {s} so far" for s in range(60, 301, 60)]
