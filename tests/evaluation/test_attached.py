"""Attach as people use it: stores, loaders, what is measured, and what is wrong with input."""

from __future__ import annotations

import json
import sys
import weakref

import numpy as np
import pytest

import conceptor
from conceptor import StaticModel
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.evaluation.attached import (
    AttachWarning,
    Loss,
    _search_words,
    attach,
    fuse,
    judged_verdict,
    make_questions,
    nearest_rows,
    read_judgments,
)
from conceptor.evaluation.statistics import Mean
from conceptor.integrations.stores import open_store
from conceptor.static_models.attaching import survey
from conceptor.vectors.vectors import RowKind, Rows, Vectors

TOPICS = [
    [f"{topic}{ending}" for ending in ("a", "e", "i", "o", "u", "an", "en", "in", "on", "un")]
    for topic in "bcdfghjklmnpqrstvwxz"
]


def make_store(count=300, seed=0, n=24):
    """Documents of three sentences about two topics each; vectors follow from their words."""
    generator = np.random.default_rng(seed)
    truth = {word: generator.normal(size=n) for topic in TOPICS for word in topic}
    texts, vectors = [], []
    for _ in range(count):
        pool = [w for i in generator.choice(len(TOPICS), 2, replace=False) for w in TOPICS[i]]
        sentences = [" ".join(generator.choice(pool, 8)) for _ in range(3)]
        texts.append(". ".join(sentences) + ".")
        words = " ".join(sentences).split()
        vectors.append(np.mean([truth[word] for word in words], axis=0) + 0.3)
    rows = np.array(vectors, dtype=np.float32)
    return texts, rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def store():
    return make_store()


@pytest.fixture(scope="module")
def encoder(store):
    return attach(*store)


def test_an_encoder_finds_documents_by_their_sentences(store, encoder):
    texts, vectors = store
    questions = [text.split(". ")[0] for text in texts]
    order = np.argsort(-(encoder.encode(questions) @ vectors.T), axis=1)[:, :10]
    assert np.mean([i in row for i, row in enumerate(order)]) > 0.8
    assert encoder.provenance["documents"] == len(texts)
    assert encoder.provenance["loss"]["against"] == "document"
    np.testing.assert_allclose(encoder.offset, vectors.mean(axis=0), atol=1e-6)
    assert conceptor.attach is attach


@pytest.mark.parametrize("factor", [1e20, 1e-20])
def test_the_scale_of_the_vectors_changes_nothing_but_the_offset(store, encoder, factor):
    texts, vectors = store
    made = attach(texts, vectors * np.float32(factor))
    np.testing.assert_allclose(made.encode(texts), encoder.encode(texts), atol=1e-3)
    np.testing.assert_allclose(made.offset / factor, encoder.offset, atol=1e-5)


def test_folders_load_in_the_real_libraries(store, encoder, tmp_path):
    model2vec = pytest.importorskip("model2vec")
    sentence_transformers = pytest.importorskip("sentence_transformers")
    encoder.save(tmp_path / "m")
    texts = [text.split(". ")[0] for text in store[0][:50]]
    ours = encoder.encode(texts)
    theirs = model2vec.StaticModel.from_pretrained(tmp_path / "m").encode(texts)
    np.testing.assert_allclose(theirs, ours, atol=1e-6)
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "m")).encode(texts)
    np.testing.assert_allclose(theirs, ours, atol=1e-6)
    again = StaticModel.load(tmp_path / "m")
    np.testing.assert_array_equal(again.offset, encoder.offset)
    assert again.provenance["verdict"] == encoder.provenance["verdict"]
    card = (tmp_path / "m" / "README.md").read_text()
    assert encoder.provenance["measured"] in card
    assert encoder.provenance["verdict"] in card


def test_against_a_model_that_is_a_static_one_nothing_is_lost(store):
    """The teacher averages words, so the fit can follow it; one of random words cannot be met."""
    texts, _ = store
    generator = np.random.default_rng(5)
    words = sorted({word for topic in TOPICS for word in topic})
    truth = {word: generator.normal(size=24) for word in words}

    def teacher(texts):
        rows = [[truth[w] for w in text.replace(".", " ").split() if w in truth] for text in texts]
        return np.array([np.mean(row, axis=0) if row else np.zeros(24) for row in rows])

    made = attach(texts, teacher(texts), model=teacher, vocabulary=None, sentences=None)
    assert made.provenance["loss"]["against"] == "model"
    assert made.provenance["loss"]["low"] > 70


def test_a_model_that_did_not_make_the_vectors_is_noticed(store):
    texts, vectors = store
    generator = np.random.default_rng(1)

    def other(texts):
        return generator.normal(size=(len(texts), 24))

    with pytest.warns(AttachWarning, match="differ from the stored ones"):
        attach(texts, vectors, model=other, vocabulary=["ba"], sentences=None)
    with pytest.raises(InvalidInputError, match="vectors have 7 dimensions"):
        attach(texts, vectors, model=lambda t: np.ones((len(t), 7)), vocabulary=["ba"])


@pytest.mark.parametrize(
    ("texts", "vectors", "said"),
    [
        (["a b"], np.ones((2, 3)), "1 words but 2 vectors"),
        (["a b", "c d"], [[1.0, 2.0], [1.0]], "must have rows of the same length"),
        (["a b", "c d"], np.array([[1.0, 2.0], [np.nan, 1.0]]), "contain NaN"),
        (["a b", "a b"], np.ones((2, 3)), "1 distinct texts"),
        (["", " "], np.ones((2, 3)), "0 distinct texts"),
        (["a b", "c d"], np.zeros((2, 3)), "all vectors are 0"),
        ([], np.ones((0, 3)), "texts is empty"),
        ("a b", np.ones((1, 3)), "single string"),
        (["☃ ☃", "☃"], np.eye(2), "the texts have no words; check the column of texts"),
    ],
)
def test_bad_input_is_named(texts, vectors, said):
    with pytest.raises(InvalidInputError, match=said):
        attach(texts, vectors)


def test_stores_that_need_a_warning(store):
    texts, vectors = store

    def said(texts, vectors):
        return " ".join(survey(open_store(texts, vectors)).warnings)

    assert said(texts, vectors) == ""  # the negative control
    assert "only 100 documents" in said(texts[:100], vectors[:100])
    assert "2 texts are empty" in said([*texts, "", " "], np.concatenate([vectors, vectors[:2]]))
    assert "3 texts repeat" in said([*texts, *texts[:3]], np.concatenate([vectors, vectors[:3]]))


def test_scripts_without_spaces_are_cut_too():
    texts = [f"日本語の文章{i}です。今日は雨{i % 7}が降る" for i in range(300)]
    vectors = np.random.default_rng(0).normal(size=(300, 8))
    with pytest.warns(AttachWarning, match="the loss was not measured"):
        made = attach(texts, vectors)
    assert made.provenance["unknown_words"] < 0.05
    assert np.isfinite(made.encode(texts[:2])).all()


class CountedStore:
    """Batches of 20 rows; counts how many were read, and how many are in memory at a time."""

    def __init__(self, texts, vectors):
        self.texts, self.vectors = texts, vectors
        self.batches = self.alive = self.most = 0
        self.store = Vectors("counted", vectors.shape[1], self.read, kind=RowKind.TEXTS)

    def read(self):
        for start in range(0, len(self.texts), 20):
            rows = self.vectors[start : start + 20].copy()
            weakref.finalize(rows, self.forget)
            self.batches += 1
            self.alive += 1
            self.most = max(self.most, self.alive)
            yield Rows(self.texts[start : start + 20], rows)
            del rows

    def forget(self):
        self.alive -= 1


def test_searching_in_batches_is_searching_at_once():
    generator = np.random.default_rng(0)
    rows = generator.integers(-3, 4, size=(510, 4)).astype(np.float32)  # many ties
    queries = generator.integers(-3, 4, size=(7, 4)).astype(np.float32)
    nearest = nearest_rows(CountedStore(["x y"] * 510, rows).store, queries, 10)
    expected = np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(nearest, expected)


def test_memory_does_not_grow_with_the_store(monkeypatch):
    """At most a few batches are held, and of the tokens a sample: the same for twice the store."""
    monkeypatch.setattr("conceptor.static_models.attaching._SAMPLE", 20)
    monkeypatch.setattr("conceptor.evaluation.attached._TOKENS", 20_000)
    for count in (1000, 2000):
        counted = CountedStore(*make_store(count, n=8))
        made = attach(counted.store)
        assert counted.batches >= 3 * count // 20  # several passes over all of them
        assert counted.most <= 4
        # 24 tokens and three sizes of pieces: 277 documents fill the limit, by a hash give or take.
        assert 100 < made.provenance["documents"] < 500


def test_questions_are_sentences():
    text = "Too short. This sentence has exactly seven words. " * 3
    assert set(make_questions(text)) == {"This sentence has exactly seven words."}
    assert make_questions("one two") == []
    words = " ".join(map(str, range(100)))
    assert make_questions(words) == [" ".join(map(str, range(40, 60)))]


def test_fusion_by_reciprocal_ranks():
    """By hand: 7 is second and first, 5 first and absent, 9 third and second."""
    assert fuse(np.array([5, 7, 9]), np.array([7, 9, -1])) == [7, 9, 5] + [-1] * 7


def test_the_verdict_follows_the_lower_end_and_the_number_of_documents():
    assert Loss("model", 900, 100, 99, 98, 100).verdict == "use it"
    assert Loss("model", 599, 100, 99, 98, 100).verdict == "use it together with BM25"
    assert Loss("model", 900, 100, 80, 60, 99).verdict == "use it together with BM25"
    assert Loss("model", 900, 100, 80, 10, 90).verdict == "do not use it"
    assert Loss("document", 900, 100, 70, 61, 80).verdict == "use it"
    assert Loss("document", 900, 2, 100, 100, 100).verdict == "too few questions to judge"


def test_the_verdict_of_judgments():
    scores = np.random.default_rng(0).uniform(0.2, 0.5, 40)

    def verdict(bm25, both, count=40):
        gains = {"attached": scores, "BM25": scores + bm25, "attached + BM25": scores + both}
        return judged_verdict({name: Mean(each[:count]) for name, each in gains.items()})

    assert verdict(-0.1, 0) == "use it"
    assert verdict(-0.1, 0.1) == "use it together with BM25"
    assert verdict(0.2, 0.1) == "use BM25 alone"
    assert verdict(0.2, 0.4) == "use it together with BM25"  # also better than BM25
    assert verdict(0.2, 0.1, count=19) == "too few questions to judge"


def test_a_missing_package_is_noticed_before_anything_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match="bm25"):
        attach("no such store", queries="q.tsv", relevant="r.tsv")


def test_judgments_are_checked(tmp_path):
    queries, relevant = tmp_path / "q.tsv", tmp_path / "r.tsv"
    queries.write_text("1\tfirst\n2\tsecond\n")
    relevant.write_text("1\t3\n1\t4\t0\n2\t5\t1\n")
    store = open_store(list("abcde"), np.eye(5))
    texts, rows = read_judgments(queries, relevant, store, 5)
    assert texts == ["first", "second"]
    assert [list(each) for each in rows] == [[2], [4]]
    for text, said in (
        ("3\t1\n", "has no query with the id"),
        ("1\t6\n", "rows 1 to 5"),
        ("1\n", "line 1"),
        ("1\t\n", "line 1: expected"),
        ("1\t2\tmuch\n", "line 1: expected"),
        ("1\t0\n", "no document '0'; the store has rows 1 to 5$"),
        ("1\td7\n", "no document 'd7'; the store has rows 1 to 5$"),
        ("1\t2\t0\n", "lists no relevant row"),
    ):
        relevant.write_text(text)
        with pytest.raises(InvalidInputError, match=said):
            read_judgments(queries, relevant, store, 5)
    relevant.write_text("1\t2\n")
    with pytest.raises(InvalidInputError, match=r"id is not a column of ids.*: none"):
        read_judgments(queries, relevant, store, 5, "id")
    queries.write_text("a\tone\nb\ttwo\na\tthree\n")
    with pytest.raises(InvalidInputError, match=r"q\.tsv, line 3: the id 'a' occurs twice"):
        read_judgments(queries, relevant, store, 5)


NAMES = ["d5", "d4", " d3", "d2", None]


@pytest.mark.parametrize(
    ("columns", "id_column", "documents", "expected"),
    [
        ({"doc_id": NAMES}, "doc_id", ["d2", "d3"], [2, 3]),
        ({"doc_id": NAMES}, "rows", ["1", "5"], [0, 4]),
        ({"code": NAMES}, "code", ["d2"], [3]),
        ({"code": NAMES}, None, ["2", "3"], [1, 2]),
        ({"code": NAMES}, None, ["d2"], "no document 'd2'; the store has rows 1 to 5$"),
        ({"code": NAMES}, None, ["9" * 5000], "there is no document '999"),
        ({"doc_id": NAMES}, "doc_id", ["d2", "d9"], "line 2: there is no document 'd9'; .*doc_id$"),
        ({"doc_id": NAMES}, "x", ["d2"], r"x is not a column of ids.*: doc_id"),
        # Numbers fit both.
        ({"id": [0, 1, 2, 3, 4]}, None, ["2", "3"], "may be rows of the store, or ids of its"),
        ({"id": [0, 1, 2, 3, 4]}, "id", ["2", "3"], [2, 3]),
        ({"id": [0, 1, 2, 3, 4]}, "rows", ["2", "3"], [1, 2]),
        ({"id": ["a", "b", "a", "c", "c"]}, "id", ["a"], "has 'a' in rows 1 and 3; ids must be"),
        ({"id": ["a", "b", "a", "c", "c"]}, "id", ["b"], [1]),
    ],
)
def test_judgments_name_documents_by_row_or_id(tmp_path, columns, id_column, documents, expected):
    pa = pytest.importorskip("pyarrow")
    texts = [f"document number {word}" for word in ("one", "two", "three", "four", "five")]
    table = pa.table({"text": texts, "vector": list(np.eye(5, dtype=np.float32)), **columns})
    (tmp_path / "q.tsv").write_text("1\ta query\n")
    (tmp_path / "r.tsv").write_text("".join(f"1\t{name}\n" for name in documents))
    arguments = (tmp_path / "q.tsv", tmp_path / "r.tsv", open_store(table), 5, id_column)
    if isinstance(expected, str):
        with pytest.raises(InvalidInputError, match=expected):
            read_judgments(*arguments)
    else:
        assert read_judgments(*arguments)[1][0].tolist() == expected


def test_judged_beside_bm25(store, tmp_path):
    pytest.importorskip("bm25s")
    texts, vectors = store
    (tmp_path / "q.tsv").write_text("".join(f"{i}\t{texts[i].split('. ')[0]}\n" for i in range(40)))
    (tmp_path / "r.tsv").write_text("".join(f"{i}\t{i + 1}\n" for i in range(40)))
    made = attach(texts, vectors, queries=tmp_path / "q.tsv", relevant=tmp_path / "r.tsv")
    rows = {row["name"]: row for row in made.provenance["judged"]}
    assert list(rows) == ["attached", "BM25", "attached + BM25"]
    assert rows["BM25"]["recall@10"] > 90  # the queries are in the documents
    assert rows["attached"]["difference"] == 0
    rankings = _search_words(open_store(*store), ["C", "?", texts[0]])
    assert [row[0] for row in rankings] == [-1, -1, 0]
    assert made.provenance["verdict"] == "use BM25 alone"
    assert json.loads(json.dumps(made.provenance)) == made.provenance
