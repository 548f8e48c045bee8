"""fastText's `.bin` models: words with counts, and rows of words and n-grams to average.

A file is a head (parameters of the training), a dictionary of `word 0 count kind` entries, the
input matrix with one row per word and one per bucket of n-grams, and the output matrix of the
training. The vector of a word is the mean of its row and those of its n-grams. So a map is
applied to all rows, and words that the model has never seen improve as well.
"""

from __future__ import annotations

import struct
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.files import name_in_errors, replace_atomically
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors.formats.format import Format, starts_with
from conceptor.vectors.formats.npy import read_exactly
from conceptor.vectors.source import BLOCK_BYTES, LARGEST, Chunk, LocatedChunk, VectorSource
from conceptor.vectors.streams import open_byte_writer
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress
    from conceptor.vectors.vectors import Vectors

_NAME = "fasttext"
MAGIC = b"\xba\x16\x4f\x2f"
_VERSIONS = (11, 12)
# Magic number, version, twelve parameters, and the threshold of subsampling; then how many
# entries, words, labels, tokens and kept n-grams.
_HEAD = struct.Struct("<14id")
_DICTIONARY = struct.Struct("<3i2q")
_MATRIX = struct.Struct("<?2q")
_COUNT_AND_KIND = np.dtype([("count", "<i8"), ("kind", "i1")])
_CLASSIFIER = 3
_END_OF_LINE = "</s>"
# The longest n-gram, in letters; models have 6. The time for a word of n letters is n times this.
_LONGEST_NGRAM = 100


class _Matrix(NamedTuple):
    """A matrix of float32 inside a file."""

    rows: int
    columns: int
    start: int

    @property
    def end(self) -> int:
        return self.start + 4 * self.rows * self.columns


class FastTextSource(VectorSource):
    """Reads a model's words with their vectors, as fastText composes them."""

    format = _NAME

    def __init__(self, path: Path) -> None:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        if len(data) < _HEAD.size + _DICTIONARY.size:
            raise _damaged(path, "it ends within its head")
        _, version, dimension, *parameters, _ = _HEAD.unpack_from(data.data)
        if version not in _VERSIONS:
            raise InvalidInputError(
                f"{path}: a fastText model of version {version}; supported are {_VERSIONS[0]} and "
                f"{_VERSIONS[1]}, which Facebook's library and gensim write"
            )
        self.is_classifier = parameters[6] == _CLASSIFIER
        self._buckets, self._shortest, longest = parameters[7:10]
        # Classifiers of the first version had no n-grams of letters, whatever their head states.
        self._longest = 0 if version == _VERSIONS[0] and self.is_classifier else longest
        entries, words, labels, _, pruned = _DICTIONARY.unpack_from(data.data, _HEAD.size)
        if self._buckets < 0 or not 0 <= self._longest <= _LONGEST_NGRAM:
            raise _damaged(
                path, f"{self._buckets} buckets for n-grams of up to {self._longest} letters"
            )
        if min(entries, words, labels) < 0 or words + labels != entries:
            raise _damaged(path, f"{entries} entries cannot be {words} words and {labels} labels")
        self._starts, self._ends, self._matrices_at = _scan(path, data, entries)
        self._words: int = words
        if pruned >= 0 or data[self._matrices_at : self._matrices_at + 1].any():
            raise InvalidInputError(
                f"{path}: a quantised fastText model, whose vectors cannot be changed; use the "
                "model it was made from, or its .vec file"
            )
        self._input = _matrix_at(path, data, self._matrices_at)
        self._output = _matrix_at(path, data, self._input.end)
        if self._output.end != len(data):
            raise _damaged(path, f"{len(data) - self._output.end} bytes follow its matrices")
        if (self._input.rows, self._input.columns) != (words + self._buckets, dimension):
            raise _damaged(
                path,
                f"an input matrix of {self._input.rows} × {self._input.columns} for {words} words "
                f"and {self._buckets} buckets in {dimension} dimensions",
            )
        if self._output.columns != dimension:
            raise _damaged(path, f"an output matrix of {self._output.columns} columns")
        self._data = data
        self._done = 0
        super().__init__(path, dimension, np.dtype("<f4"))

    @cached_property
    def counts(self) -> Mapping[str, float] | None:
        """How often each word occurred in the training text, if the model contains counts."""
        after = self._ends[: self._words, np.newaxis] + 1 + np.arange(_COUNT_AND_KIND.itemsize)
        found = self._data[after].view(_COUNT_AND_KIND)["count"][:, 0]
        words = PackedWords.cut(self._data, self._starts, self._ends)[: self._words]
        # Bytes that are not text raise an error with their place when the words are read.
        decoded = (words.raw(i).decode(errors="replace") for i in range(self._words))
        counts = dict(zip(decoded, found.tolist(), strict=True))
        counts.pop(_END_OF_LINE, None)  # counts lines; it is not a word
        return counts if len(set(counts.values())) > 1 else None  # equal counts are useless

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._done / max(self._words, 1)

    def _decode(self) -> Iterator[LocatedChunk]:
        step = max(1, BLOCK_BYTES // (4 * self.dimension))
        buckets_at = self._input.start + 4 * self._words * self.dimension
        # Unaligned reads: every processor that Numba supports allows them.
        ngrams = None
        if self._longest and self._buckets:
            shape = (self._buckets, self.dimension)
            ngrams = np.memmap(self.path, np.dtype("<f4"), "r", buckets_at, shape)

        def compose(start: int) -> LocatedChunk:
            from conceptor.kernels import add_ngrams

            stop = min(start + step, self._words)
            words = PackedWords.cut(self._data, self._starts[start:stop], self._ends[start:stop])
            rows = self._read_rows(self._input, start, stop)
            if ngrams is not None:
                add_ngrams(words.blob, words.offsets, ngrams, self._shortest, self._longest, rows)
            return LocatedChunk(Chunk(words, rows), np.arange(start + 1, stop + 1))

        for located in ordered_map(compose, range(0, self._words, step), processors()):
            self._done = int(located.places[-1])
            yield located

    def write_mapped(
        self, target: Path, map_: AffineMap | None, progress: Progress = silent
    ) -> int:
        """Write the model with a map applied to all vectors; return its number of words.

        The output matrix, which only training uses, gets the inverse, so that training can
        continue. The file appears complete or not at all.
        """
        inputs = None if map_ is None else map_.linear()
        outputs = None if inputs is None else inputs.dual()
        head = list(_HEAD.unpack_from(self._data.data))
        head[2] = self.dimension if map_ is None else map_.n_out
        parts = chain(
            (_HEAD.pack(*head), self._data[_HEAD.size : self._matrices_at].data),
            self._mapped_matrix(self._input, inputs, progress),
            self._mapped_matrix(self._output, outputs, silent),
        )
        with (
            one_blas_thread(),
            replace_atomically(target) as beside,
            open_byte_writer(beside, None, "") as stream,
        ):
            for part in parts:
                with name_in_errors(target):
                    stream.write(part)
            self._check_unchanged()
        return self._words

    def _mapped_matrix(
        self, matrix: _Matrix, map_: AffineMap | None, progress: Progress
    ) -> Iterator[bytes | memoryview]:
        """Yield the bytes of a matrix after a map is applied to its rows."""
        from conceptor.kernels import first_beyond

        step = max(1, BLOCK_BYTES // (4 * matrix.columns))

        def mapped(start: int) -> NDArray[np.float32]:
            rows = self._read_rows(matrix, start, min(start + step, matrix.rows))
            rows = rows if map_ is None else map_(rows)
            bad = first_beyond(rows, LARGEST)
            if bad >= 0:
                raise InvalidInputError(
                    f"{self.path}: row {start + bad + 1} of a matrix has NaN, Inf or a number too "
                    "large for float32"
                )
            return rows

        done = 0
        yield _MATRIX.pack(False, matrix.rows, matrix.columns if map_ is None else map_.n_out)
        for rows in ordered_map(mapped, range(0, matrix.rows, step), processors()):
            yield np.ascontiguousarray(rows, dtype="<f4").data
            done += len(rows)
            progress("writing", done / matrix.rows, done)

    def _read_rows(self, matrix: _Matrix, start: int, stop: int) -> NDArray[np.float32]:
        rows = np.empty((stop - start, matrix.columns), dtype="<f4")
        with self.path.open("rb", buffering=0) as file:
            file.seek(matrix.start + 4 * start * matrix.columns)
            read_exactly(cast("BinaryIO", file), rows.reshape(-1), self.path)
        return rows


def check_model(source: VectorSource | None) -> None:
    """Raise unless a source is a model that can be written with new vectors."""
    if source is None:
        raise InvalidInputError("a fastText model can only be written from another fastText model")
    if not isinstance(source, FastTextSource):
        raise InvalidInputError(
            f"{source.path}: {source.format} has no n-grams, which a fastText model needs; "
            "use another format, such as ",
            Setting("format", "word2vec-binary"),
        )
    if source.is_classifier:
        raise InvalidInputError(
            f"{source.path}: a fastText classifier depends on its vectors, so they cannot change; "
            "write them to a .vec file"
        )
    if source.replace_spaces is not None or source.on_error != "raise":
        raise InvalidInputError(
            f"{source.path}: a fastText model keeps all its words unchanged; leave out "
            "replace_spaces and on_error, or write a .vec file"
        )


def _scan(
    path: Path, data: NDArray[np.uint8], entries: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return where the words begin and end, and where the dictionary ends."""
    from conceptor.kernels import scan_dictionary

    if entries * (_COUNT_AND_KIND.itemsize + 1) > len(data):
        raise _damaged(path, f"it is too short for {entries} words")
    starts, ends = np.empty((2, entries), dtype=np.int64)
    end = scan_dictionary(data, _HEAD.size + _DICTIONARY.size, starts, ends)
    if end < 0:
        raise _damaged(path, f"it ends within its {entries} words")
    return starts, ends, end


def _matrix_at(path: Path, data: NDArray[np.uint8], start: int) -> _Matrix:
    """Find a matrix in the file, and check that the file holds all of it."""
    if start + _MATRIX.size > len(data):
        raise _damaged(path, "it ends before its matrices")
    _, rows, columns = _MATRIX.unpack_from(data.data, start)
    found = _Matrix(rows, columns, start + _MATRIX.size)
    if rows < 0 or not 0 < columns <= len(data) or found.end > len(data):
        raise _damaged(path, f"a matrix of {rows} × {columns} needs {found.end} bytes in all")
    return found


def _damaged(path: Path, found: str) -> InvalidInputError:
    size = path.stat().st_size
    return InvalidInputError(
        f"{path}: a fastText model of {size} bytes that is truncated or damaged ({found}); fetch "
        "it again"
    )


def _rewrite(source: Vectors, path: Path, map_: AffineMap | None, progress: Progress) -> int:
    return cast("FastTextSource", source).write_mapped(path, map_, progress)  # see `check_model`


FORMAT = Format(
    name=_NAME,
    description="Facebook's models, versions 11 and 12, not quantised; words as averages of their "
    "n-grams",
    recognise=starts_with(MAGIC),
    open=lambda head, wordless: FastTextSource(head.path),
    rewrite=_rewrite,
    kept_suffixes=(".bin",),
    check_source=check_model,
)
