"""Comparing methods: on words, on sentences, in dialogue, and with the paper."""

from conceptor.evaluation.compare.words import Comparison, compare

__all__ = ["Comparison", "compare"]
