"""Every script of benchmarks/ can be imported, and the evidence runs on a tiny file."""

import importlib.util
import json
import sys
from pathlib import Path

import data_files
import evidence
import numpy as np
import pytest

import conceptor
from conceptor.evaluation import Battery
from conceptor.evaluation.comparison import compare_words
from conceptor.evaluation.labels import SentencePair
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.sts import SentenceSimilarity
from conceptor.vectors.table import WordVectors

SCRIPTS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_can_be_imported(path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(path.parent)  # scripts import each other
    name = f"benchmark_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # data classes look up their module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package == "conceptor" or (path.parent / f"{package}.py").exists():
            raise
        pytest.skip(f"{path.name} needs {package}")
    assert module.__doc__


@pytest.fixture
def tiny(rng):
    """Three hundred vectors with a common direction, and pairs; of the second set few are known."""
    stop_words = ["the", "of", "and", "to", "in", "is", "it", "for"]  # hsr is fitted on them
    words = [*stop_words, *(f"w{i}" for i in range(len(stop_words), 300))]
    rows = rng.standard_normal((300, 6)) + np.array([3, 0, 0, 0, 0, 0])
    pairs = [(words[i], words[i + 1]) for i in range(0, 200, 2)]
    gold = [float(rows[2 * i, 1:] @ rows[2 * i + 1, 1:]) for i in range(100)]
    thin = [*pairs[:10], *((f"x{i}", f"y{i}") for i in range(90))]
    tasks = [WordSimilarity("full", pairs, gold), WordSimilarity("thin", thin, gold[::-1])]
    scored = zip(pairs, gold, strict=True)
    sentences = [SentencePair(a, f"{b} the", score) for (a, b), score in scored]
    tasks.append(SentenceSimilarity("sentences", sentences))
    return WordVectors(words, rows.astype(np.float32)), Battery(tasks)


def test_the_evidence_counts_what_compare_counts(tiny, tmp_path, capsys):
    vectors, battery = tiny
    target = tmp_path / "evidence.json"
    evidence.write_evidence(target, {"tiny": vectors}, tmp_path, battery, "python evidence.py")
    comparison = compare_words(vectors, ["original", "cn"], battery)
    gains = [comparison.gains(family)["cn"] for family in ("similarity", "sts")]
    tables = data_files.read(target)
    (row,) = tables["the-default-against-the-original-by-vectors"].rows
    assert row[:3] == ["tiny", *map(evidence.cell, gains)]
    note = json.loads(target.read_text())["note"]
    assert note.startswith(f"Written by `python evidence.py`, conceptor {conceptor.__version__}, ")
    assert "Directions and lengths" in capsys.readouterr().out
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    evidence.write_evidence(target, {"tiny": vectors}, tmp_path, battery, "python evidence.py")
    assert kept == {path: path.stat().st_mtime_ns for path in kept}  # nothing is measured twice
