"""Train the tracker of one slot: turns as tensors, batches, epochs."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from conceptor.base.errors import InvalidInputError
from conceptor.paper.dialogue.tracker import Tracker, Utterances, score_turns, track
from conceptor.paper.dialogue.woz import LONGEST, Corpus, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conceptor.paper.dialogue.embedding import Embedding
    from conceptor.paper.dialogue.options import TrackerOptions

# Share of the validation turns used for training; the rest select the best epoch.
SHARE = 0.75


@dataclass(eq=False)
class WordTable:
    """Table rows for the words found so far; row 0 is padding."""

    embedding: Embedding
    _rows: dict[str, int] = field(default_factory=dict, repr=False)

    def row(self, word: str) -> int:
        """Return the word's row, a new one for a new word."""
        return self._rows.setdefault(word, len(self._rows) + 1)

    def tensor(self) -> Tensor:
        """Return the vectors of all words found so far."""
        vectors = self.embedding.table(list(self._rows))
        return torch.from_numpy(np.pad(vectors, ((1, 0), (0, 0))))


@dataclass(frozen=True, eq=False)
class Examples:
    """Turns as examples for one slot, with the classes of the gold state before and after each.

    A value outside the ontology counts as none.
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
        """Return these turns as the input of a slot's tracker."""
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


@dataclass(frozen=True, slots=True)
class Epoch:
    """Mean loss of the batches; accuracy and loss on the held-out turns."""

    loss: float
    accuracy: float
    held_out_loss: float


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """A slot of a corpus, ready for training: turns to learn from, and held-out turns."""

    values: Tensor
    table: WordTable
    learned: Examples
    held_out: Examples
    lengths: Sequence[int]

    @classmethod
    def from_corpus(cls, corpus: Corpus, slot: str, embedding: Embedding) -> TrainingSet:
        """Train on the training turns and 3/4 of the validation turns; hold out the rest."""
        later = list(itertools.chain.from_iterable(corpus.validate))
        cut = int(len(later) * SHARE)
        turns = [*itertools.chain.from_iterable(corpus.train), *later[:cut]]
        counts = [len(dialogue) for dialogue in corpus.validate]
        ends = itertools.accumulate(counts)
        left = [min(n, end - cut) for n, end in zip(counts, ends, strict=True) if end > cut]
        values, table = corpus.values[slot], WordTable(embedding)
        return cls(
            torch.from_numpy(np.stack([embedding.phrase_vector(value) for value in values])),
            table,
            Examples.from_turns(turns, slot, values, table),
            Examples.from_turns(later[cut:], slot, values, table),
            left,
        )


def train(
    task: TrainingSet,
    options: TrackerOptions,
    seed: int,
    watch: Callable[[int, Epoch], None] = lambda number, epoch: None,
) -> tuple[Tracker, list[Epoch], int]:
    """Train a tracker until its accuracy stops rising; return it, all epochs and the one kept.

    The epoch kept, counted from 1, has the best held-out accuracy; ties go to the smaller loss.

    Adam on the cross-entropy of the state after each turn, given the gold state before it. Half of
    each batch has the slot set. Accuracy is measured by tracking: each dialogue continues its own
    predictions. All randomness comes from one generator with this seed.
    """
    generator = torch.Generator().manual_seed(seed)
    tracker = Tracker(task.values, options, generator)
    optimizer = torch.optim.Adam(tracker.parameters(), lr=options.rate, fused=True)
    learned, table = task.learned, task.table.tensor()
    rows = _batches(learned.after != tracker.none, options.batch, generator)
    steps = options.epochs * options.batches
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    curve: list[Epoch] = []
    best, kept, state = (-1.0, 0.0), 0, tracker.state_dict()
    for number in range(1, options.epochs + 1):
        tracker.train()
        losses = []
        for chosen in itertools.islice(rows, options.batches):
            logits = tracker(learned.turns[chosen], learned.before[chosen], table)
            loss = nn.functional.cross_entropy(logits, learned.after[chosen])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if options.decay:
                falling.step()
            losses.append(loss.item())
        accuracy, held_out_loss = _validate(tracker, task, table)
        curve.append(Epoch(sum(losses) / len(losses), accuracy, held_out_loss))
        watch(number, curve[-1])
        reached = (accuracy, -held_out_loss)
        if reached > best:
            best, kept, state = reached, number, copy.deepcopy(tracker.state_dict())
        elif number - kept >= options.patience:
            break
    tracker.load_state_dict(state)
    return tracker.eval(), curve, kept


def _batches(is_set: Tensor, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield rows drawn with replacement, half of them with the slot set."""
    pools = [torch.nonzero(chosen).flatten() for chosen in (is_set, ~is_set)]
    if not all(map(len, pools)):
        raise InvalidInputError(
            "the corpus lacks turns with the slot set or turns without; training needs both"
        )
    sizes = (size // 2, size - size // 2)
    while True:
        yield torch.cat(
            [
                pool[torch.randint(len(pool), (count,), generator=generator)]
                for pool, count in zip(pools, sizes, strict=True)
            ]
        )


@torch.no_grad()
def _validate(tracker: Tracker, task: TrainingSet, table: Tensor) -> tuple[float, float]:
    """Return tracking accuracy, and loss given the gold state, on the held-out turns."""
    held_out = task.held_out
    scores = score_turns(tracker, held_out.turns, table)
    first = np.cumsum([0, *task.lengths[:-1]])
    states = track(tracker, scores, task.lengths, held_out.before[first])
    loss = nn.functional.cross_entropy(tracker.beliefs(scores, held_out.before), held_out.after)
    return float((states == held_out.after).double().mean()), float(loss)
