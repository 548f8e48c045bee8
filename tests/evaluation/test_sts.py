from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from conceptor.base.tokens import tokenize
from conceptor.data import registry as datasets
from conceptor.evaluation.sts import (
    BENCHMARK_FILES,
    FILES,
    SentencePair,
    SentenceSimilarity,
    read_benchmark,
    read_tasks,
)
from conceptor.vectors.table import WordVectors

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
    names = {*FILES, *BENCHMARK_FILES.values()}
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
