"""How trackers are built and trained."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from conceptor.base.errors import InvalidInputError


class Update(StrEnum):
    """How a turn's scores y and the belief b before it are combined into the next belief.

    `constrained`: matrices with one scalar on the diagonal and one elsewhere; `full`: two matrices;
    `alpha`: ``α y + (1 − α) b`` with a learned α.
    """

    CONSTRAINED = "constrained"
    FULL = "full"
    ALPHA = "alpha"


class Confirm(StrEnum):
    """Whether the tracker uses values that the system has asked the user to confirm.

    `inert` means never, as in the public code.
    """

    WORKING = "working"
    INERT = "inert"


class Initialization(StrEnum):
    """Initial weights.

    `scaled` divides the normal initial weights of sums by the square root of the number of terms,
    and starts with an update that keeps the previous belief unless a score is clearly higher.
    `original` is N(0, 1) for all but the convolutions: scores then start as noise that training
    must first suppress.
    """

    SCALED = "scaled"
    ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class TrackerOptions:
    """How trackers are built and trained; the paper's values in brackets if they differ.

    Attributes
    ----------
    update, confirm, start
    epochs : int
        Maximum number of epochs (400), each of `batches` batches.
    patience : int
        Training stops after this many epochs without better accuracy.
    batch, batches : int
        Turns per batch, and batches per epoch.
    rate : float
        Initial learning rate of Adam (0.001).
    decay : bool
        Decrease the rate linearly to zero over `epochs`.
    trust : float
        Initial weight of the belief before a turn, relative to the turn's scores; not used with
        `original` initial weights.
    """

    update: Update = Update.CONSTRAINED
    confirm: Confirm = Confirm.WORKING
    start: Initialization = Initialization.SCALED
    epochs: int = 30
    patience: int = 10
    batch: int = 256
    batches: int = 64
    rate: float = 3e-3
    decay: bool = False
    trust: float = 5.0

    def __post_init__(self) -> None:
        for name, least in {"epochs": 1, "patience": 1, "batches": 1, "batch": 2}.items():
            if (value := getattr(self, name)) < least:
                raise InvalidInputError(f"{name} is {value}; it must be at least {least}")
        if not 0 <= self.trust < float("inf"):
            raise InvalidInputError(f"trust is {self.trust}; it must be a number of 0 or more")
        if not 0 < self.rate < 1:
            raise InvalidInputError(f"rate is {self.rate}; it must be between 0 and 1")
