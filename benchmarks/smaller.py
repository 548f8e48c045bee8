"""Fewer dimensions and smaller numbers: what they cost, in Markdown for docs/data/smaller.json.

    python benchmarks/smaller.py KEPT.json

Needs the demo extra, model2vec, and $CONCEPTOR_DATA with the benchmark files. Figures are kept in
KEPT.json as they are measured, so that an interrupted run is continued.

Rivals: plain PCA (`abtt:n_directions=0:n_components=N`, fitted on common words), and what model2vec
does with the vectors of a distilled model, by its own functions: PCA of all words, SIF weights by
rank, and bytes with one scale for all. It has no bits; these are ours.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from model2vec.distill.inference import apply_pca, compute_weights
from model2vec.quantization import DType, quantize_embeddings

from conceptor.base.files import replace_atomically
from conceptor.data import registry as datasets
from conceptor.evaluation import Battery, load_battery
from conceptor.fitting import FitOptions, fit_methods
from conceptor.vectors import WordVectors, open_vectors
from conceptor.vectors.formats.encoding import Encoding
from conceptor.vectors.search import Nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

FAMILIES = ("similarity", "sts", "neighbours")
DTYPES = ("float32", "int8", "binary")
OURS = {
    "original": "original",
    "PCA": "abtt:n_directions=0:n_components={}",
    "`cn`": "cn:n_components={}",
    "`cn`, for sentences": "cn:n_components={}+sif",
}
MODEL2VEC = "model2vec's recipe"
_SIF = 1e-4  # model2vec's default
_QUERIES, _NEAR = 500, 10


def vectors() -> Iterator[tuple[str, WordVectors, tuple[int, ...]]]:
    """Yield each set of vectors and the dimensions it is reduced to, the first its own."""
    news = open_vectors(datasets.fetch("vectors/googlenews-26k.bin"))
    yield "Google News 26k, 300 dimensions", WordVectors(*news.read()), (300, 128, 64)
    yield "GloVe 6B, 50 dimensions", WordVectors(*datasets.demo_vectors()), (50, 32, 16)


def reduced(table: WordVectors, name: str, size: int) -> NDArray[np.float32]:
    """Return all vectors as a method leaves them."""
    if name == MODEL2VEC:
        weights = compute_weights(len(table), _SIF)[:, np.newaxis]
        return (apply_pca(table.vectors, size) * weights).astype(np.float32)
    whole = size == table.dimension and name.startswith("`cn`")
    method = OURS[name].replace(":n_components={}", "") if whole else OURS[name].format(size)
    fitted = fit_methods(table, [method], FitOptions()).methods[method]
    return np.concatenate([fitted(words, rows) for words, rows in table.chunks()])


def stored(rows: NDArray[np.float32], name: str, dtype: str) -> NDArray[np.float32]:
    """Return vectors as they are read back from a file."""
    if dtype == "int8" and name == MODEL2VEC:
        return quantize_embeddings(rows, DType.Int8).astype(np.float32)
    if dtype == "float32":
        return rows
    encoding = Encoding(dtype, rows.shape[1])
    return encoding.decode(*encoding.encode(rows))


def nearest(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the nearest rows to some of the first 20,000, each query's own among them."""
    asked = np.random.default_rng(0).permutation(min(20_000, len(rows)))[:_QUERIES]
    found = Nearest(rows[asked], _NEAR + 1)
    found.take(found.look(rows, 0))
    return found.rows


def measure(
    table: WordVectors, rows: NDArray[np.float32], near: NDArray[np.int64], battery: Battery
) -> dict[str, float]:
    """Return the means of the families, and the share of `near` that is still near."""
    means = battery.run(table.with_vectors(rows)).means()
    pairs = zip(nearest(rows).tolist(), near.tolist(), strict=True)
    same = [(len({*now} & {*before}) - 1) / _NEAR for now, before in pairs]
    return {family: means[family] for family in FAMILIES} | {"same": 100 * float(np.mean(same))}


def run(kept: Path) -> dict[str, Any]:
    """Measure what is not yet in `kept`; return everything."""
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    battery = load_battery(FAMILIES)
    if battery.missing:
        sys.exit(f"these files are missing: {', '.join(battery.missing)}")
    battery = Battery([task for task in battery.tasks if getattr(task, "in_mean", True)])
    for title, table, sizes in vectors():
        cells = found.setdefault(title, {})
        for name in (*OURS, MODEL2VEC):
            near = None
            for size in sizes if name != "original" else sizes[:1]:
                missing = [dtype for dtype in DTYPES if f"{name}, {size}, {dtype}" not in cells]
                if not missing:
                    continue
                rows = reduced(table, name, size)
                if near is None:  # of the method's own vectors before anything is left out
                    whole = rows if size == sizes[0] else reduced(table, name, sizes[0])
                    near = nearest(whole)
                for dtype in missing:
                    small = stored(rows, name, dtype)
                    cells[f"{name}, {size}, {dtype}"] = measure(table, small, near, battery)
                    with replace_atomically(kept) as beside:
                        beside.write_text(json.dumps(found, indent=1), encoding="utf-8")
                    print(title, name, size, dtype, cells[f"{name}, {size}, {dtype}"], flush=True)
    return found


def markdown(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for each set of vectors; each cell has the figures of `DTYPES`."""
    for title, cells in found.items():
        yield f"### {title}\n"
        yield "| | dimensions | similarity | STS | neighbours | same neighbours |"
        yield "|---|---:|---:|---:|---:|---:|"
        for key in dict.fromkeys(key.rpartition(", ")[0] for key in cells):
            rows = [cells[f"{key}, {dtype}"] for dtype in DTYPES]
            figures = [
                " / ".join(f"{row[each]:.1f}" for row in rows) for each in (*FAMILIES, "same")
            ]
            name, _, size = key.rpartition(", ")
            yield f"| {' | '.join([name, size, *figures])} |"
        yield ""


if __name__ == "__main__":
    print("\n".join(markdown(run(Path(sys.argv[1])))))
