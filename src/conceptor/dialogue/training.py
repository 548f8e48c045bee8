"""Training the tracker of one slot."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from conceptor.base.errors import InvalidInputError
from conceptor.dialogue.examples import Examples, WordTable
from conceptor.dialogue.tracker import Tracker
from conceptor.dialogue.tracking import score_turns, track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from conceptor.dialogue.embedding import Embedding
    from conceptor.dialogue.options import TrackerOptions
    from conceptor.dialogue.woz import Corpus

__all__ = ["Epoch", "TrainingSet", "train"]

# Share of the validation turns used for training; the rest select the best epoch.
SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Epoch:
    """Mean loss of the batches; accuracy and loss on the held-out turns."""

    loss: float
    accuracy: float
    held_out_loss: float


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """A slot of a corpus, ready for training: turns to learn from, and held-out turns."""

    slot: str
    values: Tensor
    table: WordTable
    learned: Examples
    held_out: Examples
    lengths: Sequence[int]

    @classmethod
    def from_corpus(cls, corpus: Corpus, slot: str, embedding: Embedding) -> TrainingSet:
        """Learn from the training and 3/4 of the validation turns; hold out the rest."""
        later = list(itertools.chain.from_iterable(corpus.validate))
        cut = int(len(later) * SHARE)
        turns = [*itertools.chain.from_iterable(corpus.train), *later[:cut]]
        counts = [len(dialogue) for dialogue in corpus.validate]
        ends = itertools.accumulate(counts)
        left = [min(n, end - cut) for n, end in zip(counts, ends, strict=True) if end > cut]
        values, table = corpus.values[slot], WordTable(embedding)
        return cls(
            slot,
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
    """Train a tracker until its accuracy stops rising.

    Returns
    -------
    tracker : Tracker
        Its state after the epoch with the best held-out accuracy; ties go to the smaller loss.
    curve : list of Epoch
    kept : int
        The number of that epoch, from 1.

    Notes
    -----
    Adam on the cross-entropy of the state after each turn, given the gold state before it. Half of
    each batch has the slot set. Accuracy is measured by tracking: each dialogue continues its own
    predictions. All randomness comes from one generator with this seed.
    """
    generator = torch.Generator().manual_seed(seed)
    tracker = Tracker(
        task.values,
        update=options.update,
        confirm=options.confirm,
        start=options.start,
        generator=generator,
    )
    optimizer = torch.optim.Adam(tracker.parameters(), lr=options.rate, fused=True)
    rows = _batches(task.learned.after != tracker.none, options.batch, generator)
    table = task.table.tensor()
    curve: list[Epoch] = []
    best, kept, state = (-1.0, 0.0), 0, tracker.state_dict()
    for number in range(1, options.epochs + 1):
        tracker.train()
        losses = [
            _step(tracker, optimizer, task.learned, chosen, table)
            for chosen in itertools.islice(rows, options.batches)
        ]
        accuracy, loss = _validate(tracker, task, table)
        curve.append(Epoch(sum(losses) / len(losses), accuracy, loss))
        watch(number, curve[-1])
        if (accuracy, -loss) > best:
            best, kept, state = (accuracy, -loss), number, copy.deepcopy(tracker.state_dict())
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


def _step(
    tracker: Tracker,
    optimizer: torch.optim.Optimizer,
    examples: Examples,
    rows: Tensor,
    table: Tensor,
) -> float:
    logits = tracker(examples.turns[rows], examples.before[rows], table)
    loss = nn.functional.cross_entropy(logits, examples.after[rows])
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


@torch.no_grad()
def _validate(tracker: Tracker, task: TrainingSet, table: Tensor) -> tuple[float, float]:
    """Return tracking accuracy, and loss given the gold state, on the held-out turns."""
    held_out = task.held_out
    scores = score_turns(tracker, held_out.turns, table)
    first = np.cumsum([0, *task.lengths[:-1]])
    states = track(tracker, scores, task.lengths, held_out.before[first])
    loss = nn.functional.cross_entropy(tracker.beliefs(scores, held_out.before), held_out.after)
    return float((states == held_out.after).double().mean()), float(loss)
