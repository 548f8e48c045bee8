"""A belief tracker for several slots: run it on a turn, talk to it, save it, load it."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import name_in_errors, replace_folder_atomically
from conceptor.base.folders import check_folder
from conceptor.paper.dialogue.embedding import Embedding
from conceptor.paper.dialogue.options import Confirm, Initialization, TrackerOptions, Update
from conceptor.paper.dialogue.tracker import Tracker, predict
from conceptor.paper.dialogue.training import Examples, WordTable
from conceptor.paper.dialogue.woz import SLOTS, Turn, system_acts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conceptor.paper.dialogue.trials import TrackerWeights


_FORMAT = "conceptor.BeliefTracker/1"
_UNITS = "units"
_DESCRIPTION, _TENSORS = "tracker.json", "tracker.safetensors"


@dataclass(frozen=True, slots=True)
class SlotBelief:
    """The belief about a slot after a turn: its value, and the probability of each value."""

    value: str | None
    probabilities: Mapping[str | None, float]

    def likeliest(self, count: int = 3) -> list[tuple[str | None, float]]:
        """Return the most probable values, `None` for not set."""
        return sorted(self.probabilities.items(), key=lambda item: -item[1])[:count]


@dataclass(frozen=True, eq=False)
class BeliefTracker:
    """Trackers and possible values of several slots, with the vectors they were trained on.

    `provenance` holds their origin (vectors, method, seed, ...); it must be valid JSON.
    """

    embedding: Embedding
    values: Mapping[str, Sequence[str]]
    trackers: Mapping[str, Tracker]
    options: TrackerOptions
    provenance: Mapping[str, Any]

    @classmethod
    def from_parts(
        cls,
        embedding: Embedding,
        values: Mapping[str, Sequence[str]],
        weights: Mapping[str, TrackerWeights],
        options: TrackerOptions,
        provenance: Mapping[str, Any],
    ) -> Self:
        """Return trackers with these weights for each slot."""
        trackers = {}
        for slot, tensors in weights.items():
            blank = torch.zeros(len(values[slot]), embedding.dimension)
            tracker = Tracker(blank, options, torch.Generator().manual_seed(0))
            tracker.load_state_dict({name: torch.tensor(part) for name, part in tensors.items()})
            trackers[slot] = tracker.eval()
        return cls(embedding, values, trackers, options, dict(provenance))

    @torch.no_grad()
    def listen(self, turn: Turn, before: Mapping[str, str]) -> dict[str, SlotBelief]:
        """Return the belief about each slot after a turn, given the values before it."""
        beliefs = {}
        for slot, tracker in self.trackers.items():
            named = (*self.values[slot], None)
            table = WordTable(self.embedding)
            heard = Examples.from_turns([turn], slot, self.values[slot], table)
            state = before.get(slot)
            past = torch.tensor([named.index(state if state in named else None)])
            logits = tracker(heard.turns, past, table.tensor())
            shares = torch.softmax(logits[0], 0).tolist()
            chosen = named[int(predict(logits)[0])]
            beliefs[slot] = SlotBelief(chosen, dict(zip(named, shares, strict=True)))
        return beliefs

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write safetensors and a JSON description to a directory: both or nothing.

        An existing saved tracker is replaced; a directory with anything else is not.
        """
        from safetensors.numpy import save

        target = Path(directory)
        target.parent.mkdir(parents=True, exist_ok=True)
        check_folder(target, "saved tracker", _parts_of, force=True)
        tensors = {
            f"{slot}/{name}": np.ascontiguousarray(part.numpy())
            for slot, tracker in self.trackers.items()
            for name, part in tracker.state_dict().items()
        }
        description = {
            "format": _FORMAT,
            "slots": {slot: list(self.values[slot]) for slot in self.trackers},
            "options": asdict(self.options),
            "salt": self.embedding.salt,
            "words": list(self.embedding.words),
            "provenance": dict(self.provenance),
        }
        text = json.dumps(description, ensure_ascii=False, indent=1)
        with replace_folder_atomically(target) as beside, name_in_errors(target):
            (beside / _TENSORS).write_bytes(save({**tensors, _UNITS: self.embedding.units}))
            (beside / _DESCRIPTION).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Load a saved tracker; raise if there is none, or if its two files do not match."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        source = Path(directory)
        if not (source / _DESCRIPTION).is_file():
            raise InvalidInputError(f"{source}: no saved tracker ({_DESCRIPTION} is missing)")
        try:
            description = json.loads((source / _DESCRIPTION).read_text(encoding="utf-8"))
            if description["format"] != _FORMAT:
                raise InvalidInputError(
                    f"{source / _DESCRIPTION}: not in the format {_FORMAT}; save it again"
                )
            tensors = load((source / _TENSORS).read_bytes())
            embedding = Embedding(description["words"], tensors.pop(_UNITS), description["salt"])
            chosen = description["options"]
            kinds = {"update": Update, "confirm": Confirm, "start": Initialization}
            kinds_chosen = {name: kind(chosen[name]) for name, kind in kinds.items()}
            options = TrackerOptions(**chosen | kinds_chosen)
            weights: dict[str, TrackerWeights] = {slot: {} for slot in description["slots"]}
            for name, part in tensors.items():
                slot, _, parameter = name.partition("/")
                weights[slot][parameter] = part
            return cls.from_parts(
                embedding, description["slots"], weights, options, description["provenance"]
            )
        except InvalidInputError:
            raise
        except (
            SafetensorError,
            OSError,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RuntimeError,  # raised by PyTorch for wrong shapes
            ArithmeticError,
            RecursionError,
        ) as error:
            reason = " ".join(str(error).split())
            raise InvalidInputError(
                f"{source}: not a saved tracker, or damaged ({reason}); save it again"
            ) from error


def _parts_of(folder: Path) -> Callable[[Path], bool] | None:
    """Return the files of a saved tracker; None if the folder holds no tracker."""
    if not (folder / _TENSORS).is_file():
        return None
    return lambda path: path.name in (_DESCRIPTION, _TENSORS)


_END = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
_HOW_TO = f"""Type what a user would say; the tracker's belief is shown after each line.
  system: area             the system just asked for the area
  system: food=thai        the system just asked whether the user wants thai food
  new                      start a new dialogue
End with {_END}."""


def converse(tracker: BeliefTracker) -> None:
    """Read turns from standard input and show the belief state after each."""
    if sys.stdin.isatty():
        print(_HOW_TO, file=sys.stderr)
    goals: dict[str, str] = {}
    acts: list[object] = []
    for line in _lines():
        if line == "new":
            goals, acts = {}, []
        elif line.startswith("system:"):
            said = line.removeprefix("system:").split(",")
            acts = [_act(act) for act in said if act.strip()]
            if not any(system_acts(acts)):
                slots = ", ".join(SLOTS)
                print(f"conceptor: not a system act; name a slot: {slots}", file=sys.stderr)
        else:
            beliefs = tracker.listen(Turn(line, *system_acts(acts)), goals)
            goals = {slot: b.value for slot, b in beliefs.items() if b.value is not None}
            acts = []
            for slot in SLOTS:
                if slot in beliefs:
                    shares = ", ".join(
                        f"{value or 'not set'} {share:.0%}"
                        for value, share in beliefs[slot].likeliest()
                    )
                    print(f"  {slot:<12} {goals.get(slot, '—'):<16} ({shares})", flush=True)


def _act(act: str) -> object:
    slot, equals, value = (part.strip() for part in act.partition("="))
    return [slot, value] if equals else slot


def _lines() -> Iterator[str]:
    prompt = "> " if sys.stdin.isatty() else ""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid bytes become an unknown word
    while True:
        if prompt:
            print(prompt, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()
