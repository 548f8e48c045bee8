"""Whether vectors are the files that the paper used, and by how much they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conceptor.paper.tables import PaperCell

__all__ = ["file_note"]

# Words and dimension of GoogleNews-vectors-negative300.bin and of glove.840B.300d.txt.
_FILES = {"word2vec": (3_000_000, 300), "glove": (2_196_017, 300)}
# A few words more or less, as after removing duplicates, do not make another file.
_TOLERANCE = 0.001


def file_note(name: str, words: int, dimension: int, cells: Iterable[PaperCell]) -> str | None:
    """Say in what the vectors differ from the paper's, and what they cover; None if in nothing."""
    their_words, their_dimension = _FILES[name]
    parts = []
    if abs(words - their_words) > _TOLERANCE * their_words:
        parts.append(f"{words:,} words instead of {their_words:,}")
    if dimension != their_dimension:
        parts.append(f"{dimension} dimensions instead of {their_dimension}")
    if not parts:
        return None
    pairs = {
        cell.dataset: (cell.used, cell.total)
        for cell in cells
        if cell.vectors == name and cell.table == "word_similarity"
    }
    used, total = (sum(each) for each in zip(*pairs.values(), strict=True)) if pairs else (0, 0)
    covered = f"; they cover {used / total:.0%} of the word pairs" if total else ""
    return (
        f"{name}: not the paper's file ({', '.join(parts)}){covered}. Differences from the paper "
        "are differences of the vectors too"
    )
