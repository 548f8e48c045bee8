"""BM25 on the retrieval collections, to compare with averages of word vectors.

    python benchmarks/bm25.py

Needs bm25s. Tokens are the same as in the other tasks; there is no stemming, and no word is left
out.
"""

from __future__ import annotations

import bm25s
import numpy as np

from conceptor.base.tokens import tokenize
from conceptor.data import registry
from conceptor.evaluation.retrieval import FILES, average_precision, ndcg, read_retrieval


def main() -> None:
    for dataset, names in FILES.items():
        paths = {name: registry.fetch(name) for name in names}
        collection = read_retrieval(dataset, paths)[0].collection
        index = bm25s.BM25()
        index.index([tokenize(text) for text in collection.documents], show_progress=False)
        hits = []
        for query, relevant in zip(collection.queries, collection.relevant, strict=True):
            order = np.argsort(-index.get_scores(tokenize(query)), kind="stable")
            hits.append(np.isin(order, relevant))
        gain, precision = (
            100 * np.mean([score(each) for each in hits]) for score in (ndcg, average_precision)
        )
        print(f"{dataset}: nDCG@10 {gain:.2f}, MAP {precision:.2f}")


if __name__ == "__main__":
    main()
