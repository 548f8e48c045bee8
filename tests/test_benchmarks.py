"""Every script of benchmarks/ can be imported, and the evidence runs on a tiny file."""

import importlib.util
import json
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import data_files
import evidence
import numpy as np
import pytest
import vector_sets
from common import read_table

from conceptor import __version__
from conceptor.evaluation import Battery
from conceptor.evaluation.comparison import compare
from conceptor.evaluation.text_tasks import SentencePair, SentenceSimilarity
from conceptor.evaluation.word_tasks import WordSimilarity
from conceptor.paper.woz import Corpus, load_corpus
from conceptor.vectors.table import WordVectors
from conceptor.vectors.target import write_vectors

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
    comparison = compare(vectors, ["original", "cn"], battery)
    gains = [comparison.gains(family)["cn"] for family in ("similarity", "sts")]
    tables = data_files.read(target)
    (row,) = tables["the-default-against-the-original-by-vectors"].rows
    assert row[:3] == ["tiny", *map(evidence.cell, gains)]
    shown = tables["before-and-after"].rows[0]
    assert shown[:3] == ["word similarity", shown[1], evidence.show_interval(gains[0])]
    assert shown[2] in capsys.readouterr().out
    made = json.loads(target.read_text())["made"]
    today = date.today().isoformat()
    assert made == {"command": "python evidence.py", "version": __version__, "date": today}
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    evidence.write_evidence(target, {"tiny": vectors}, tmp_path, battery, "python evidence.py")
    assert kept == {path: path.stat().st_mtime_ns for path in kept}  # nothing is measured twice


def test_claims_are_checked_on_other_vectors(tiny, tmp_path, capsys):
    vectors, battery = tiny
    write_vectors(tmp_path / "tiny.bin", [(vectors.words, vectors.vectors)])
    evidence.check(str(tmp_path / "tiny.bin"), tmp_path, battery)
    shown = capsys.readouterr().out
    assert "holds: `cn` is better than the original vectors at word similarity" in shown
    assert "not measured: `cn` loses on analogies" in shown


def test_the_record_of_inspect_is_that_of_its_measurements(monkeypatch):
    record = pytest.importorskip("inspect_record")
    tables = data_files.parse(record.show())[1]
    assert tables == data_files.read(data_files.DATA / "inspect.json")


def test_trackers_on_few_dialogues(monkeypatch, tmp_path, rng, data):
    dialogue = pytest.importorskip("dialogue")
    whole = load_corpus(data, offline=True)
    parts = (whole.train[:30], whole.validate[:20], whole.test[:20])
    corpus = Corpus(*parts, whole.values)
    words = sorted(corpus.words)
    vectors = WordVectors(words, rng.standard_normal((len(words), 6)))
    quick = replace(dialogue.TRAININGS["default"][0], epochs=1, batches=2, batch=8)
    monkeypatch.setattr(dialogue, "TARGET", tmp_path / "dialogue.json")
    monkeypatch.setattr(dialogue, "TRAININGS", {"default": (quick, 2)})
    monkeypatch.setattr(dialogue, "DEFAULT_METHODS", ("original", "cn-paper", "cn"))
    monkeypatch.setattr(dialogue, "google_news_vectors", lambda: (vectors, "made"))
    monkeypatch.setattr(dialogue, "load_corpus", lambda: corpus)
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # no other processes
    monkeypatch.setattr(sys, "argv", ["dialogue.py", "default", str(tmp_path / "trackers")])
    dialogue.main()
    tables = data_files.read(tmp_path / "dialogue.json")
    assert "Does CN help?" in tables["default-training/every-run"].notes
    assert len(tables["default-training/every-run"].rows) == 8


def test_vectors_are_trained_and_reduced(monkeypatch, tmp_path, tiny):
    pytest.importorskip("gensim")
    sentence = " ".join(f"word{i}" for i in range(30))
    (tmp_path / "corpus.txt").write_text(f"{sentence}\n" * 30)
    path = vector_sets.make("SGNS 100d", tmp_path)
    assert len(read_table(path)) == 30
    makers = {"few": vector_sets.reduced(lambda: tiny[0], 2)}
    makers["noisy"] = vector_sets.noisy(lambda: tiny[0], 0.5)
    monkeypatch.setattr(vector_sets, "SETS", makers)
    for name, dimension in (("few", 2), ("noisy", 6)):
        assert read_table(vector_sets.make(name, tmp_path)).dimension == dimension


@pytest.mark.slow
def test_the_papers_tables_on_few_vectors(monkeypatch, tmp_path, glove):
    results = pytest.importorskip("results")
    few = WordVectors(glove.words[:3000], glove.vectors[:3000])
    monkeypatch.setattr(results, "TARGET", tmp_path / "results.json")
    monkeypatch.setattr(results, "FIGURE", tmp_path / "figure.svg")
    monkeypatch.setattr(results, "google_news_vectors", lambda: (few, "few"))
    monkeypatch.setattr(results, "demo", lambda: few)
    results.main([])
    tables = data_files.read(tmp_path / "results.json")
    assert {name.split("/")[0] for name in tables} == {
        data_files.slug(title) for title, _ in results.SECTIONS.values()
    }
