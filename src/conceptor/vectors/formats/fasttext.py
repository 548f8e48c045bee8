"""fastText's `.bin` models: words with counts, and rows of words and n-grams to average.

A file is a head (parameters of the training), a dictionary of `word 0 count kind` entries, the
input matrix with one row per word and one per bucket of n-grams, and the output matrix of the
training. The vector of a word is the mean of its row and those of its n-grams. So a map is
applied to all rows, and words that the model has never seen improve as well.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically
from conceptor.base.progress import Progress, silent
from conceptor.vectors.formats.format import BLOCK_BYTES, Columns, Format, Target
from conceptor.vectors.formats.head import Head
from conceptor.vectors.formats.streams import open_byte_writer
from conceptor.vectors.vectors import Findings, Rows, Vectors

_MAGIC = b"\xba\x16\x4f\x2f"
_VERSIONS = (11, 12)
# Magic number, version, twelve parameters, and the threshold of subsampling; then how many
# entries, words, labels, tokens and kept n-grams.
_HEAD = struct.Struct("<14id")
_DICTIONARY = struct.Struct("<3i2q")
_MATRIX = struct.Struct("<?2q")
_AFTER_WORD = struct.Struct("<qb")  # the count and the kind
_CLASSIFIER = 3
_END_OF_LINE = b"</s>"
# The longest n-gram, in letters; models have 6. The time for a word of n letters is n times this.
_LONGEST_NGRAM = 100
_FNV_START, _FNV_FACTOR = 2166136261, np.uint32(16777619)


@dataclass(frozen=True, eq=False)
class Model:
    """A model's parameters and words, and its matrices, mapped into memory."""

    path: Path
    words: list[bytes]
    counts: list[int]
    matrices_at: int
    inputs: NDArray[np.float32]
    outputs: NDArray[np.float32]
    is_classifier: bool
    buckets: int
    shortest: int
    longest: int
    stamp: tuple[int, int]


def _open_model(path: Path) -> Model:
    state = path.stat()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            _, version, dimension, *parameters, _ = _HEAD.unpack_from(data)
            if version not in _VERSIONS:
                raise InvalidInputError(
                    f"{path}: a fastText model of version {version}; supported are "
                    f"{_VERSIONS[0]} and {_VERSIONS[1]}, which Facebook's library and gensim write"
                )
            is_classifier = parameters[6] == _CLASSIFIER
            buckets, shortest, longest = parameters[7:10]
            if version == _VERSIONS[0] and is_classifier:
                longest = 0  # they had no n-grams of letters, whatever their head states
            if buckets < 0 or not 0 <= longest <= _LONGEST_NGRAM:
                raise struct.error(f"{buckets} buckets for n-grams of up to {longest} letters")
            entries, words, _, _, pruned = _DICTIONARY.unpack_from(data, _HEAD.size)
            vocabulary: list[bytes] = []
            counts: list[int] = []
            position = _HEAD.size + _DICTIONARY.size
            for row in range(entries):
                end = data.find(b"\0", position)
                count, _ = _AFTER_WORD.unpack_from(data, end + 1)
                if end < 0:
                    raise struct.error(f"it ends within its {entries} words")
                if row < words:
                    vocabulary.append(data[position:end])
                    counts.append(count)
                position = end + 1 + _AFTER_WORD.size
            is_quantized, *_ = _MATRIX.unpack_from(data, position)
            if pruned >= 0 or is_quantized:
                raise InvalidInputError(
                    f"{path}: a quantized fastText model, whose vectors cannot be changed; use the "
                    "model it was made from, or its .vec file"
                )
            inputs, end = _map_matrix(path, data, position)
            outputs, end = _map_matrix(path, data, end)
            shapes = inputs.shape, outputs.shape[1], end, len(vocabulary)
            if shapes != ((words + buckets, dimension), dimension, len(data), words):
                raise struct.error("its matrices do not fit its words")
        except struct.error as error:
            raise InvalidInputError(
                f"{path}: a fastText model of {len(data)} bytes that is truncated or damaged "
                f"({error}); fetch it again"
            ) from None
    stamp = (state.st_mtime_ns, state.st_size)
    ngrams = (buckets, shortest, longest)
    return Model(path, vocabulary, counts, position, inputs, outputs, is_classifier, *ngrams, stamp)


def _map_matrix(path: Path, data: mmap.mmap, start: int) -> tuple[NDArray[np.float32], int]:
    """Return a matrix of the file, and where it ends."""
    _, rows, columns = _MATRIX.unpack_from(data, start)
    start += _MATRIX.size
    end = start + 4 * rows * columns
    if rows < 0 or columns <= 0 or end > len(data):
        raise struct.error(f"a matrix of {rows} × {columns}")
    return np.memmap(path, "<f4", "r", start, (rows, columns)), end


def _open(head: Head, findings: Findings, _: Columns) -> Vectors:
    model = _open_model(head.path)
    # Bytes that are not text raise an error with their place when the words are read.
    words = (word.decode(errors="replace") for word in model.words)
    counts = dict(zip(words, map(float, model.counts), strict=True))
    counts.pop(_END_OF_LINE.decode(), None)  # counts lines; it is not a word
    return Vectors(
        str(head.path),
        model.inputs.shape[1],
        partial(_read, model),
        estimate=len(model.words),
        # Equal counts are useless.
        counts=counts if len(set(counts.values())) > 1 else None,
        costly=True,
        findings=findings,
        extra=model,
    )


def _read(model: Model) -> Iterator[Rows]:
    """Compose the vectors of words as fastText does."""
    from scipy.sparse import csr_array

    step = max(1, BLOCK_BYTES // (4 * model.inputs.shape[1]))
    for start in range(0, len(model.words), step):
        words = model.words[start : start + step]
        places = np.arange(start, start + len(words))
        buckets, sizes = hash_ngrams(words, model.shortest, model.longest, model.buckets)
        # Each word's own row, then those of its n-grams, in the order in which fastText adds them.
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.insert(buckets + len(model.words), bounds[:-1], places)
        used, columns = np.unique(indices, return_inverse=True)
        ones = np.ones(len(indices), dtype=np.float32)
        sums = csr_array((ones, columns, bounds + np.arange(len(bounds))), (len(words), len(used)))
        scales = (1.0 / (1 + sizes)).astype(np.float32)
        rows = (sums @ model.inputs[used].astype(np.float32)) * scales[:, np.newaxis]
        labels = [word.decode(errors="surrogateescape") for word in words]
        yield Rows(labels, rows, places + 1)


def hash_ngrams(
    words: Sequence[bytes], shortest: int, longest: int, buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the buckets of the n-grams of all words, and how many each word has.

    An n-gram of letters (UTF-8 characters) of `<word>` has the bucket that the FNV-1a hash of its
    bytes gives; bytes are taken as signed, as fastText does. `</s>`, the end of a line, has none.
    All n-grams that begin at any letter grow by one letter at a time.
    """
    none = np.zeros(0, dtype=np.int64), np.zeros(len(words), dtype=np.int64)
    if not longest or not buckets:
        return none
    marked = [b"<" + word + b">" for word in words]
    text = np.frombuffer(b"".join(marked) + b" ", dtype=np.uint8)
    ends = np.cumsum([len(word) for word in marked])
    continues = text & 0xC0 == 0x80
    signed = text.view(np.int8).astype(np.int32).view(np.uint32)
    begins = np.flatnonzero(~continues[:-1])
    row = np.searchsorted(ends, begins, side="right")
    has_ngrams = np.array([word != _END_OF_LINE for word in words], dtype=np.bool_)
    begins, row = begins[has_ngrams[row]], row[has_ngrams[row]]
    end = ends[row]
    first = end - np.array([len(word) for word in marked])[row]
    table = np.zeros((len(begins), longest), dtype=np.int64)
    is_ngram = np.zeros((len(begins), longest), dtype=np.bool_)
    hashes = np.full(len(begins), _FNV_START, dtype=np.uint32)
    position = begins.copy()
    for length in range(1, longest + 1):
        growing = np.flatnonzero(position < end)
        grown = growing
        while len(growing):
            hashes[growing] = (hashes[growing] ^ signed[position[growing]]) * _FNV_FACTOR
            position[growing] += 1
            is_inside = (position[growing] < end[growing]) & continues[position[growing]]
            growing = growing[is_inside]
        # The marks alone are not n-grams.
        is_mark = (length == 1) & ((begins == first) | (position == end))
        if length >= shortest:
            table[:, length - 1] = hashes % np.uint32(buckets)
            is_ngram[grown, length - 1] = ~is_mark[grown]
    sizes = np.bincount(row, weights=is_ngram.sum(axis=1), minlength=len(words)).astype(np.int64)
    return table[is_ngram], sizes


def _rewrite(vectors: Vectors, target: Target, map_: AffineMap | None, progress: Progress) -> int:
    """Write the model with a map applied to all vectors; return its number of words.

    The output matrix, which only training uses, gets the inverse, so that training can continue.
    """
    model: Model = vectors.extra
    if model.is_classifier:
        raise InvalidInputError(
            f"{model.path}: a fastText classifier depends on its vectors, so they cannot change; "
            "write them to a .vec file"
        )
    if vectors.findings.on_error != "raise":
        raise InvalidInputError(
            f"{model.path}: a fastText model keeps all its words unchanged; leave out --on-error, "
            "or write a .vec file"
        )
    inputs = None if map_ is None else map_.linear()
    outputs = None if inputs is None else inputs.dual()
    with model.path.open("rb") as file:
        head = file.read(model.matrices_at)
    parameters = list(_HEAD.unpack_from(head))
    parameters[2] = model.inputs.shape[1] if map_ is None else map_.n_out
    parts = chain(
        (_HEAD.pack(*parameters), head[_HEAD.size :]),
        _map_rows(model.path, model.inputs, inputs, progress),
        _map_rows(model.path, model.outputs, outputs, silent),
    )
    assert target.path is not None  # it is not text
    with replace_atomically(target.path) as beside, open_byte_writer(beside) as stream:
        for part in parts:
            stream.write(part)
        state = model.path.stat()
        if (state.st_mtime_ns, state.st_size) != model.stamp:
            raise InvalidInputError(
                f"{model.path}: changed while it was being read; repeat the same call"
            )
    return len(model.words)


def _map_rows(
    path: Path, matrix: NDArray[np.float32], map_: AffineMap | None, progress: Progress
) -> Iterator[Any]:
    """Yield the bytes of a matrix after a map is applied to its rows."""
    rows, columns = matrix.shape
    yield _MATRIX.pack(False, rows, columns if map_ is None else map_.n_out)
    step = max(1, BLOCK_BYTES // (4 * columns))
    for start in range(0, rows, step):
        stored = np.array(matrix[start : start + step])
        progress("writing", start / rows, start)
        with np.errstate(over="ignore", invalid="ignore"):
            mapped = np.ascontiguousarray(stored if map_ is None else map_(stored), dtype="<f4")
        bad = np.flatnonzero(~np.isfinite(mapped).all(axis=1))
        if len(bad):
            raise InvalidInputError(
                f"{path}: row {start + bad[0] + 1} of a matrix has NaN, Inf or a number too "
                "large for float32"
            )
        yield mapped.data


FORMAT = Format(
    name="fasttext",
    description="Facebook's models, versions 11 and 12, not quantized; words as averages of their "
    "n-grams",
    magic=_MAGIC,
    open=_open,
    rewrite=_rewrite,
    kept_suffixes=(".bin",),
)
