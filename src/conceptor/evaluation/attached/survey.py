"""One pass over a store: its size, its words, and its problems."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.vectors.vectors import Vectors

# With fewer documents, attach warns.
FEW = 200
# Every n-th document, by a hash of its text, is held out for measuring.
HELD = 10
_WORD = re.compile(r"\w+")
# Rare words are dropped when there are more distinct words than this.
_MOST_WORDS = 1_000_000
# Repeated texts are counted among this many distinct texts.
_MOST_MARKS = 1_000_000
_SAMPLE = 4096
# Lengths this close to 1 count as 1.
_UNIT = 0.01
# Warn about two groups if they explain this share of the variance along the strongest direction
# (0.64 for normal rows), and that direction explains this share of all variance.
_GROUPS, _SHARE = 0.9, 0.3


@dataclass
class Survey:
    """The results of a pass over a store."""

    rows: int = 0
    documents: int = 0
    empty: int = 0
    duplicates: int = 0
    tokens: int = 0
    words: Counter[str] = field(default_factory=Counter)
    sample: list[NDArray[np.float32]] = field(default_factory=list)

    def warnings(self) -> list[str]:
        """Return warnings for the user, one line each."""
        lines = []
        if self.documents < FEW:
            lines.append(
                f"only {self.documents} documents: the fit covers few words; see the measured loss"
            )
        if self.empty:
            lines.append(f"{self.empty:,} texts are empty; their rows were left out of the fit")
        if self.duplicates:
            lines.append(f"{self.duplicates:,} texts repeat an earlier text; each row counts")
        return lines + _check_one_model(np.concatenate(self.sample))


def read_texts(store: Vectors) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Yield the non-empty texts of a store and their vectors."""
    for texts, vectors in store.chunks():
        kept = [row for row, text in enumerate(texts) if text.strip()]
        if len(kept) == len(texts):
            yield list(texts), np.asarray(vectors)
        else:
            yield [texts[row] for row in kept], np.asarray(vectors)[kept]


def survey(store: Vectors, progress: Progress = silent) -> Survey:
    """Read a store once; raise if it has too few distinct texts or only zero vectors."""
    found = Survey()
    seen: set[bytes] = set()
    for texts, vectors in store.chunks():
        found.rows += len(texts)
        for text in texts:
            name = mark(text)
            if not text.strip():
                found.empty += 1
                continue
            found.documents += 1
            found.words.update(_WORD.findall(text.lower()))
            found.duplicates += name in seen
            if len(seen) < _MOST_MARKS:
                seen.add(name)
        if len(found.words) > _MOST_WORDS:
            found.words = Counter({word: n for word, n in found.words.items() if n > 1})
        if sum(map(len, found.sample)) < _SAMPLE:
            found.sample.append(np.asarray(vectors[:_SAMPLE], dtype=np.float32))
        progress("reading", store.fraction_read(), found.rows)
    found.tokens = found.words.total()
    if found.documents - found.duplicates < 2:
        raise InvalidInputError(
            f"{store.name}: has {found.documents - found.duplicates} distinct texts; attach needs "
            "texts and their stored vectors"
        )
    if not np.concatenate(found.sample).any():
        raise InvalidInputError(f"{store.name}: all vectors are 0; check the column of vectors")
    return found


def held(texts: Iterable[str]) -> NDArray[np.bool_]:
    """Return which documents are held out; this depends on their text, so every pass agrees."""
    return np.array([mark(text)[0] % HELD == 0 for text in texts], dtype=bool)


def is_taken(text: str, stride: int) -> bool:
    """Return whether a document is in the sample of every `stride`-th document."""
    return int.from_bytes(mark(text)[1:]) % stride == 0


def mark(text: str) -> bytes:
    """Return a hash of a text."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


def _check_one_model(rows: NDArray[np.float32]) -> list[str]:
    """Return warnings if rows seem to come from two models, or from two settings of one model."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    unit = np.abs(lengths - 1) < _UNIT
    share = float(unit.mean())
    if 0.01 < share < 0.99:
        return [
            f"{share:.0%} of the vectors have length 1, the others have median length "
            f"{np.median(lengths[~unit]):.3g}; did one model with the same settings make them all?"
        ]
    centred = rows - rows.mean(axis=0)
    _, values, directions = np.linalg.svd(centred[:_SAMPLE], full_matrices=False)
    line = centred @ directions[0]
    above = line > (line.max() + line.min()) / 2
    weight = float(above.mean())
    if not 0 < weight < 1:
        return []
    gap = float(line[above].mean() - line[~above].mean())
    explained = weight * (1 - weight) * gap**2 / max(float(line.var()), 1e-30)
    if explained > _GROUPS and values[0] ** 2 / (values**2).sum() > _SHARE:
        return [
            f"the vectors fall into two groups ({weight:.0%} and {1 - weight:.0%} of them); did "
            "one model with the same settings make them all?"
        ]
    return []
