"""Dialogue state tracking on WOZ 2.0: word vectors as the input of a neural network.

Modules that need PyTorch are imported only where they are used.
"""

from conceptor.paper.dialogue.embedding import Coverage, Embedding
from conceptor.paper.dialogue.goals import JOINT, GoalAccuracy, goal_accuracies, string_match
from conceptor.paper.dialogue.options import Confirm, Initialization, TrackerOptions, Update
from conceptor.paper.dialogue.woz import SLOTS, Corpus, Turn, load_corpus, read_dialogues

__all__ = [
    "JOINT",
    "SLOTS",
    "Confirm",
    "Corpus",
    "Coverage",
    "Embedding",
    "GoalAccuracy",
    "Initialization",
    "TrackerOptions",
    "Turn",
    "Update",
    "goal_accuracies",
    "load_corpus",
    "read_dialogues",
    "string_match",
]
