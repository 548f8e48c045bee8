"""Count words and windowed co-occurrences in text.

The text is read once. Tokens become numbers in a temporary file (4 bytes per token, in memory if
there are few). Once the vocabulary is known, pairs are counted in hash tables that grow only with
the number of distinct pairs.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import processors
from conceptor.paper.ppmi.text import UNITS, number_corpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from conceptor.paper.ppmi.text import Corpus, Tokens, Unit

_IN_MEMORY = 64 << 20
_TOKENS_AT_ONCE = 1 << 22
_FIRST_PLACES = 1 << 16
_FULL = 0.6


@dataclass(frozen=True, eq=False, repr=False)
class Cooccurrence:
    """Counts of words and of pairs of words in a text.

    Attributes
    ----------
    words : list of str
        By descending count; ties in order of first appearance.
    counts : ndarray of int64
        How often each word occurs.
    tokens : int
        The number of tokens, including those outside the vocabulary.
    matrix : scipy.sparse.csr_array
        Entry (w, c) sums the weights of all occurrences of c in a window around w; float64.
    """

    words: list[str]
    counts: NDArray[np.int64]
    tokens: int
    matrix: Any

    def __repr__(self) -> str:
        return (
            f"Cooccurrence({len(self.words):,} words, {self.tokens:,} tokens, "
            f"{self.matrix.nnz:,} entries)"
        )


def cooccurrence(
    corpus: Corpus,
    *,
    window: int = 5,
    dynamic_window: bool = True,
    min_count: int = 10,
    max_words: int | None = None,
    tokens: Tokens = "words",
    lowercase: bool = True,
    unit: Unit = "line",
    threads: int | None = None,
    progress: Progress = silent,
) -> Cooccurrence:
    """Count words, and pairs of words within a window of each other.

    Parameters
    ----------
    corpus
        A file, or an iterable of texts (`str`) and files (paths); read once.
    window
        The number of context tokens on each side.
    dynamic_window
        Weight distance k by ``(window − k + 1) / window``, the expected value of word2vec's
        window of random size; otherwise all distances count equally.
    min_count, max_words
        The vocabulary: words at least this frequent, and at most this many. Other tokens keep
        their place in the text, so windows do not stretch over them ("clean" in Levy et al.).
    tokens, lowercase
        `words`: runs of letters, marks and digits with apostrophes inside; `spaces`: anything
        between spaces, for text that is already tokenised. Both in lower case, or unchanged.
    unit
        The boundary that windows do not cross: the end of a `line`, an empty line (`paragraph`, for
        text with wrapped lines), or only the end of a `document`.
    threads
        By default one per processor. It does not change the result, because sums are of integers.
    """
    _check(tokens, unit, window=window, min_count=min_count, max_words=max_words, threads=threads)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as numbers:
        found = number_corpus(corpus, numbers, tokens, lowercase, unit, progress)
        counts = found.counts[: found.known]
        total = int(counts.sum())
        order = np.argsort(-counts, kind="stable")[:max_words]
        order = order[counts[order] >= min_count]
        if not total:
            raise InvalidInputError("the corpus is empty: it contains no tokens; name another file")
        if len(order) < 2:
            raise InvalidInputError(
                f"{total:,} tokens, but {len(order)} word(s) occur at least {min_count} times; "
                "use a lower minimum count or more text"
            )
        words = list(found.words().take(order))
        renumbered = np.full(found.known + 2, -2, dtype=np.int32)
        renumbered[order] = np.arange(len(order), dtype=np.int32)
        renumbered[-1] = -1  # boundaries stay unchanged
        streamed = _read_numbers(numbers, renumbered, window, progress)
        weights = np.arange(window + 1, 0, -1) if dynamic_window else np.ones(window + 1, np.int64)
        pairs = _count_pairs(streamed, window, weights, len(order), threads or processors())
    matrix = _symmetrize(pairs, len(words))
    if dynamic_window:
        matrix.data /= window
    return Cooccurrence(words, counts[order], total, matrix)


def _check(tokens: str, unit: str, **numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise InvalidInputError(f"{name} must be at least 1, not {value}")
    if tokens not in ("words", "spaces"):
        raise InvalidInputError(f"tokens must be 'words' or 'spaces', not {tokens!r}")
    if unit not in UNITS:
        raise InvalidInputError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")


def _read_numbers(
    file: IO[bytes], renumbered: NDArray[np.int32], window: int, progress: Progress
) -> Iterator[tuple[NDArray[np.int32], int]]:
    """Yield blocks of renumbered tokens, each preceded by the last `window` of the one before."""
    size = file.tell()
    file.seek(0)
    before = np.zeros(0, dtype=np.int32)
    while data := file.read(4 * _TOKENS_AT_ONCE):
        done = file.tell()
        whole = np.concatenate([before, renumbered[np.frombuffer(data, dtype=np.int32)]])
        yield whole, len(before)
        before = whole[-window:]
        progress("counting", done / size, done // 4)


def _count_pairs(
    streamed: Iterator[tuple[NDArray[np.int32], int]],
    window: int,
    weights: NDArray[np.int64],
    words: int,
    threads: int,
) -> list[NDArray[np.uint64]]:
    """Count pairs, one shard per thread; return rows of key and weight."""
    shards = [_PairTable(window, weights, words, shard, threads) for shard in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        for tokens, begin in streamed:
            list(pool.map(lambda shard, t=tokens, b=begin: shard.add(t, b), shards))
        return list(pool.map(_PairTable.release, shards))


class _PairTable:
    """Sums of pair weights, in a hash table that grows with the number of pairs."""

    def __init__(
        self, window: int, weights: NDArray[np.int64], words: int, shard: int, shards: int
    ) -> None:
        self._fixed = (window, weights, words, shard, shards)
        self._table = np.zeros((_FIRST_PLACES, 2), dtype=np.uint64)
        self._used = 0

    def add(self, tokens: NDArray[np.int32], begin: int) -> None:
        """Count the pairs of all tokens from `begin` on."""
        from conceptor.kernels import count_pairs, move_pairs

        state = np.array([begin, self._used])
        while state[0] < len(tokens):
            limit = int(_FULL * len(self._table))
            count_pairs(tokens, *self._fixed, self._table, limit, state)
            if state[0] < len(tokens):
                larger = np.zeros((2 * len(self._table), 2), dtype=np.uint64)
                move_pairs(self._table, larger)
                self._table = larger
        self._used = int(state[1])

    def release(self) -> NDArray[np.uint64]:
        """Return the rows in use and free the table."""
        table, self._table = self._table, self._table[:0]
        return table[table[:, 0] > 0]


def _symmetrize(pairs: list[NDArray[np.uint64]], words: int) -> Any:  # noqa: ANN401
    """Return the symmetric matrix of pairs; a pair of equal words counts in both directions."""
    from scipy import sparse

    upper = sparse.csr_array((words, words), dtype=np.float64)
    while pairs:
        rows = pairs.pop()
        low, high = np.divmod(rows[:, 0] - np.uint64(1), np.uint64(words))
        where = (low.astype(np.int32), high.astype(np.int32))
        upper += sparse.coo_array((rows[:, 1].astype(np.float64), where), shape=upper.shape).tocsr()
    return (upper + upper.T).tocsr()
