"""BM25 on the retrieval collections, to compare with averages of word vectors.

    python benchmarks/bm25.py

Needs bm25s. Tokens are the same as in the other tasks; there is no stemming, and no word is left
out.
"""

from __future__ import annotations

import bm25s
import numpy as np

from conceptor.data import registry as datasets
from conceptor.evaluation.retrieval import FILES, average_precision, ndcg, read_retrieval


def main() -> None:
    for dataset, names in FILES.items():
        paths = {name: datasets.fetch(name) for name in names}
        collection = read_retrieval(dataset, paths)[0].collection
        count = len(collection.documents)
        tokens = collection.texts.tokens
        index = bm25s.BM25()
        index.index(tokens[:count], show_progress=False)
        hits = []
        for query, relevant in zip(tokens[count:], collection.relevant, strict=True):
            order = np.argsort(-index.get_scores(query), kind="stable")
            hits.append(np.isin(order, relevant))
        scores = [
            100 * np.mean([score(each) for each in hits]) for score in (ndcg, average_precision)
        ]
        print(f"{dataset}: nDCG@10 {scores[0]:.2f}, MAP {scores[1]:.2f}")


if __name__ == "__main__":
    main()
