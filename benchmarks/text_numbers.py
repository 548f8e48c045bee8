"""Which library reads and writes text vectors fastest, and which do it exactly.

    python benchmarks/text_numbers.py

It reads and writes 20,000 × 300 numbers with each candidate. Times are processor seconds, best of
three, because some use several processors. "wrong" counts numbers that are not the nearest float32
of their text (for writers: that read back as another float32). Needs polars, pyarrow and pandas.
"""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv

from conceptor.vectors import open_vectors, write_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, DIMENSION = 20_000, 300


def cost(function: Callable[[], object]) -> tuple[float, float, object]:
    best = (float("inf"), float("inf"))
    result: object = None
    for _ in range(3):
        wall, processor = time.perf_counter(), time.process_time()
        result = function()
        best = min(best, (time.process_time() - processor, time.perf_counter() - wall))
    return *best, result


def readers(path: Path) -> dict[str, Callable[[], np.ndarray]]:
    names = ["w", *(f"c{i}" for i in range(DIMENSION))]
    floats = {name: pyarrow.float32() for name in names[1:]}

    def with_polars() -> np.ndarray:
        schema = {name: polars.Float32 if name != "w" else polars.String for name in names}
        frame = polars.read_csv(
            path, separator=" ", has_header=False, schema=schema, quote_char=None
        )
        return frame.drop("w").to_numpy()

    def with_arrow() -> np.ndarray:
        table = pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(column_names=names),
            parse_options=pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types=floats),
        )
        return np.stack([table[name].to_numpy() for name in names[1:]], axis=1)

    def with_pandas() -> np.ndarray:
        frame = pandas.read_csv(
            path,
            sep=" ",
            header=None,
            quoting=3,
            na_filter=False,
            dtype=dict.fromkeys(range(1, 301), "f4"),
        )
        return frame.iloc[:, 1:].to_numpy()

    def with_python() -> np.ndarray:
        with path.open(encoding="utf-8") as file:
            return np.array([line.split(" ")[1:] for line in file], dtype=np.float32)

    return {
        "conceptor": lambda: open_vectors(path).to_array(),
        "Polars": with_polars,
        "Arrow": with_arrow,
        "pandas": with_pandas,
        "Python and NumPy": with_python,
    }


def writers(folder: Path, words: list[str], X: np.ndarray) -> dict[str, Callable[[], bytes]]:
    target = folder / "o.txt"
    columns = {"w": words, **{f"c{i}": X[:, i] for i in range(DIMENSION)}}

    def ours() -> bytes:
        write_vectors(target, [(words, X)], force=True)
        return target.read_bytes()

    def with_polars() -> bytes:
        polars.DataFrame(columns).write_csv(
            target, separator=" ", include_header=False, quote_style="never"
        )
        return target.read_bytes()

    def with_arrow() -> bytes:
        options = pyarrow.csv.WriteOptions(
            include_header=False, delimiter=" ", quoting_style="none"
        )
        pyarrow.csv.write_csv(pyarrow.table(columns), target, options)
        return target.read_bytes()

    def with_numpy() -> bytes:
        out = io.BytesIO()
        np.savetxt(out, X, fmt="%.9g")
        return out.getvalue()

    def with_python() -> bytes:
        lines = (f"{w} {' '.join(map(str, row))}\n" for w, row in zip(words, X, strict=True))
        target.write_text("".join(lines), encoding="utf-8")
        return target.read_bytes()

    return {
        "conceptor": ours,
        "Polars": with_polars,
        "Arrow": with_arrow,
        "numpy.savetxt %.9g": with_numpy,
        "Python str": with_python,
    }


def main() -> None:
    rng = np.random.default_rng(0)
    X = (0.3 * rng.standard_normal((ROWS, DIMENSION))).astype(np.float32)
    words = [f"w{i}" for i in range(ROWS)]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "x.txt")
        write_vectors(path, [(words, X)])
        size = path.stat().st_size
        print("| reading | processor s | seconds | MB/processor s | wrong |")
        print("|---|---|---|---|---|")
        for reader, function in readers(path).items():
            processor, wall, got = cost(function)
            wrong = int((np.asarray(got).view(np.int32) != X.view(np.int32)).sum())
            rate = size / processor / 1e6
            print(f"| {reader} | {processor:.2f} | {wall:.2f} | {rate:.0f} | {wrong} |")
        print(
            "\n| writing | processor s | seconds | bytes a number | wrong |\n|---|---|---|---|---|"
        )
        for writer, function in writers(Path(name), words, X).items():
            processor, wall, data = cost(function)
            assert isinstance(data, bytes)
            fields = data.split()
            texts = (
                fields if len(fields) == X.size else [f for f in fields if not f.startswith(b"w")]
            )
            back = np.array([float(text) for text in texts]).astype(np.float32).reshape(X.shape)
            wrong = int((back.view(np.int32) != X.view(np.int32)).sum())
            print(
                f"| {writer} | {processor:.2f} | {wall:.2f} | {len(data) / X.size:.1f} | {wrong} |"
            )


if __name__ == "__main__":
    main()
