"""One pass over vectors: moments for each weighting, wanted rows, frequent words, a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors.chunks import RowCollector, even_chunks, number_chunks, read_chunks
from conceptor.weights import FrequentWords

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.moments import Moments
    from conceptor.base.progress import Progress
    from conceptor.vectors.chunks import Chunks
    from conceptor.vectors.table import WordVectors
    from conceptor.vectors.vectors import Vectors
    from conceptor.weights import Weights

    # Reads vectors once: in this process, or on a cluster.
    Gatherer = Callable[[Vectors, "Request", Progress], "Gathered"]


@dataclass(frozen=True, eq=False)
class Request:
    """What one pass must find.

    Attributes
    ----------
    weights
        Compute the moments for each of these.
    wanted, first
        Keep the rows of these words, and this many of the first rows.
    whole
        Count all rows; otherwise reading stops when no further row takes part.
    usage
        Keep the words that are frequent by these weights.
    """

    weights: Collection[Weights] = ()
    wanted: Collection[str] = ()
    first: int = 0
    whole: bool = True
    usage: Weights | None = None

    @property
    def needs_words(self) -> bool:
        """Whether labels are looked at, not only rows."""
        return bool(self.wanted) or self.first > 0 or any(each.by_word for each in self._weightings)

    @property
    def last(self) -> int | None:
        """How many rows may take part; None if all of them may."""
        tops = [each.top for each in self._weightings if each.top is not None]
        is_open = self.whole or self.wanted or self.first or len(tops) < len(self._weightings)
        return None if is_open or not tops else max(tops)

    @property
    def _weightings(self) -> list[Weights]:
        return [*self.weights, *([] if self.usage is None else [self.usage])]


@dataclass(frozen=True, eq=False)
class Gathered:
    """The results of one pass; `frequent` are the words that are not rare, if known."""

    moments: dict[Weights, Moments]
    rows: WordVectors
    count: int
    frequent: FrequentWords | None = None

    def of(self, weights: Weights) -> Moments:
        """Return the moments for some weights; raise if no row took part."""
        if weights not in self.moments:
            raise InvalidInputError(
                f"the vectors contain none of the words to fit on ({weights.description}); does "
                "the vocabulary or the counts file belong to them?"
            )
        return self.moments[weights]


def gather(chunks: Chunks, request: Request, *, threads: int | None = None) -> Gathered:
    """Read a stream once.

    Several chunks are processed at a time. Sums are in the order of the stream and over fixed
    numbers of rows, so the result does not depend on the number or sizes of the chunks: every
    format of the same vectors gives the same bits.
    """
    totals: dict[Weights, Moments] = {}
    frequent: FrequentWords | None = None
    collector = RowCollector(request.wanted, request.first)
    weights, usage, needs_words = list(request.weights), request.usage, request.needs_words

    def moments_of(
        part: tuple[int, Sequence[str], NDArray[Any]],
    ) -> tuple[Sequence[str], NDArray[Any], list[Moments | None], FrequentWords | None]:
        before, words, rows = part
        if needs_words:  # packed words become strings once, not once for every weighting
            words = list(words)
        often = None if usage is None else FrequentWords.of(usage, words, before)
        return words, rows, [each.moments(words, rows, before) for each in weights], often

    numbered = number_chunks(even_chunks(_until(chunks, request.last)))
    # One BLAS thread for each of ours: small products do not split well, and the processors stay
    # free for the threads that have work, whether parsing or multiplying.
    with one_blas_thread():
        for words, rows, found, often in ordered_map(moments_of, numbered, threads or processors()):
            collector.add(words, rows)
            for each, more in zip(weights, found, strict=True):
                if more is not None:
                    totals[each] = totals[each] + more if each in totals else more
            if often is not None:
                frequent = often if frequent is None else frequent.add(often)
    return Gathered(totals, collector.table(), collector.count, frequent)


def gather_here(vectors: Vectors, request: Request, progress: Progress) -> Gathered:
    """Read vectors once, in this process."""
    return gather(read_chunks(vectors, progress), request)


def _until(chunks: Chunks, last: int | None) -> Iterator[Any]:
    """Stop reading when no further row takes part."""
    rows = 0
    for chunk in chunks:
        yield chunk
        rows += len(chunk[0])
        if last is not None and rows >= last:
            return
