"""Word vectors from text: co-occurrence counts, PPMI, and a truncated SVD.

Levy, Goldberg & Dagan (2015), Improving Distributional Similarity with Lessons Learned from Word
Embeddings, TACL. The text is read once, and takes about 16 bytes of memory per token. Nothing is
random.

Examples
--------
>>> text = ["the cat sat on the mat", "the dog sat on the rug"] * 5
>>> counted = cooccurrence(text, min_count=1)
>>> theta, d = truncated_svd(ppmi(counted), 3)
>>> counted.words[:3], weight_eigenvalues(theta, d, power=0.5).shape
(['the', 'sat', 'on'], (7, 3))
"""

from __future__ import annotations

import os
import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.vectors.formats.streams import ByteReader

if TYPE_CHECKING:
    Corpus = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

BLOCK_BYTES = 1 << 20
# Text has spaces; a file with none in this many bytes is not text.
LONGEST_WORD_BYTES = 1 << 26
_TOKENS_AT_ONCE = 1 << 22
_END = "\0"  # of a line, paragraph or document


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Counts of words and of pairs of words in a text.

    `words` are sorted by `counts`, ties in order of first appearance; `tokens` is the number of all
    tokens. Entry (w, c) of the sparse `matrix` sums the weights of all occurrences of c in a window
    around w.
    """

    words: list[str]
    counts: NDArray[np.int64]
    tokens: int
    matrix: Any


def cooccurrence(
    corpus: Corpus,
    *,
    window: int = 5,
    min_count: int = 10,
    max_words: int | None = None,
    tokens: Literal["words", "spaces"] = "words",
    lowercase: bool = True,
    unit: Literal["line", "paragraph", "document"] = "line",
    progress: Progress = silent,
) -> Cooccurrence:
    """Count words, and pairs of words within a window of each other.

    Parameters
    ----------
    corpus
        The name of a file (which may be compressed), or several documents: paths are files, and
        each `str` is a text itself.
    window
        The number of context tokens on each side. Distance k has the weight
        ``(window − k + 1) / window``, the expected value of word2vec's window of random size.
    min_count, max_words
        The vocabulary: words at least this frequent, and at most this many. Other tokens keep
        their place in the text, so windows do not stretch over them ("clean" in Levy et al.).
    tokens, lowercase
        `words`: runs of letters, marks and digits with apostrophes inside; `spaces`: anything
        between spaces, for tokenized text. Both in lower case, or unchanged.
    unit
        The boundary that windows do not cross: the end of a `line`, an empty line (`paragraph`, for
        text with wrapped lines), or only the end of a `document`.
    """
    from scipy import sparse

    sizes = {"window": window, "min_count": min_count, "max_words": max_words}
    for name, value in sizes.items():
        if value is not None and value < 1:
            raise InvalidInputError(f"{name} must be at least 1, not {value}")
    numbers, words = _number_tokens(corpus, tokens, lowercase, unit, progress)
    counts = np.bincount(numbers, minlength=len(words))
    counts[0] = 0  # boundaries
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
    renumbered = np.full(len(words), -1, dtype=np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    is_token = numbers != 0
    units = np.cumsum(~is_token, dtype=np.int32)[is_token]
    places = renumbered[numbers[is_token]]
    matrix = sparse.csr_array((len(order), len(order)), dtype=np.float64)
    for start in range(0, total, _TOKENS_AT_ONCE):
        for distance in range(1, window + 1):
            stop = max(start, min(start + _TOKENS_AT_ONCE, total - distance))
            near, far = slice(start, stop), slice(start + distance, stop + distance)
            is_pair = (units[near] == units[far]) & (places[near] >= 0) & (places[far] >= 0)
            entries = np.full(np.count_nonzero(is_pair), float(window - distance + 1))
            at = (places[near][is_pair], places[far][is_pair])
            matrix += sparse.coo_array((entries, at), shape=matrix.shape).tocsr()
        progress("counting", min(1.0, start / total), start)
    matrix = (matrix + matrix.T).tocsr()
    matrix.data /= window
    return Cooccurrence([words[i] for i in order], counts[order], total, matrix)


def ppmi(
    counted: Cooccurrence,
    *,
    smoothing: float = 0.75,
    shift: float = 1.0,
) -> Any:  # noqa: ANN401 - a sparse matrix, which has no types
    """Return ``max(0, log(P(w, c) / (P(w) P_a(c))) − log k)`` as a sparse float32 matrix.

    `smoothing` is a in ``P_a(c) = #(c)^a / Σ #(c)^a``: below 1 it keeps rare contexts from
    dominating. `shift` is k ≥ 1, the number of negative samples in the word2vec analogy.
    """
    from scipy import sparse

    if not 0 <= smoothing <= 1:
        raise InvalidInputError(f"smoothing must be between 0 and 1, not {smoothing}")
    if not 1 <= shift < np.inf:
        raise InvalidInputError(f"shift must be at least 1 (no shift), not {shift}")
    counts = counted.matrix.tocoo()
    rows, columns = counts.coords
    marginal = counts.sum(axis=1)
    with np.errstate(divide="ignore"):  # a word without neighbors has no entries either
        log_marginal = np.log(marginal)
    constant = np.log(np.sum(marginal[marginal > 0] ** smoothing)) - np.log(shift)
    data = np.log(counts.data) - log_marginal[rows] - smoothing * log_marginal[columns] + constant
    is_positive = data > 0
    where = (rows[is_positive], columns[is_positive])
    return sparse.csr_array((data[is_positive].astype(np.float32), where), shape=counts.shape)


def truncated_svd(matrix: Any, dimension: int) -> tuple[Float64, Float64]:  # noqa: ANN401
    """Return the leading left singular vectors Θ and singular values D (descending).

    Uses Lanczos (ARPACK) on the Gram operator from a fixed start, and makes each column's largest
    component positive, so the same input gives the same output. Singular values that are zero up
    to rounding are set to zero, and so are their columns.
    """
    from scipy.sparse.linalg import svds

    if not 0 < dimension < min(matrix.shape):
        raise InvalidInputError(
            f"vectors of dimension {dimension} need a vocabulary of more than {dimension} words; "
            f"there are {matrix.shape[0]}"
        )
    if matrix.nnz == 0:
        raise InvalidInputError("no pair of words occurs more often than by chance; use more text")
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    # One BLAS thread: on ARPACK's thin products several threads mostly wait for each other.
    with one_blas_thread():
        left, values, _ = svds(matrix, k=dimension, v0=start.astype(matrix.dtype))
    order = np.argsort(-values)
    left, values = left[:, order].astype(np.float64), values[order].astype(np.float64)
    leading = np.abs(left).argmax(axis=0)
    left *= np.where(left[leading, np.arange(dimension)] < 0, -1.0, 1.0)
    is_zero = values <= values[0] * np.finfo(matrix.dtype).eps * np.sqrt(max(matrix.shape))
    values[is_zero] = 0.0
    left[:, is_zero] = 0.0
    return left, values


def weight_eigenvalues(theta: Float64, values: Float64, power: float = 0.5) -> NDArray[np.float32]:
    """Return the vectors ``Θ D^p``; zero singular values stay zero for any p."""
    if not np.isfinite(power):
        raise InvalidInputError(f"power must be a finite number, not {power}")
    scale = np.power(values, power, out=np.zeros_like(values), where=values > 0)
    return (theta * scale).astype(np.float32)


def _number_tokens(
    corpus: Corpus, tokens: str, lowercase: bool, unit: str, progress: Progress
) -> tuple[NDArray[np.int32], list[str]]:
    """Return the number of each token and boundary, and the words by number."""
    pattern = re.compile(_word_pattern() if tokens == "words" else r"[^\s\0]+|\0")
    numbers = {_END: 0}
    sequence = array("i")
    for text in _read_texts(corpus):
        if unit == "line":
            text = text.replace("\n", _END)
        elif unit == "paragraph":
            text = re.sub(r"\n[ \t\r\v\f]*(?=\n)", _END, text)
        if lowercase:
            text = text.lower()
        if tokens == "words":
            # An underscore is a word character for Python's regular expressions only.
            text = text.replace("’", "'").replace("_", ".")
        sequence.extend([numbers.setdefault(word, len(numbers)) for word in pattern.findall(text)])
        progress("reading", None, len(sequence))
    return np.array(sequence, dtype=np.int32), list(numbers)


@cache
def _word_pattern() -> str:
    """Return the pattern of a word or boundary: letters, digits and marks, apostrophes inside."""
    marks = "".join(chr(c) for c in range(sys.maxunicode) if category(chr(c))[0] == "M")
    letter = rf"[\w{marks}]"
    return rf"{letter}+(?:'{letter}+)*|\0"


def _read_texts(corpus: Corpus) -> Iterator[str]:
    """Yield text in pieces that end with a word; `_END` follows each document."""
    if isinstance(corpus, (str, os.PathLike)):
        corpus = [Path(corpus)]
    for document in corpus:
        if isinstance(document, os.PathLike):
            yield from _read_file(Path(document))
        else:
            yield document
        yield _END


def _read_file(path: Path) -> Iterator[str]:
    if not path.is_file():
        problem = "is a directory" if path.is_dir() else "no such file"
        raise InvalidInputError(f"{path}: {problem}; name a text file")
    rest, offset, is_last = b"", 0, False
    with ByteReader(path) as reader:
        while not is_last:
            data = reader.read(BLOCK_BYTES)
            is_last = not data
            data = rest + data
            # White space goes to the next piece, so that an empty line is in one of them.
            cut = len(data[: max(data.rfind(space) for space in b" \n\t\r") + 1].rstrip())
            if is_last:
                cut = len(data)
            elif len(data) - cut > LONGEST_WORD_BYTES:
                raise InvalidInputError(
                    f"{path}, byte {offset + cut}: {len(data) - cut} bytes without a space or line "
                    "break; this is not text"
                )
            try:
                text = data[:cut].decode()
            except UnicodeDecodeError as error:
                raise InvalidInputError(
                    f"{path}, byte {offset + error.start}: 0x{data[error.start]:02x} is not UTF-8; "
                    "convert the file first, e.g. with iconv -f latin1 -t utf-8"
                ) from None
            if _END in text:
                raise InvalidInputError(
                    f"{path}, byte {offset + data.index(0)}: a NUL character; this is not UTF-8 "
                    "text (UTF-16 can be converted with iconv -f utf-16 -t utf-8)"
                )
            yield text.removeprefix("\ufeff") if offset == 0 else text
            rest, offset = data[cut:], offset + cut
