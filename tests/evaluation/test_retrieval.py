from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from conceptor.evaluation.retrieval import FILES, average_precision, ndcg, read_retrieval
from conceptor.vectors.table import WordVectors


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
    return dict(zip(FILES["Cranfield"], (documents, queries, judged), strict=True))


def test_documents_are_ranked_by_cosine_and_queries_numbered_in_order(tmp_path):
    # Only the second query finds its document first; the third has none that is relevant.
    gain, precision = read_retrieval("Cranfield", collection(tmp_path, "1 1 2\n2 1 3\n3 3 -1\n"))
    assert list(gain.collection.queries) == ["dog ?", "cat"]
    assert gain.collection.documents[0] == "a cat sat down"
    vectors = WordVectors(["dog", "cat", "fish"], np.array([[1.0, 0.2], [0.1, 1], [-1, 0]]))
    assert gain.score(vectors).score == pytest.approx(100 * (1 / np.log2(3) + 1) / 2)
    assert precision.score(vectors).score == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert not precision.score(vectors).in_mean
