"""Benchmarks for vectors from any source, and comparisons of methods."""

from conceptor.evaluation.battery import FAMILIES, PAPER_FAMILIES, Battery, evaluate, load_battery
from conceptor.evaluation.comparison import Comparison, compare
from conceptor.evaluation.task import Evaluation, Outcome, Row, Task
from conceptor.evaluation.text_comparison import TextComparison

__all__ = [
    "FAMILIES",
    "PAPER_FAMILIES",
    "Battery",
    "Comparison",
    "Evaluation",
    "Outcome",
    "Row",
    "Task",
    "TextComparison",
    "compare",
    "evaluate",
    "load_battery",
]
