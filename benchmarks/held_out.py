"""Which benchmarks were kept out of every choice (weights, centring, aperture, sentences).

Settled before anything was chosen: 13 of 30 datasets.
"""

from __future__ import annotations

HELD_OUT_SIMILARITY = ("RW", "MTurk", "SimVerb")
HELD_OUT_YEARS = ("2013", "2015")
HELD_OUT_OTHERS = ("SICK", "BM")


def held_out(dataset: str) -> bool:
    return (
        dataset in HELD_OUT_SIMILARITY
        or dataset in HELD_OUT_OTHERS
        or dataset.split("/")[0] in HELD_OUT_YEARS
    )


PARTS = {
    "all": lambda dataset: True,
    "used to choose": lambda dataset: not held_out(dataset),
    "held out": held_out,
}
