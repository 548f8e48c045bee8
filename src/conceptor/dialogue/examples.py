"""Turns as tensors: what the tracker of a slot sees, and the classes before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from conceptor.dialogue.tracker import Utterances
from conceptor.dialogue.woz import LONGEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from conceptor.dialogue.embedding import Embedding
    from conceptor.dialogue.woz import Turn

__all__ = ["Examples", "WordTable"]


@dataclass(eq=False)
class WordTable:
    """Table rows for the words met so far; row 0 is padding."""

    embedding: Embedding
    _rows: dict[str, int] = field(default_factory=dict, repr=False)

    def row(self, word: str) -> int:
        """Return the word's row, a new one for a new word."""
        return self._rows.setdefault(word, len(self._rows) + 1)

    def tensor(self) -> Tensor:
        """Return the vectors of all words met so far."""
        vectors = self.embedding.table(list(self._rows))
        return torch.from_numpy(np.pad(vectors, ((1, 0), (0, 0))))


@dataclass(frozen=True, eq=False)
class Examples:
    """Turns as examples for one slot.

    Attributes
    ----------
    turns : Utterances
    before, after : int64 tensors of shape (turns,)
        Classes of the gold state; a value outside the ontology counts as none.
    """

    turns: Utterances
    before: Tensor
    after: Tensor

    def __len__(self) -> int:
        return len(self.turns)

    @classmethod
    def from_turns(
        cls, turns: Sequence[Turn], slot: str, values: Sequence[str], table: WordTable
    ) -> Examples:
        """Return these turns as the tracker of a slot sees them."""
        classes = {value: number for number, value in enumerate(values)}
        none = len(values)
        words = np.zeros((len(turns), LONGEST), dtype=np.int64)
        gates = np.zeros(len(turns), dtype=np.float32)
        confirmed = np.zeros((len(turns), none), dtype=np.float32)
        embedding = table.embedding
        own = embedding.phrase_vector(slot)
        for i, turn in enumerate(turns):
            said = [table.row(word) for word in turn.tokens]
            words[i, : len(said)] = said
            if turn.requested:
                asked = sum(embedding.phrase_vector(other) for other in turn.requested)
                gates[i] = np.mean(own * asked)
            for other, value in turn.confirmed:
                if other == slot and value in classes:
                    confirmed[i, classes[value]] = 1

        def states(goals: Sequence[Mapping[str, str] | None]) -> Tensor:
            return torch.tensor([classes.get((g or {}).get(slot, ""), none) for g in goals])

        return cls(
            Utterances(*map(torch.from_numpy, (words, gates, confirmed))),
            states([turn.before for turn in turns]),
            states([turn.after for turn in turns]),
        )
