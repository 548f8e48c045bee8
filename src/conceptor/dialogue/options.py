"""How trackers are built and trained."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from conceptor.base.errors import InvalidInputError

__all__ = ["Confirm", "Options", "Start", "Update"]


class Update(StrEnum):
    """How a turn's scores and the belief before it make the belief after it.

    `constrained`: matrices with one scalar on the diagonal and one elsewhere; `full`: two matrices;
    `alpha`: ``α y + (1 − α) b`` with a learned α.
    """

    CONSTRAINED = "constrained"
    FULL = "full"
    ALPHA = "alpha"


class Confirm(StrEnum):
    """Whether a value the system puts to the user is heard, or never, as in the public code."""

    WORKING = "working"
    INERT = "inert"


class Start(StrEnum):
    """Where training begins.

    `scaled` divides the normal start values of a layer by the root of its inputs, and begins with
    the belief carried on and the turn's scores as they are. `original` is N(0, 1) for all but the
    convolutions: the scores then start as noise that training first has to silence.
    """

    SCALED = "scaled"
    ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class Options:
    """How trackers are built and trained; the paper's values are in brackets where they differ.

    Attributes
    ----------
    update, confirm, start
    epochs : int
        At most; each has `batches` batches (400).
    patience : int
        Epochs without a better accuracy before training stops.
    batch, batches : int
    rate : float
        Of Adam (0.001).
    """

    update: Update = Update.CONSTRAINED
    confirm: Confirm = Confirm.WORKING
    start: Start = Start.SCALED
    epochs: int = 60
    patience: int = 20
    batch: int = 256
    batches: int = 64
    rate: float = 3e-3

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "batches"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.batch < 2:
            raise InvalidInputError(f"a batch has at least 2 turns, not {self.batch}")
        if not 0 < self.rate < 1:
            raise InvalidInputError(f"the learning rate is between 0 and 1, not {self.rate}")
