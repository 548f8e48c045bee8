"""Benchmarks of texts: their files, and scores against plain loops and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.preprocessing import StandardScaler

from conceptor.data import registry as datasets
from conceptor.evaluation.text_tasks import (
    BENCHMARK_FILES,
    CLASSIFICATION_FILES,
    RETRIEVAL_FILES,
    STS_FILES,
    SentencePair,
    SentenceSimilarity,
    average_precision,
    ndcg,
    read_benchmark,
    read_classification,
    read_retrieval,
    read_tasks,
)
from conceptor.vectors.table import WordVectors
from conceptor.vectors.tokenizer import tokenize

PAIR_COUNTS = {
    "2012/MSRpar": 1500, "2012/MSRvid": 1500, "2012/OnWN": 750, "2012/SMTeuroparl": 1193,
    "2012/SMTnews": 399, "2013/FNWN": 189, "2013/OnWN": 561, "2013/headlines": 750,
    "2014/OnWN": 750, "2014/deft-forum": 450, "2014/deft-news": 300, "2014/headlines": 750,
    "2014/images": 750, "2014/tweet-news": 750, "2015/answers-forums": 375,
    "2015/answers-students": 750, "2015/belief": 375, "2015/headlines": 750, "2015/images": 750,
    "SICK": 4927,
}  # fmt: skip


@pytest.fixture(scope="module")
def paths(data):
    names = {*STS_FILES, *BENCHMARK_FILES.values()}
    return {name: datasets.fetch(name, data, offline=True) for name in names}


@pytest.fixture(scope="module")
def tasks(paths):
    return {task.dataset: task for task in read_tasks(paths)}


def test_there_are_twenty_tasks_of_the_right_size(tasks):
    assert {name: len(task.pairs) for name, task in tasks.items()} == PAIR_COUNTS


def test_pairs_are_read_as_they_stand(tasks):
    assert tasks["2012/MSRvid"].pairs[0] == (
        "A plane is taking off.",
        "An air plane is taking off.",
        5,
    )
    # Quotation marks are characters like others, rows without a score are unlabelled.
    assert tasks["2015/answers-students"].pairs[0] == (
        '"The electrical state at the terminal matches the battery""s electrical state"',
        "terminal 1 is connected to the negative battery terminal",
        1.8,
    )
    assert tasks["2012/OnWN"].pairs[0].left == "render one language in another language"
    assert tasks["SICK"].pairs[-1].right.isprintable()
    assert all(0 <= pair.gold <= 5 for task in tasks.values() for pair in task.pairs)


def test_a_task_is_never_made_from_a_part_of_its_files_and_splits_are_whole_files(paths):
    some = {name: path for name, path in paths.items() if name != "sts/sts-mt.csv"}
    assert [task.dataset for task in read_tasks(some)] == ["2015/answers-students", "SICK"]
    assert read_tasks({}) == []
    sizes = [len(read_benchmark(name, paths[file]).pairs) for name, file in BENCHMARK_FILES.items()]
    assert sizes == [1500, 1379]


@pytest.mark.parametrize("name", ["2013/FNWN", "2014/deft-news", "2015/belief"])
def test_scores_equal_a_plain_loop(name, tasks, glove):
    task = tasks[name]
    cosines = []
    for pair in task.pairs:
        sides = []
        for sentence in (pair.left, pair.right):
            rows = [glove.rows([token])[0] for token in tokenize(sentence) if token in glove]
            sides.append(glove.vectors[rows].astype(float).mean(axis=0) if rows else np.zeros(50))
        a, b = sides
        size = np.sqrt((a @ a) * (b @ b))
        cosines.append(a @ b / size if size else 0.0)
    expected = 100 * pearsonr(cosines, [pair.gold for pair in task.pairs])[0]
    assert task.score(glove).score == pytest.approx(expected, abs=1e-9)


def test_a_sentence_without_a_known_token_counts_as_cosine_zero_and_not_as_used():
    vectors = WordVectors(["cat", "dog"], np.array([[1.0, 0.0], [1.0, 1.0]]))
    pairs = [
        SentencePair("The cat!", "A dog.", 4.0),
        SentencePair("cat cat dog", "dog", 5.0),
        SentencePair("zebra", "cat", 1.0),
        SentencePair("1 2 3", "", 0.5),
    ]
    outcome = SentenceSimilarity("toy", pairs).score(vectors)
    assert (outcome.used, outcome.total) == (2, 4)
    predicted = outcome.statistic.predicted
    assert predicted == pytest.approx([0.5**0.5, 4 / (10**0.5 * 2**0.5), 0.0, 0.0])


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("A man is playing a flute.", ["a", "man", "is", "playing", "a", "flute"]),
        ("It's John's, isn't it?", ["it", "'s", "john", "'s", "is", "n't", "it"]),
        (
            "They’re well-known; we'll cannot",
            ["they", "'re", "well-known", "we", "'ll", "can", "not"],
        ),
        ("O'Neill left the U.S. in 1999", ["o'neill", "left", "the", "u.s.", "in"]),
        ("up 3.5% (to 12,000)...and so on", ["up", "to", "and", "so", "on"]),
        ("and/or <.SPX> a--b", ["and/or", ".spx", "a", "b"]),
        ("Ünïcode naïve 中文", ["ünïcode", "naïve"]),
        ("", []),
    ],
)
def test_tokens(sentence, tokens):
    assert tokenize(sentence) == tokens


def test_tokens_agree_with_nltk(tasks):
    tokenizer = pytest.importorskip("nltk.tokenize", reason="needs nltk").NLTKWordTokenizer()
    same = total = 0
    for task in tasks.values():
        for pair in task.pairs[::3]:
            for sentence in pair[:2]:
                # Single sentences only: NLTK splits text into sentences by a trained model first.
                if sentence.count(". ") == 0:
                    theirs = [t.lower() for t in tokenizer.tokenize(sentence.replace("’", "'"))]
                    same += [t for t in theirs if t.islower()] == tokenize(sentence)
                    total += 1
    assert total > 10_000
    assert same / total > 0.98


@given(st.lists(st.booleans(), min_size=11, max_size=40).filter(any))
def test_measures_are_those_of_scikit_learn(relevant):
    hits = np.array(relevant)
    ranking = -np.arange(len(hits), dtype=float)
    assert ndcg(hits) == pytest.approx(ndcg_score([hits.astype(int)], [ranking], k=10))
    assert average_precision(hits) == pytest.approx(average_precision_score(hits, ranking))


def collection(folder, judgements):
    documents, queries, judged = (folder / name for name in ("all", "qry", "rel"))
    documents.write_text(
        ".I 1\n.T\ncats\n.W\na cat\nsat down\n.I 2\n.T\ndogs\n.W\nsome dog barks\n.I 3\n.W\nfish\n"
    )
    queries.write_text(".I 001\n.W\ndog ?\n.I 7\n.W\ncat\n.I 9\n.W\nfish\n")
    judged.write_text(judgements)
    return dict(zip(RETRIEVAL_FILES["Cranfield"], (documents, queries, judged), strict=True))


def test_documents_are_ranked_by_cosine_and_queries_numbered_in_order(tmp_path):
    # Only the second query finds its document first; the third has none that is relevant.
    gain, precision = read_retrieval("Cranfield", collection(tmp_path, "1 1 2\n2 1 3\n3 3 -1\n"))
    assert list(gain.collection.queries) == ["dog ?", "cat"]
    assert gain.collection.documents[0] == "a cat sat down"
    vectors = WordVectors(["dog", "cat", "fish"], np.array([[1.0, 0.2], [0.1, 1], [-1, 0]]))
    assert gain.score(vectors).score == pytest.approx(100 * (1 / np.log2(3) + 1) / 2)
    assert precision.score(vectors).score == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert not precision.score(vectors).in_mean


def write(folder, dataset, *parts):
    paths = {}
    for name, lines in zip(CLASSIFICATION_FILES[dataset], parts, strict=True):
        paths[name] = folder / name.replace("/", "-")
        paths[name].write_bytes("\n".join(lines).encode("latin-1"))
    return paths


def texts(rng, count):
    """Texts of three words, of which the first tells the class more often than not."""
    lines = []
    for _ in range(count):
        label = int(rng.integers(2))
        told = label if rng.random() < 0.8 else 1 - label
        lines.append(f"{label} {'good' if told else 'bad'} w{rng.integers(5)} café")
    return lines


@pytest.fixture
def vectors(rng):
    words = ["good", "bad", "café", *(f"w{i}" for i in range(5))]
    return WordVectors(words, rng.normal(size=(len(words), 6)))


def test_ten_folds_test_every_text_once(tmp_path, rng, vectors):
    task = read_classification("CR", write(tmp_path, "CR", texts(rng, 300)))
    outcome = task.score(vectors)
    assert (outcome.used, outcome.total) == (300, 300)
    both = zip(task.sentences, task.labels, strict=True)
    told = [("good" in text) == bool(label) for text, label in both]
    assert outcome.score == pytest.approx(100 * np.mean(told), abs=3)


def test_a_test_file_is_scored_as_scikit_learn_does(tmp_path, rng, vectors):
    paths = write(tmp_path, "SST-2", texts(rng, 200), texts(rng, 60), texts(rng, 90))
    task = read_classification("SST-2", paths)
    made, _ = task.texts.averages(vectors)
    train, choose, test = (task.part == part for part in range(3))
    scaled = StandardScaler().fit(made[train]).transform(made)

    def fit(rows, strength):
        return LogisticRegression(C=strength, tol=1e-6).fit(scaled[rows], task.labels[rows])

    best = max(
        (0.01, 0.1, 1.0), key=lambda c: fit(train, c).score(scaled[choose], task.labels[choose])
    )
    expected = fit(train | choose, best).score(scaled[test], task.labels[test])
    outcome = task.score(vectors)
    assert outcome.score == pytest.approx(100 * expected)
    assert outcome.total == 90
