"""The lines of docs/guides/static-models.md, on a transformer small enough for a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.static_models.conftest import TEXTS, WORDS

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_from_a_model_folder_to_a_search(transformer, tmp_path, monkeypatch, capsys):
    for package in ("faiss", "model2vec"):
        pytest.importorskip(package, reason="the tutorial uses it")
    page = (ROOT / "docs" / "guides" / "static-models.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(from pathlib.*?)```", page, flags=re.DOTALL)
    assert len([line for line in block.splitlines() if line]) <= 20
    monkeypatch.chdir(tmp_path)
    (tmp_path / "documents.txt").write_text("\n".join(TEXTS))
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(transformer)
    (tmp_path / "counts").write_text("".join(f"{word} 9\n" for word in WORDS))
    changed = block.replace("dimensions=256", 'dimensions=12, vocabulary=None, weights="counts"')
    changed = changed.replace("how do I renew my passport?", TEXTS[7])
    exec(compile(changed, "docs/guides/static-models.md", "exec"), {})
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.split("  ") == ["1.00", TEXTS[7]]
