"""Methods side by side: on words, on sentences, in dialogue, and beside the paper."""

from conceptor.comparing.words import Comparison, compare

__all__ = ["Comparison", "compare"]
