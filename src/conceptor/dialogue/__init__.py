"""Dialogue state tracking on WOZ 2.0: word vectors at work in a neural network.

The modules that need PyTorch are imported where they are used.
"""

from conceptor.dialogue.embedding import Coverage, Embedding
from conceptor.dialogue.goals import JOINT, Accuracy, goal_accuracies, string_match
from conceptor.dialogue.options import Confirm, Options, Start, Update
from conceptor.dialogue.woz import SLOTS, Corpus, Turn, load, read_dialogues

__all__ = [
    "JOINT",
    "SLOTS",
    "Accuracy",
    "Confirm",
    "Corpus",
    "Coverage",
    "Embedding",
    "Options",
    "Start",
    "Turn",
    "Update",
    "goal_accuracies",
    "load",
    "read_dialogues",
    "string_match",
]
