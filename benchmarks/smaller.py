"""The cost of fewer dimensions and smaller numbers, in Markdown for docs/data/smaller.json.

    python benchmarks/smaller.py KEPT.json

Needs the demo extra, model2vec's `distill` (as static_models.py does), and $CONCEPTOR_DATA. Figures
are kept in KEPT.json as they are measured, so that an interrupted run can be continued.

Other methods: plain PCA (`abtt:n_directions=0:n_components=N`, fitted on common words), and
model2vec's own functions for the vectors of a distilled model: PCA of all words, SIF weights by
rank, and bytes with one scale for all. It has no bits; for those we use ours.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from common import complete_battery, demo, google_news, markdown_table

from conceptor.base.files import replace_atomically
from conceptor.evaluation import Battery
from conceptor.fit import fit_methods
from conceptor.vectors.formats.encoding import Encoding
from conceptor.vectors.search import Nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conceptor.vectors.table import WordVectors

FAMILIES = ("similarity", "sts", "synonyms")
DTYPES = ("float32", "int8", "binary")
OURS = {
    "original": "original",
    "PCA": "abtt:n_directions=0:n_components={}",
    "`cn`": "cn:n_components={}",
}
MODEL2VEC = "model2vec's recipe"
METHODS = (*OURS, MODEL2VEC)
# Vectors, and the dimensions to reduce them to, starting with their own.
SETS = {
    "Google News 26k, 300 dimensions": (google_news, (300, 128, 64)),
    "GloVe 6B, 50 dimensions": (demo, (50, 32, 16)),
}
_SIF = 1e-4  # model2vec's default
_QUERIES, _NEAR = 500, 10


def reduced(table: WordVectors, name: str, size: int) -> NDArray[np.float32]:
    """Return all vectors after a method."""
    if name == MODEL2VEC:
        from model2vec.distill.inference import apply_pca, compute_weights

        weights = compute_weights(len(table), _SIF)[:, np.newaxis]
        return (apply_pca(table.vectors, size) * weights).astype(np.float32)
    is_whole = size == table.dimension and name == "`cn`"
    method = "cn" if is_whole else OURS[name].format(size)
    return fit_methods(table, [method]).methods[method](table.words, table.vectors)


def stored(rows: NDArray[np.float32], name: str, dtype: str) -> NDArray[np.float32]:
    """Return vectors after writing them to a file and reading them back."""
    if dtype == "int8" and name == MODEL2VEC:
        from model2vec.quantization import DType, quantize_embeddings

        return quantize_embeddings(rows, DType.Int8).astype(np.float32)
    if dtype == "float32":
        return rows
    encoding = Encoding(dtype, rows.shape[1])
    return encoding.decode(*encoding.encode(rows))


def nearest(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the nearest rows to 500 of the first 20,000, including the query itself."""
    queries = np.random.default_rng(0).permutation(min(20_000, len(rows)))[:_QUERIES]
    search = Nearest(rows[queries], _NEAR + 1)
    search.take(search.look(rows, 0))
    return search.rows


def measure(
    table: WordVectors, rows: NDArray[np.float32], near: NDArray[np.int64], battery: Battery
) -> dict[str, float]:
    """Return the means of the families, and the share of `near` that is still near."""
    means = battery.run(table.with_vectors(rows)).means()
    pairs = zip(nearest(rows).tolist(), near.tolist(), strict=True)
    same = [(len({*now} & {*before}) - 1) / _NEAR for now, before in pairs]
    return {family: means[family] for family in FAMILIES} | {"same": 100 * float(np.mean(same))}


def run(path: Path) -> dict[str, Any]:
    """Measure the figures that are not yet in the file; return all."""
    figures: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    every = complete_battery(FAMILIES)
    battery = Battery([task for task in every.tasks if task.in_mean])
    for title, (read, sizes) in SETS.items():
        table, cells = read(), figures.setdefault(title, {})
        for name in METHODS:
            near = None
            for size in sizes if name != "original" else sizes[:1]:
                missing = [dtype for dtype in DTYPES if f"{name}, {size}, {dtype}" not in cells]
                if not missing:
                    continue
                rows = reduced(table, name, size)
                if near is None:  # of the method's own vectors, before any reduction
                    near = nearest(rows if size == sizes[0] else reduced(table, name, sizes[0]))
                for dtype in missing:
                    small = stored(rows, name, dtype)
                    cells[f"{name}, {size}, {dtype}"] = measure(table, small, near, battery)
                    with replace_atomically(path) as beside:
                        beside.write_text(json.dumps(figures, indent=1), encoding="utf-8")
                    print(title, name, size, dtype, cells[f"{name}, {size}, {dtype}"], flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kept", type=Path)
    columns = ["", "dimensions", "similarity", "STS", "synonyms", "same neighbors"]
    for title, cells in run(parser.parse_args().kept).items():
        rows = []
        for key in dict.fromkeys(key.rpartition(", ")[0] for key in cells):
            parts = [cells[f"{key}, {dtype}"] for dtype in DTYPES]
            figures = [" / ".join(f"{p[each]:.1f}" for p in parts) for each in (*FAMILIES, "same")]
            name, _, size = key.rpartition(", ")
            rows.append([name, size, *figures])
        print(f"### {title}\n\n{markdown_table(columns, rows)}\n")


if __name__ == "__main__":
    main()
