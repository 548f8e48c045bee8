"""The Neural Belief Tracker: predicts a user's goal for one slot from words and system acts.

A new implementation of Mrkšić & Vulić (2018), "Fully Statistical Neural Belief Tracking".
"""

from __future__ import annotations

import copy
import hashlib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.threads import one_blas_thread
from conceptor.paper.woz import LONGEST, Corpus, Turn, phrase
from conceptor.vectors.table import WordVectors

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise MissingExtraError("dialogue state tracking", "dialogue") from None

Key = tuple[str, int, str]  # method, seed and slot
Embedding = Mapping[str, NDArray[np.float32]]  # a unit vector of each word
HIDDEN = 100
WIDTHS = (1, 2, 3)
LEAST = 0.01  # below this probability no value is predicted
TRUST = 5.0  # the initial weight of the previous belief, against 1 for a turn's scores
SHARE = 0.75  # of the validation turns, used for training; the rest select the best epoch


@dataclass(frozen=True, slots=True)
class TrackerOptions:
    """How trackers are built and trained.

    Training stops after `patience` epochs, of `batches` of `batch` turns, without better accuracy.
    If `published`, as in the public code, initial weights are N(0, 1) for all but the convolutions,
    and values that the system asked to confirm never count. Otherwise they count; initial weights
    of sums are divided by the square root of the number of terms, and the previous belief is kept
    unless a score is clearly higher.
    """

    published: bool = False
    epochs: int = 30
    patience: int = 10
    batch: int = 256
    batches: int = 64
    rate: float = 3e-3


PUBLISHED = TrackerOptions(published=True, epochs=400, patience=400, rate=1e-3)


def random_units(words: Iterable[str], dimension: int, salt: str = "") -> Embedding:
    """Return a random unit vector for each word, by a stable hash of the salt and the word."""
    embedding = {}
    for word in words:
        digest = hashlib.blake2b(f"{salt}\0{word}".encode(), digest_size=16).digest()
        drawn = np.random.default_rng(int.from_bytes(digest)).standard_normal(dimension)
        embedding[word] = (drawn / np.linalg.norm(drawn)).astype(np.float32)
    return embedding


def known_units(vectors: WordVectors, words: Collection[str]) -> Embedding:
    """Return the unit vector of each word that has a vector other than zero."""
    present = [word for word in sorted(words) if word in vectors]
    units = unit_rows(vectors.vectors[vectors.rows(present)].astype(np.float64)).astype(np.float32)
    return {word: unit for word, unit in zip(present, units, strict=True) if unit.any()}


def phrase_vector(embedding: Embedding, slot_or_value: str) -> NDArray[np.float32]:
    """Return the plain sum of the vectors of a phrase."""
    vectors = [embedding[word] for word in phrase(slot_or_value)]
    return np.asarray(np.sum(vectors, axis=0), dtype=np.float32)


class Examples(NamedTuple):
    """Turns as the input of a slot's tracker, with the gold classes before and after each.

    `words` (turns × positions × D) are zero after the last word; `gates` (turns) measure how much
    the system's requests are about this slot; `confirmed` (turns × values) is 1 if the system just
    asked to confirm this value. A value outside the ontology counts as none.
    """

    words: Tensor
    lengths: Tensor
    gates: Tensor
    confirmed: Tensor
    before: Tensor
    after: Tensor

    @classmethod
    def from_turns(
        cls, turns: Sequence[Turn], slot: str, values: Sequence[str], embedding: Embedding
    ) -> Examples:
        """Return these turns as tensors."""
        classes = {value: number for number, value in enumerate(values)}
        none = len(values)
        own = phrase_vector(embedding, slot)
        words = torch.zeros(len(turns), LONGEST, len(own))
        gates = torch.zeros(len(turns))
        confirmed = torch.zeros(len(turns), none)
        for i, turn in enumerate(turns):
            for place, word in enumerate(turn.tokens):
                words[i, place] = torch.from_numpy(embedding[word])
            if turn.requested:
                total = sum(phrase_vector(embedding, other) for other in turn.requested)
                gates[i] = float(np.mean(own * total))
            for other, value in turn.confirmed:
                if other == slot and value in classes:
                    confirmed[i, classes[value]] = 1
        before, after = (
            torch.tensor([classes.get(goals.get(slot, ""), none) for goals in states])
            for states in ([turn.before for turn in turns], [turn.after for turn in turns])
        )
        lengths = torch.tensor([len(turn.tokens) for turn in turns])
        return cls(words, lengths, gates, confirmed, before, after)

    def take(self, rows: Tensor | slice) -> Examples:
        """Return some of the turns, with as many positions as their longest turn has."""
        part = Examples(*(each[rows] for each in self))
        return part._replace(words=part.words[:, : int(part.lengths.max())])


class Tracker(nn.Module):
    """A tracker for one slot, whose candidate values have these fixed vectors (V × D).

    ``r`` is the utterance: the sum of convolutions of width 1, 2 and 3 with D filters, each with
    bias, ReLU and maximum over positions with padding. The scores of a turn are ``y_v = d_v + q_v +
    conf_v``, and 0 for none (the last class): d from words, q from requests, conf from
    confirmations. The belief is ``softmax(W_past b + W_cur y)``; each matrix has one scalar on the
    diagonal and one elsewhere.
    """

    def __init__(self, values: Tensor, options: TrackerOptions, generator: torch.Generator) -> None:
        super().__init__()
        count, n = values.shape
        self.values, self.options, self.generator = values, options, generator
        self.none = count  # the class for a slot that is not set
        self.convolutions = nn.ModuleList()
        for width in WIDTHS:
            weights = torch.empty(width, n, n)
            nn.init.trunc_normal_(weights, std=0.1, a=-0.2, b=0.2, generator=generator)
            layer = nn.Conv1d(n, n, width)
            layer.weight = nn.Parameter(weights.permute(2, 1, 0).contiguous())
            layer.bias = nn.Parameter(torch.full((n,), 0.1))
            self.convolutions.append(layer)
        # The gain undoes the division where the length of inputs does not depend on the dimension,
        # or where they are a mean over dimensions.
        self.candidate = self._linear(n, n, gain=n**0.5)
        self.hidden = self._linear(n, HIDDEN, gain=n**0.5)
        self.score = self._linear(HIDDEN, 1)
        self.request = self._linear(n, HIDDEN, gain=n)
        self.request_score = self._linear(HIDDEN, count)
        if not options.published:
            self.confirm, self.confirm_score = self._linear(n, HIDDEN), self._linear(HIDDEN, 1)
        self.mixing = self._draw(4)  # the diagonal and the rest of both matrices
        if not options.published:
            self.mixing = nn.Parameter(torch.tensor([TRUST, 0.0, 1.0, 0.0]))

    def _linear(self, inputs: int, outputs: int, gain: float = 1.0) -> nn.Linear:
        layer = nn.Linear(inputs, outputs)
        layer.weight = self._draw(outputs, inputs, gain=gain)
        nn.init.zeros_(layer.bias)
        return layer

    def _draw(self, *shape: int, gain: float = 1.0) -> nn.Parameter:
        scale = 1.0 if self.options.published else gain * shape[-1] ** -0.5
        return nn.Parameter(torch.randn(shape, generator=self.generator) * scale)

    def utterance(self, words: Tensor) -> Tensor:
        """Return r for each turn."""
        # Zeros at the end form a window of padding for every width.
        padded = nn.functional.pad(words, (0, 0, 0, max(WIDTHS))).mT
        return torch.stack([torch.relu(c(padded).amax(2)) for c in self.convolutions]).sum(0)

    def decode(self, r: Tensor) -> Tensor:
        """Return the scores ``s · σ(W (r ∘ c) + b)`` of every utterance r and candidate c.

        One product with ``c[v, d] W[h, d]`` for the hidden units that dropout leaves. The turns of
        a batch share their dropout: the expected gradient is that of dropout drawn for each turn,
        and half of the units are never computed.
        """
        candidates = torch.sigmoid(self.candidate(self.values))
        units = torch.arange(HIDDEN).repeat(len(candidates), 1)
        if self.training:
            drawn = torch.rand(len(candidates), HIDDEN, generator=self.generator)
            units = drawn.argsort(1)[:, : HIDDEN // 2]
        weights = (candidates[:, None] * self.hidden.weight[units]).flatten(0, 1)
        active = torch.sigmoid(r @ weights.T + self.hidden.bias[units].flatten())
        outputs = self.score.weight[0, units] * (HIDDEN / units.shape[1])
        return (active.view(-1, *units.shape) * outputs).sum(2) + self.score.bias

    def turn_scores(self, turns: Examples) -> Tensor:
        """Return the scores of every class, without any belief: shape (turns, V + 1)."""
        r = self.utterance(turns.words)
        scores = self.decode(r)
        asked = torch.sigmoid(self.request(turns.gates[:, None] * r))
        scores = scores + self.request_score(self._drop_out(asked))
        if not self.options.published:
            heard = self._drop_out(torch.sigmoid(self.confirm(r)))
            scores = scores + turns.confirmed * self.confirm_score(heard)
        return nn.functional.pad(scores, (0, 1))

    def beliefs(self, scores: Tensor, before: Tensor) -> Tensor:
        """Return the logits of the belief after each turn; `before` are classes."""
        past = nn.functional.one_hot(before, self.none + 1).to(scores.dtype)
        # W = (a − b) I + b 11ᵀ needs no matrix.
        a, b, c, d = self.mixing.unbind()
        return (a - b) * past + b + (c - d) * scores + d * scores.sum(1, keepdim=True)

    def _drop_out(self, active: Tensor) -> Tensor:
        if not self.training:
            return active
        keep = torch.rand(active.shape, generator=self.generator) < 0.5
        return active * keep * 2


@torch.no_grad()
def score_turns(tracker: Tracker, turns: Examples) -> Tensor:
    """Return the turn scores without dropout; they do not depend on the previous belief."""
    tracker.eval()
    return tracker.turn_scores(turns)


def predict(logits: Tensor) -> Tensor:
    """Return the most probable value if it reaches 0.01 and the probability of none, else none."""
    probabilities = torch.softmax(logits, 1)
    best, value = probabilities[:, :-1].max(1)
    none = probabilities.shape[1] - 1
    return torch.where((best >= probabilities[:, none]) & (best >= LEAST), value, none)


@torch.no_grad()
def track(tracker: Tracker, scores: Tensor, lengths: Sequence[int], start: Tensor) -> Tensor:
    """Return the class after each turn, with each dialogue continuing its own predictions.

    `scores` are of all turns in order. Dialogues advance in parallel, one step per turn.
    """
    count = torch.tensor(lengths)
    first = count.cumsum(0) - count
    states = torch.empty(len(scores), dtype=torch.int64)
    before = start.clone()
    for turn in range(int(count.max())):
        going = count > turn
        rows = first[going] + turn
        states[rows] = before[going] = predict(tracker.beliefs(scores[rows], before[going]))
    return states


def split_turns(corpus: Corpus) -> tuple[list[Turn], list[Turn], list[int]]:
    """Return the turns to learn from, the held-out turns, and the lengths of their dialogues."""
    validation = list(itertools.chain.from_iterable(corpus.validate))
    cut = int(len(validation) * SHARE)
    learned = [*itertools.chain.from_iterable(corpus.train), *validation[:cut]]
    counts = [len(dialogue) for dialogue in corpus.validate]
    ends = itertools.accumulate(counts)
    lengths = [min(n, end - cut) for n, end in zip(counts, ends, strict=True) if end > cut]
    return learned, validation[cut:], lengths


def train(
    corpus: Corpus, slot: str, embedding: Embedding, options: TrackerOptions, seed: int
) -> tuple[Tracker, list[dict[str, float]], int]:
    """Train a tracker until its accuracy stops rising; return it, all epochs and the best, from 1.

    Adam on the cross-entropy of the state after each turn, given the gold state before it. Half of
    each batch has the slot set; turns are drawn with replacement. The best epoch has the highest
    held-out accuracy, by tracking, then the smallest loss.
    """
    values = corpus.values[slot]
    turns, later, lengths = split_turns(corpus)
    learned = Examples.from_turns(turns, slot, values, embedding)
    held_out = Examples.from_turns(later, slot, values, embedding)
    generator = torch.Generator().manual_seed(seed)
    vectors = np.stack([phrase_vector(embedding, value) for value in values])
    tracker = Tracker(torch.from_numpy(vectors), options, generator)
    is_set = learned.after != tracker.none
    pools = [torch.nonzero(chosen).flatten() for chosen in (is_set, ~is_set)]
    if not all(map(len, pools)):
        raise InvalidInputError(
            "the corpus lacks turns with the slot set or turns without; training needs both"
        )
    sizes = (options.batch // 2, options.batch - options.batch // 2)
    first = np.cumsum([0, *lengths[:-1]])
    optimizer = torch.optim.Adam(tracker.parameters(), lr=options.rate, fused=True)
    curve = []
    best, best_epoch, state = (-1.0, 0.0), 0, tracker.state_dict()
    for number in range(1, options.epochs + 1):
        tracker.train()
        total = 0.0
        for _ in range(options.batches):
            rows = [
                pool[torch.randint(len(pool), (size,), generator=generator)]
                for pool, size in zip(pools, sizes, strict=True)
            ]
            batch = learned.take(torch.cat(rows))
            logits = tracker.beliefs(tracker.turn_scores(batch), batch.before)
            loss = nn.functional.cross_entropy(logits, batch.after)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item()
        scores = score_turns(tracker, held_out)
        states = track(tracker, scores, lengths, held_out.before[first])
        accuracy = float((states == held_out.after).double().mean())
        with torch.no_grad():
            logits = tracker.beliefs(scores, held_out.before)
            held_out_loss = float(nn.functional.cross_entropy(logits, held_out.after))
        losses = {"loss": total / options.batches, "held_out_loss": held_out_loss}
        curve.append(losses | {"accuracy": accuracy})
        if (accuracy, -held_out_loss) > best:
            best, best_epoch = (accuracy, -held_out_loss), number
            state = copy.deepcopy(tracker.state_dict())
        elif number - best_epoch >= options.patience:
            break
    tracker.load_state_dict(state)
    return tracker.eval(), curve, best_epoch


@dataclass(frozen=True, eq=False)
class Trial:
    """The predicted value after every turn of the test dialogues; `kept` is the best epoch."""

    method: str
    seed: int
    slot: str
    states: Sequence[str | None]
    curve: Sequence[Mapping[str, float]]
    kept: int


def run_trial(corpus: Corpus, key: Key, embedding: Embedding, options: TrackerOptions) -> Trial:
    """Train a tracker on a corpus and run it on the test dialogues, on one thread."""
    _, seed, slot = key
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_blas_thread():
            tracker, curve, best = train(corpus, slot, embedding, options, seed)
            turns = list(itertools.chain.from_iterable(corpus.test))
            tested = Examples.from_turns(turns, slot, corpus.values[slot], embedding)
            start = torch.full((len(corpus.test),), tracker.none)
            lengths = [len(dialogue) for dialogue in corpus.test]
            classes = track(tracker, score_turns(tracker, tested), lengths, start)
    finally:
        torch.set_num_threads(threads)
    names = (*corpus.values[slot], None)
    return Trial(*key, [names[number] for number in classes.tolist()], curve, best)
