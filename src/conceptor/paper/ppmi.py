"""Word vectors from text: co-occurrence counts, PPMI, and a truncated SVD.

Levy, Goldberg & Dagan (2015), Improving Distributional Similarity with Lessons Learned from Word
Embeddings, TACL. The text is read once, in about 16 bytes per token. Nothing is random.

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
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
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
SMOOTHING = 0.75
_TOKENS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Counts of words, sorted (ties by first appearance), and of all tokens.

    Entry (w, c) of the sparse `matrix` sums the weights of all occurrences of c in a window
    around w.
    """

    words: list[str]
    counts: NDArray[np.int64]
    tokens: int
    matrix: Any


def cooccurrence(
    corpus: Corpus, *, window: int = 5, min_count: int = 10, progress: Progress = silent
) -> Cooccurrence:
    """Count words, and pairs of words within a window of each other.

    A corpus is the name of a file (which may be compressed), or several documents, of which paths
    are files and each `str` is a text itself. Words are runs of letters, marks and digits with
    apostrophes inside, in lower case. Windows end with the line; distance k has the weight
    ``(window − k + 1) / window``, the expected value of word2vec's window of random size. Rare
    words keep their place, so windows do not stretch over them ("clean" in Levy et al.).
    """
    from scipy import sparse

    if window < 1:
        raise InvalidInputError(f"window must be at least 1, not {window}")
    numbers, words = _number_tokens(corpus, progress)
    counts = np.bincount(numbers, minlength=len(words))
    counts[0] = 0  # ends of lines
    total = int(counts.sum())
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= max(min_count, 1)]
    if not total:
        raise InvalidInputError("the corpus is empty: it contains no tokens; name another file")
    if len(order) < 2:
        few = f"{len(order)} word(s) occur at least {min_count} times"
        raise InvalidInputError(f"{total:,} tokens, but {few}; lower that count or use more text")
    renumbered = np.full(len(words), -1, dtype=np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    is_token = numbers != 0
    lines = np.cumsum(~is_token, dtype=np.int32)[is_token]
    places = renumbered[numbers[is_token]]
    matrix = sparse.csr_array((len(order), len(order)), dtype=np.float64)
    for start in range(0, total, _TOKENS_AT_ONCE):
        for distance in range(1, window + 1):
            stop = max(start, min(start + _TOKENS_AT_ONCE, total - distance))
            near, far = slice(start, stop), slice(start + distance, stop + distance)
            is_pair = (lines[near] == lines[far]) & (places[near] >= 0) & (places[far] >= 0)
            entries = np.full(np.count_nonzero(is_pair), float(window - distance + 1))
            at = (places[near][is_pair], places[far][is_pair])
            matrix += sparse.coo_array((entries, at), shape=matrix.shape).tocsr()
        progress("counting", min(1.0, start / total), start)
    matrix = (matrix + matrix.T).tocsr()
    matrix.data /= window
    return Cooccurrence([words[i] for i in order], counts[order], total, matrix)


def ppmi(counted: Cooccurrence) -> Any:  # noqa: ANN401 - a sparse matrix, which has no types
    """Return ``max(0, log(P(w, c) / (P(w) P_a(c))))`` as a sparse float32 matrix.

    ``P_a(c) = #(c)^0.75 / Σ #(c)^0.75``, which keeps rare contexts from dominating.
    """
    from scipy import sparse

    counts = counted.matrix.tocoo()
    rows, columns = counts.coords
    marginal = counts.sum(axis=1)
    with np.errstate(divide="ignore"):  # a word without neighbors has no entries either
        log_marginal = np.log(marginal)
    constant = np.log(np.sum(marginal[marginal > 0] ** SMOOTHING))
    data = np.log(counts.data) - log_marginal[rows] - SMOOTHING * log_marginal[columns] + constant
    is_positive = data > 0
    where = (rows[is_positive], columns[is_positive])
    return sparse.csr_array((data[is_positive].astype(np.float32), where), shape=counts.shape)


def truncated_svd(matrix: Any, dimension: int) -> tuple[Float64, Float64]:  # noqa: ANN401
    """Return the leading left singular vectors Θ and singular values D (descending).

    A fixed start and each column's largest component made positive give the same output for the
    same input. What is zero up to rounding is set to zero.
    """
    from scipy.sparse.linalg import svds

    if not 0 < dimension < min(matrix.shape):
        raise InvalidInputError(
            f"vectors of dimension {dimension} need a vocabulary of more than {dimension} words; "
            f"there are {matrix.shape[0]}"
        )
    if not matrix.count_nonzero():
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
    scale = np.power(values, power, out=np.zeros_like(values), where=values > 0)
    return (theta * scale).astype(np.float32)


def _number_tokens(corpus: Corpus, progress: Progress) -> tuple[NDArray[np.int32], list[str]]:
    """Return the number of each word and line end, and the words by number."""
    pattern = _word_or_line_end()
    numbers = {"\n": 0}
    sequence = array("i")
    documents = [Path(corpus)] if isinstance(corpus, (str, os.PathLike)) else corpus
    for document in documents:
        texts = [document] if isinstance(document, str) else _read_file(Path(document))
        for text in chain(texts, ["\n"]):
            # An underscore is a word character for Python's regular expressions only.
            plain = text.lower().replace("’", "'").replace("_", ".")
            words = pattern.findall(plain)
            sequence.extend([numbers.setdefault(word, len(numbers)) for word in words])
            progress("reading", None, len(sequence))
    return np.array(sequence, dtype=np.int32), list(numbers)


@cache
def _word_or_line_end() -> re.Pattern[str]:
    marks = "".join(chr(c) for c in range(sys.maxunicode) if category(chr(c))[0] == "M")
    letter = rf"[\w{marks}]"
    return re.compile(rf"{letter}+(?:'{letter}+)*|\n")


def _read_file(path: Path) -> Iterator[str]:
    """Yield the text in pieces that end with a space or a line."""
    if not path.is_file():
        problem = "is a directory" if path.is_dir() else "no such file"
        raise InvalidInputError(f"{path}: {problem}; name a text file")
    rest, offset = b"", 0
    with ByteReader(path) as reader:
        while data := reader.read(BLOCK_BYTES):
            data = rest + data
            cut = max(data.rfind(b" "), data.rfind(b"\n")) + 1
            yield _decode(data[:cut], path, offset)
            rest, offset = data[cut:], offset + cut
        yield _decode(rest, path, offset)


def _decode(data: bytes, path: Path, offset: int) -> str:
    try:
        text = data.decode()
        if "\0" not in text:
            return text
        wrong, place = "a NUL character", data.index(0)
    except UnicodeDecodeError as error:
        place = error.start
        wrong = f"0x{data[place]:02x}"
    raise InvalidInputError(
        f"{path}, byte {offset + place}: {wrong} is not UTF-8 text; convert the file first, e.g. "
        "with iconv -f latin1 -t utf-8 (or -f utf-16)"
    )
