"""Comparing methods: on words, on texts, on sentences, in dialogue, and with the paper."""

from conceptor.evaluation.compare.door import compare
from conceptor.evaluation.compare.texts import TextComparison
from conceptor.evaluation.compare.words import Comparison

__all__ = ["Comparison", "TextComparison", "compare"]
