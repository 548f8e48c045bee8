"""Attach as people use it: stores, loaders, what is measured, and what is wrong with input."""

from __future__ import annotations

import json
import weakref

import numpy as np
import pytest

import conceptor
from conceptor import InvalidInputError, StaticModel
from conceptor.evaluation.attached import AttachWarning, attach
from conceptor.evaluation.attached.judgements import read_judgements
from conceptor.evaluation.attached.measuring import Loss, Questions, fuse, make_questions, search
from conceptor.evaluation.attached.survey import survey
from conceptor.integrations.stores import StoredTexts, StoredVectors, open_store

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


def test_the_public_name_is_the_function():
    assert conceptor.attach is attach


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


def test_the_ranking_does_not_depend_on_the_offset(store, encoder):
    """Subtracting q · offset takes the same number off every document's score."""
    vectors = store[1]
    query = encoder.encode(["ba be. ca ce"])
    scores = query @ vectors.T
    shifted = query @ (vectors - encoder.offset).T
    np.testing.assert_allclose(scores - query @ encoder.offset, shifted, atol=1e-5)


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
    with pytest.warns(AttachWarning, match="differ from the stored ones"):
        attach(
            texts,
            vectors,
            model=lambda t: generator.normal(size=(len(t), 24)),
            vocabulary=["ba"],
            sentences=None,
        )
    with pytest.raises(InvalidInputError, match="vectors have 7 dimensions"):
        attach(
            texts, vectors, model=lambda t: np.ones((len(t), 7)), vocabulary=["ba"], sentences=None
        )


@pytest.mark.parametrize(
    ("texts", "vectors", "said"),
    [
        (["a b"], np.ones((2, 3)), "1 texts but 2 vectors"),
        (["a b", "c d"], [[1.0, 2.0], [1.0]], "row 2: a vector of 1 dimensions"),
        (["a b", "c d"], np.array([[1.0, 2.0], [np.nan, 1.0]]), "row 2: the vector has NaN"),
        (["a b", "a b"], np.ones((2, 3)), "1 distinct texts"),
        (["", " "], np.ones((2, 3)), "0 distinct texts"),
        (["a b", "c d"], np.zeros((2, 3)), "all vectors are 0"),
        ([], np.ones((0, 3)), "there are no texts"),
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
        return " ".join(survey(StoredTexts(texts, vectors)).warnings())

    assert said(texts, vectors) == ""  # the negative control
    assert "only 100 documents" in said(texts[:100], vectors[:100])
    assert "2 texts are empty" in said([*texts, "", " "], np.concatenate([vectors, vectors[:2]]))
    assert "3 texts repeat" in said([*texts, *texts[:3]], np.concatenate([vectors, vectors[:3]]))
    lengths = np.where(np.arange(len(vectors)) % 3 == 0, 1.0, 5.0)[:, np.newaxis]
    assert "33% of the vectors have length 1" in said(texts, vectors * lengths)
    groups = np.where(np.arange(len(vectors)) % 3 == 0, 1, -1)[:, np.newaxis] * np.eye(24)[0]
    apart = vectors * 0.3 + groups
    apart /= np.linalg.norm(apart, axis=1, keepdims=True)
    assert "two groups" in said(texts, apart)


def test_few_documents_are_attached_with_a_warning(store):
    texts, vectors = store
    with pytest.warns(AttachWarning, match="only 40 documents"):
        made = attach(texts[:40], vectors[:40])
    assert "verdict" in made.provenance


def test_scripts_without_blanks_are_cut_too():
    texts = [f"日本語の文章{i}です。今日は雨{i % 7}が降る" for i in range(300)]
    vectors = np.random.default_rng(0).normal(size=(300, 8))
    with pytest.warns(AttachWarning, match="the loss was not measured"):
        made = attach(texts, vectors)
    assert made.provenance["unknown_words"] < 0.05
    assert np.isfinite(made.encode(texts[:2])).all()


def test_searching_in_chunks_is_searching_at_once():
    generator = np.random.default_rng(0)
    rows = generator.integers(-3, 4, size=(500, 4)).astype(np.float32)  # many ties
    queries = generator.integers(-3, 4, size=(7, 4)).astype(np.float32)
    store = StoredTexts(["x y"] * 500, rows)
    type(store).batch_rows = property(lambda self: 33)
    try:
        found = search(store, queries)
    finally:
        del type(store).batch_rows
    expected = np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(found, expected)


def test_questions_are_sentences_and_always_the_same():
    text = "Too short. This sentence has exactly seven words. " * 3
    assert set(make_questions(text)) == {"This sentence has exactly seven words."}
    assert make_questions("one two") == []
    words = " ".join(map(str, range(100)))
    assert make_questions(words) == [" ".join(map(str, range(40, 60)))]
    one, other = Questions(), Questions()
    texts = [f"This is sentence number {i} of many." for i in range(1000)]
    for i, each in enumerate(texts):
        one.add(i, each)
    for i, each in reversed(list(enumerate(texts))):
        other.add(i, each)
    assert set(one.rows()) == set(other.rows())
    assert len(one) == 300


def test_fusion_by_reciprocal_ranks():
    """By hand: 7 is second and first, 5 first and absent, 9 third and second."""
    found = fuse([np.array([5, 7, 9]), np.array([7, 9, -1])], 10)
    assert found == [7, 9, 5]


def test_the_verdict_follows_the_lower_end_and_the_number_of_documents():
    assert Loss("model", 900, 100, 99, 98, 100).verdict == "use it"
    assert Loss("model", 599, 100, 99, 98, 100).verdict == "use it together with BM25"
    assert Loss("model", 900, 100, 80, 60, 99).verdict == "use it together with BM25"
    assert Loss("model", 900, 100, 80, 10, 90).verdict == "do not use it"
    assert Loss("document", 900, 100, 70, 61, 80).verdict == "use it"


def test_judgements_are_checked(tmp_path):
    queries, relevant = tmp_path / "q.tsv", tmp_path / "r.tsv"
    queries.write_text("1\tfirst\n2\tsecond\n")
    relevant.write_text("1\t3\n1\t4\t0\n2\t5\t1\n")
    store = StoredTexts(list("abcde"), np.eye(5))
    found = read_judgements(queries, relevant, store, 5)
    assert found.named_by == "rows"
    assert found.queries == ["first", "second"]
    assert [list(rows) for rows in found.relevant] == [[2], [4]]
    for text, said in (
        ("3\t1\n", "has no query with the id"),
        ("1\t6\n", "rows 1 to 5"),
        ("1\n", "line 1"),
        ("1\t\n", "line 1: expected"),
        ("1\t2\tmuch\n", "line 1: expected"),
        ("1\t0\n", "no document '0'; the store has rows 1 to 5$"),
        ("1\td7\n", "no document 'd7'; the store has rows 1 to 5$"),
        ("1\t2\t0\n", "no query has a relevant document"),
    ):
        relevant.write_text(text)
        with pytest.raises(InvalidInputError, match=said):
            read_judgements(queries, relevant, store, 5)
    with pytest.raises(InvalidInputError, match=r"id is not a column of ids.*: none"):
        read_judgements(queries, relevant, store, 5, "id")


def judged_by(tmp_path, relevant, id_column=None, **columns):
    """Return the rows of the only query, in a store of five documents with these columns."""
    pa = pytest.importorskip("pyarrow")
    texts = [f"document number {word}" for word in ("one", "two", "three", "four", "five")]
    table = pa.table({"text": texts, "vector": list(np.eye(5, dtype=np.float32)), **columns})
    (tmp_path / "q.tsv").write_text("1\ta query\n")
    (tmp_path / "r.tsv").write_text("".join(f"1\t{name}\n" for name in relevant))
    store = open_store(table)
    found = read_judgements(tmp_path / "q.tsv", tmp_path / "r.tsv", store, 5, id_column)
    return found.named_by, found.relevant[0].tolist()


def test_judgements_name_documents_by_id(tmp_path):
    names = ["d5", "d4", " d3", "d2", None]
    assert judged_by(tmp_path, ["d2", "d3"], doc_id=names) == ("doc_id", [2, 3])
    assert judged_by(tmp_path, ["1", "5"], doc_id=names) == ("rows", [0, 4])
    # A column with another name is only used if it is named.
    assert judged_by(tmp_path, ["d2"], "code", code=names) == ("code", [3])
    with pytest.raises(
        InvalidInputError, match="no document 'd2'; the store has rows 1 to 5; name"
    ):
        judged_by(tmp_path, ["d2"], code=names)
    with pytest.raises(InvalidInputError, match="there is no document '999"):
        judged_by(tmp_path, ["9" * 5000], doc_id=names)
    with pytest.raises(InvalidInputError, match=r"line 2: there is no document 'd9'; .*doc_id"):
        judged_by(tmp_path, ["d2", "d9"], doc_id=names)
    with pytest.raises(InvalidInputError, match=r"'d9'; it is not in the column doc_id$"):
        judged_by(tmp_path, ["d9"], "doc_id", doc_id=names)
    with pytest.raises(InvalidInputError, match=r"x is not a column of ids.*: doc_id"):
        judged_by(tmp_path, ["d2"], "x", doc_id=names)


def test_numbers_that_may_be_rows_or_ids_must_be_chosen(tmp_path):
    """From 1 both mean the same; from 0 they do not, unless one of them cannot be meant."""
    assert judged_by(tmp_path, ["2", "3"], id=[1, 2, 3, 4, 5]) == ("rows", [1, 2])
    from_zero = [0, 1, 2, 3, 4]
    assert judged_by(tmp_path, ["0", "2"], id=from_zero) == ("id", [0, 2])
    assert judged_by(tmp_path, ["5"], id=from_zero) == ("rows", [4])
    with pytest.raises(
        InvalidInputError, match="may be rows of the store, or ids of its column id"
    ):
        judged_by(tmp_path, ["2", "3"], id=from_zero)
    assert judged_by(tmp_path, ["2", "3"], "id", id=from_zero) == ("id", [2, 3])
    assert judged_by(tmp_path, ["2", "3"], "rows", id=from_zero) == ("rows", [1, 2])


def test_ids_that_name_two_documents_are_refused(tmp_path):
    twice = ["a", "b", "a", "c", "c"]
    with pytest.raises(InvalidInputError, match="has 'a' in rows 1 and 3; ids must be unique"):
        judged_by(tmp_path, ["a"], "id", id=twice)
    assert judged_by(tmp_path, ["b"], id=twice) == ("id", [1])


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
    assert json.loads(json.dumps(made.provenance)) == made.provenance


class CountedStore(StoredVectors):
    """Batches of 20 rows; counts how many were read, and how many are in memory at a time."""

    def __init__(self, texts, vectors):
        super().__init__("counted", vectors.shape[1])
        self.texts, self.vectors = texts, vectors
        self.read = self.alive = self.most = 0

    def batches(self):
        for start in range(0, len(self.texts), 20):
            rows = self.vectors[start : start + 20].copy()
            weakref.finalize(rows, self.forget)
            self.read += 1
            self.alive += 1
            self.most = max(self.most, self.alive)
            yield self.texts[start : start + 20], rows
            del rows

    def forget(self):
        self.alive -= 1


def test_memory_does_not_grow_with_the_store(monkeypatch):
    """At most a few batches are held, and of the tokens a sample: the same for twice the store."""
    monkeypatch.setattr("conceptor.evaluation.attached.survey._SAMPLE", 20)
    monkeypatch.setattr("conceptor.evaluation.attached.attaching._TOKENS", 20_000)
    found = []
    for count in (1000, 2000):
        store = CountedStore(*make_store(count, n=8))
        made = attach(store)
        assert store.read >= 3 * count // 20  # several passes over all of them
        assert store.most <= 4
        found.append(made.provenance["documents"])
    # 24 tokens and three sizes of pieces: 277 documents fill the limit, by a hash give or take.
    assert all(100 < documents < 500 for documents in found)
