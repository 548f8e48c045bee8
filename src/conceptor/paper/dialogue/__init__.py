"""Dialogue state tracking on WOZ 2.0: word vectors as the input of a neural network.

Modules that need PyTorch are imported only where they are used.
"""

from conceptor.paper.dialogue.woz import load_corpus

__all__ = ["load_corpus"]
