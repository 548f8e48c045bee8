"""Decide whether rows are words or texts, for files, tables, shards and objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from conceptor.base.errors import InvalidInputError, Message, Setting
from conceptor.vectors.vectors import RowKind, Vectors, WrappedVectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "LABELS",
    "LabelledVectors",
    "RowDecision",
    "check_rows",
    "decide_rows",
    "describe_rows",
    "is_word",
    "parse_rows",
    "refuse_settings",
]

# How many of the first labels are checked.
LABELS = 1000
# Longer labels are hashes, addresses, or sentences in scripts without spaces.
_LONGEST_WORD = 30
# Chinese and Japanese words have few of these characters, sentences many.
_UNSPACED = re.compile("[\u3040-\u309f\u3400-\u9fff\U00020000-\U0003ffff]")
_MOST_UNSPACED = 6
# From this share of single words on, labels are certainly a vocabulary. With fewer labels than
# this, users get no message.
_SURELY, _FEW = 0.9, 20


class RowDecision(NamedTuple):
    """What rows are, and the evidence; it is empty if the input or the user leaves no choice."""

    kind: RowKind
    evidence: str = ""


def is_word(label: str) -> bool:
    """Return whether a label may be an entry of a vocabulary: a single token that is not long."""
    return (
        len(label) <= _LONGEST_WORD
        and len(label.split()) == 1
        and len(_UNSPACED.findall(label)) <= _MOST_UNSPACED
    )


def decide_rows(labels: Iterable[str] | None) -> RowDecision:
    """Decide what rows are from their first labels.

    They are words if the labels look like a vocabulary: at least half of them are single words,
    each counted once. Otherwise they are texts. None stands for a format that holds only words.
    """
    if labels is None:
        return RowDecision(RowKind.WORDS)
    first = list(labels)[:LABELS]
    words = len(set(filter(is_word, first)))
    kind = RowKind.WORDS if 2 * words >= len(first) else RowKind.TEXTS
    # For a clear vocabulary, or for a handful of words, users need no message.
    if kind is RowKind.WORDS and (words >= _SURELY * len(first) or len(first) < _FEW):
        return RowDecision(kind)
    found = f"{words:,} of the first {len(first):,} labels are distinct single words"
    return RowDecision(kind, found)


class LabelledVectors(Vectors):
    """Vectors whose kind of rows is set by the user, or shown by the first labels."""

    rows_are: RowKind | None = None
    _decided: RowDecision | None = None

    @property
    def kind(self) -> RowKind:
        """What a row is, by the user's choice or by the first labels."""
        return self._decision.kind if self.has_words else RowKind.TEXTS

    @property
    def kind_evidence(self) -> str:
        """The evidence from the labels for the kind."""
        return self._decision.evidence if self.has_words else ""

    @property
    def _decision(self) -> RowDecision:
        if self.rows_are is not None:
            return RowDecision(self.rows_are)
        if self._decided is None:
            self._decided = decide_rows(self._first_labels())
        return self._decided

    def _first_labels(self) -> Sequence[str] | None:
        """Return about `LABELS` first labels; None for a format that holds only words."""
        return None


def parse_rows(rows: str | None) -> RowKind | None:
    """Parse the user's choice of `words` or `texts`; None leaves it to `decide_rows`."""
    if rows is None or rows in (RowKind.WORDS, RowKind.TEXTS):
        return None if rows is None else RowKind(rows)
    raise InvalidInputError(Setting("rows"), f" is {rows!r}; it must be 'words' or 'texts'")


def check_rows(vectors: Vectors, rows: RowKind | None) -> None:
    """Raise if the user's choice is impossible: tokens of a model, or words without labels."""
    if rows is None:
        return
    if vectors.kind is RowKind.TOKENS:
        said = "its rows are the tokens of a static model"
    elif rows is RowKind.WORDS and not vectors.has_words:
        said = "its rows have no words"
    else:
        return
    raise InvalidInputError(f"{vectors.name}: {said}; leave out ", Setting("rows", str(rows)))


class SaidRows(WrappedVectors):
    """Vectors whose kind of rows the user chose."""

    def __init__(self, wrapped: Vectors, rows: RowKind) -> None:
        check_rows(wrapped, rows)
        super().__init__(wrapped)
        self._rows = rows

    @property
    def kind(self) -> RowKind:
        """The user's choice."""
        return self._rows

    @property
    def kind_evidence(self) -> str:
        """Empty: the user chose."""
        return ""


def describe_rows(vectors: Vectors) -> Message | None:
    """Return a line on what rows were taken for and how to change it; None if that is clear."""
    evidence = vectors.kind_evidence
    if not evidence:
        return None
    if vectors.kind is RowKind.TEXTS:
        said, other = "texts, which count equally", RowKind.WORDS
    else:
        said, other = "words, whose frequency counts", RowKind.TEXTS
    return Message(
        f"{vectors.name}: its rows are treated as {said}: {evidence}; if they are {other}, use ",
        Setting("rows", str(other)),
    )


def refuse_settings(vectors: Vectors, kind: str, **given: object) -> None:
    """Raise for given settings that apply only to another kind of rows, `words` or `texts`."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InvalidInputError(
                f"{vectors.name}: its rows are {vectors.kind}, and ",
                Setting(name),
                f" is for {kind}; remove it, or add ",
                Setting("rows", kind),
            )
