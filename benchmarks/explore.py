"""How fast `conceptor explore` answers while its slider is dragged.

    python benchmarks/explore.py latency [VECTORS]

Each request has a new aperture: the neighbors of one word before and after, the gate and spectrum,
and the map. Frequent words are requested more often. By default over GloVe 6B 50d (400,000 × 50).
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np
from common import demo, markdown_table

from conceptor.explore.session import Session, Settings

REQUESTS = 200


def measure(vectors: object, requests: int = REQUESTS) -> str:
    """Return a table of the milliseconds of each kind of answer."""
    started = time.perf_counter()
    session = Session(vectors, methods=["cn"])
    ready = time.perf_counter() - started
    slider = session.solve(session.default)["slider"]
    words, chance = session.table.words, random.Random(0)
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(requests):
        value = slider.least * (slider.most / slider.least) ** chance.random()
        settings = Settings("cn", value=value)
        word = words[int(len(words) ** chance.random()) - 1]
        answers = {
            "gate and spectrum": lambda: session.solve(settings),  # noqa: B023
            "map": lambda: session.points(settings),  # noqa: B023
            "neighbors before and after": lambda: session.neighbors(settings, [word]),  # noqa: B023
        }
        for name, answer in answers.items():
            before = time.perf_counter(), time.process_time()
            answer()
            spent = time.perf_counter() - before[0], time.process_time() - before[1]
            times.setdefault(name, []).append(spent)
    rows = []
    for name, each in times.items():
        wall, cpu = np.percentile(np.array(each), [50, 95], axis=0).T * 1000
        rows.append([name, *(f"{number:.0f}" for number in (*wall, *cpu))])
    shape = f"{len(words):,} × {session.table.vectors.dimension}"
    print(f"{session.table.name}, {shape}: ready after {ready:.1f} s")
    return markdown_table(["ms", "median", "95th percentile", "CPU, median", "CPU, 95th"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["latency"])
    parser.add_argument("vectors", nargs="?")
    print(measure(parser.parse_args().vectors or demo()))
