"""fastText's `.bin` models: words with counts, and rows of words and n-grams to average.

A file is a head (parameters of the training), a dictionary of `word 0 count kind` entries, and the
input matrix with one row per word and one per bucket of n-grams; the output matrix of the training
follows. The vector of a word is the mean of its row and those of its n-grams.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.formats.format import BLOCK_BYTES, Columns, Format, starts_with
from conceptor.vectors.formats.head import Head
from conceptor.vectors.vectors import Findings, Rows, Vectors

_MAGIC = b"\xba\x16\x4f\x2f"
_VERSIONS = (11, 12)
_HEAD = struct.Struct("<14id")  # magic number, version, twelve parameters, a threshold
_DICTIONARY = struct.Struct("<3i2q")  # how many entries, words, labels, tokens, kept n-grams
_MATRIX = struct.Struct("<?2q")
_AFTER_WORD = struct.Struct("<qb")  # the count and the kind
_CLASSIFIER = 3
_END_OF_LINE = b"</s>"
# The longest n-gram, in letters; models have 6. The time for a word of n letters is n times this.
_LONGEST_NGRAM = 100
_FNV_START, _FNV_FACTOR = 2166136261, np.uint32(16777619)


def _open(head: Head, findings: Findings, _: Columns) -> Vectors:
    path = head.path
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            _magic, version, dimension, *parameters, _t = _HEAD.unpack_from(data)
            if version not in _VERSIONS:
                raise InvalidInputError(
                    f"{path}: a fastText model of version {version}; supported are "
                    f"{_VERSIONS[0]} and {_VERSIONS[1]}, which Facebook's library and gensim write"
                )
            buckets, shortest, longest = parameters[7:10]
            if version == _VERSIONS[0] and parameters[6] == _CLASSIFIER:
                longest = 0  # they had no n-grams of letters, whatever their head states
            if buckets < 0 or not 0 <= longest <= _LONGEST_NGRAM:
                raise struct.error(f"{buckets} buckets for n-grams of up to {longest} letters")
            entries, size, _labels, _tokens, pruned = _DICTIONARY.unpack_from(data, _HEAD.size)
            words: list[bytes] = []
            counts: list[float] = []
            position = _HEAD.size + _DICTIONARY.size
            for row in range(entries):
                end = data.find(b"\0", position)
                count, _kind = _AFTER_WORD.unpack_from(data, end + 1)
                if end < 0:
                    raise struct.error(f"it ends within its {entries} words")
                if row < size:
                    words.append(data[position:end])
                    counts.append(float(count))
                position = end + 1 + _AFTER_WORD.size
            is_quantized, rows, columns = _MATRIX.unpack_from(data, position)
            if pruned >= 0 or is_quantized:
                raise InvalidInputError(
                    f"{path}: a quantized fastText model, whose vectors cannot be changed; use the "
                    "model it was made from, or its .vec file"
                )
            position += _MATRIX.size
            if (len(words), rows, columns) != (size, size + buckets, dimension) or dimension <= 0:
                raise struct.error("its matrices do not fit its words")
            end = position + 4 * rows * columns
            _quantized, *shape = _MATRIX.unpack_from(data, end)
            if end + _MATRIX.size + 4 * shape[0] * shape[1] != len(data):
                raise struct.error(f"its last matrix is {shape[0]} × {shape[1]}")
        except struct.error as error:
            raise InvalidInputError(
                f"{path}: a fastText model of {len(data)} bytes that is truncated or damaged "
                f"({error}); fetch it again"
            ) from None
    inputs = np.memmap(path, "<f4", "r", position, (rows, columns))
    # Bytes that are not text raise an error with their place when the words are read.
    by_word = dict(zip((word.decode(errors="replace") for word in words), counts, strict=True))
    by_word.pop(_END_OF_LINE.decode(), None)  # counts lines; it is not a word
    return Vectors(
        str(path),
        dimension,
        partial(_read, words, inputs, shortest, longest, buckets),
        estimate=size,
        # Equal counts are useless.
        counts=by_word if len(set(by_word.values())) > 1 else None,
        costly=True,
        findings=findings,
    )


def _read(
    words: Sequence[bytes], inputs: NDArray[np.float32], shortest: int, longest: int, buckets: int
) -> Iterator[Rows]:
    """Compose the vectors of words as fastText does: the mean of their own row and the n-grams'."""
    from scipy.sparse import csr_array

    step = max(1, BLOCK_BYTES // (4 * inputs.shape[1]))
    for start in range(0, len(words), step):
        part = words[start : start + step]
        own = np.arange(len(part))
        word, bucket = hash_ngrams(part, shortest, longest, buckets)
        places = np.concatenate([start + own, len(words) + bucket])
        used, columns = np.unique(places, return_inverse=True)
        pairs = np.concatenate([own, word]), columns
        ones = np.ones(len(columns), dtype=np.float32)
        sums = csr_array((ones, pairs), (len(part), len(used))) @ inputs[used].astype("f4")
        sizes = 1 + np.bincount(word, minlength=len(part)).astype(np.float32)
        labels = [each.decode(errors="surrogateescape") for each in part]
        yield Rows(labels, sums / sizes[:, np.newaxis], start + own + 1)


def hash_ngrams(
    words: Sequence[bytes], shortest: int, longest: int, buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the n-grams of all words: the index of the word, and the bucket, for each.

    The bucket of an n-gram of UTF-8 characters of `<word>` is the FNV-1a hash of its bytes, taken
    as signed. `</s>` has none, and the marks alone are not n-grams. All grow by a byte at a time.
    """
    marked = [b"<" + word + b">" for word in words]
    ends = np.cumsum([len(each) for each in marked])
    firsts = ends - [len(each) for each in marked]
    text = np.frombuffer(b"".join(marked) + b" ", dtype=np.uint8)
    continues = text & 0xC0 == 0x80
    signed = text.view(np.int8).astype(np.int32).view(np.uint32)
    begins = np.flatnonzero(~continues[:-1])
    word = np.searchsorted(ends, begins, side="right")
    has_ngrams = np.array([each != _END_OF_LINE for each in words], dtype=np.bool_)[word]
    word, begins = word[has_ngrams], begins[has_ngrams]
    if not longest or not buckets:
        return word[:0], begins[:0]
    position, letters = begins, np.zeros(len(begins), dtype=np.int64)
    hashes = np.full(len(begins), _FNV_START, dtype=np.uint32)
    parts = [(word[:0], begins[:0])]
    while len(position):
        hashes = (hashes ^ signed[position]) * _FNV_FACTOR
        position = position + 1
        is_letter = ~continues[position]
        letters = letters + is_letter
        is_mark = (letters == 1) & ((begins == firsts[word]) | (position == ends[word]))
        is_ngram = is_letter & (letters >= shortest) & ~is_mark
        parts.append((word[is_ngram], (hashes[is_ngram] % np.uint32(buckets)).astype(np.int64)))
        grows = (position < ends[word]) & ~(is_letter & (letters == longest))
        word, begins, position = word[grows], begins[grows], position[grows]
        letters, hashes = letters[grows], hashes[grows]
    rows, hashed = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(hashed)


FORMAT = Format(
    name="fasttext",
    description="Facebook's models, versions 11 and 12, not quantized; words as averages of their "
    "n-grams",
    recognize=starts_with(_MAGIC),
    open=_open,
)
