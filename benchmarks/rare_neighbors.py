"""Rare words among the nearest words after `cn`, and what a file can do about them.

    python benchmarks/rare_neighbors.py     # writes docs/data/rare-neighbors.json

A remedy changes the directions of the words of GloVe 6B 50d beyond rank 50,000, not their lengths.
They keep all that `cn` removes; or a constant is added to their unit vectors, along the first of
cn's directions on the side of rare words, or along the last: the smallest step that reaches GOAL.
"""

from __future__ import annotations

import argparse

import data_files
import numpy as np
from common import complete_battery, demo, markdown_table, show_interval

from conceptor.base.arrays import row_lengths, unit_rows32
from conceptor.evaluation import PAPER_FAMILIES, Comparison
from conceptor.fit import fit_methods
from conceptor.vectors.search import Nearest

FREQUENT, RARE, NEAR, GOAL = 10_000, 50_000, 10, 5.0
STEPS = np.arange(0.2, 0.81, 0.02, dtype=np.float32)


def rare_share(rows: np.ndarray, every: int = 1) -> float:
    """Return the per cent of rare words among the nearest words of every Nth frequent word."""
    queries = np.arange(0, FREQUENT, every)
    near = Nearest(rows[queries], NEAR + 1)
    for start in range(0, len(rows), RARE):
        near.take(near.look(rows[start : start + RARE], start))
    return 100 * float((near.rows[near.rows != queries[:, np.newaxis]] >= RARE).mean())


def main() -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    table, battery = demo(), complete_battery(PAPER_FAMILIES)
    fitted = fit_methods(table, ["cn"]).methods["cn"]
    mapped = fitted(table.words, table.vectors)
    lengths = row_lengths(mapped)[:, np.newaxis].astype(np.float32)
    is_rare = np.arange(len(mapped))[:, np.newaxis] >= RARE
    restored = unit_rows32(np.where(is_rare, table.vectors, mapped))
    variants = {"original": table.vectors, "`cn`": mapped, "all kept": restored * lengths}
    for name, place in (("first", 0), ("last", -1)):
        direction = fitted.solution.spectrum.vectors[:, place].astype(np.float32)
        direction *= np.sign((restored[RARE:] @ direction).mean())
        for step in STEPS:
            rows = unit_rows32(unit_rows32(mapped) + is_rare * step * direction) * lengths
            if rare_share(rows, 10) <= GOAL:
                break
        variants[f"{step:.2f} along the {name} direction"] = rows
    evaluations = {name: battery.run(table.with_vectors(each)) for name, each in variants.items()}
    compared = Comparison("", evaluations, baseline="`cn`")
    lines = []
    for name, rows in variants.items():
        gains = [compared.gains(family).get(name) for family in PAPER_FAMILIES]
        gains.append(compared.interval(name, ["RW"]))
        shown = [show_interval(gain, 2) if gain else "" for gain in gains]
        lines.append([name, f"{rare_share(rows):.1f}", *shown])
    columns = ["", "rare neighbors, %", "word similarity", "sentence similarity", "categorization"]
    text = markdown_table([*columns, "rare words (RW)"], lines)
    target = data_files.DATA / "rare-neighbors.json"
    command = "python benchmarks/rare_neighbors.py"
    data_files.write(target, f"## GloVe 6B 50d: changes from `cn`\n\n{text}", command)


if __name__ == "__main__":
    main()
