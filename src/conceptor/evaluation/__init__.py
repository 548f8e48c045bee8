"""Benchmarks for word vectors from any source."""

from conceptor.evaluation.battery import FAMILIES, PAPER_FAMILIES, Battery, evaluate, load_battery
from conceptor.evaluation.result import Evaluation, Row
from conceptor.evaluation.task import Missing, Outcome, Task
from conceptor.vectors.table import WordVectors

__all__ = [
    "FAMILIES",
    "PAPER_FAMILIES",
    "Battery",
    "Evaluation",
    "Missing",
    "Outcome",
    "Row",
    "Task",
    "WordVectors",
    "evaluate",
    "load_battery",
]
