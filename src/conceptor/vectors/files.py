"""Open vectors: any file, the demonstration vectors, and objects in memory."""

from __future__ import annotations

import atexit
import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import check_no_loop
from conceptor.vectors.formats import all_formats
from conceptor.vectors.formats.format import Columns, Format
from conceptor.vectors.formats.head import Head
from conceptor.vectors.formats.npy import as_float32, read_pieces
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import (
    Findings,
    OnError,
    RowKind,
    Rows,
    Vectors,
    chunk_rows,
    decide_kind,
    number_labels,
)

__all__ = ["DEMO", "as_vectors", "in_memory", "is_demo", "open_vectors"]

# The name of the demonstration vectors, wherever vectors are read.
DEMO = "demo"
_LARGEST_DIMENSION = 1 << 20
_PICKLE = b"\x80"
_SURROGATE = re.compile("[\ud800-\udfff]")


def open_vectors(
    path: str | os.PathLike[str],
    *,
    on_error: OnError = "raise",
    replace_spaces: str | None = None,
    column: Columns = None,
    rows: str | None = None,
) -> Vectors:
    """Open a file of word vectors, or the folder of a static model, in any known format.

    Parameters
    ----------
    path
        The file; `-` reads standard input to its end into a temporary file first. `demo` means
        GloVe 6B 50d from the demo extra, unless a file of that name exists.
    on_error
        What to do with rows that are ragged, not numeric, NaN or not UTF-8: `raise` or `skip`.
    replace_spaces
        One ASCII character that replaces each space inside a word.
    column
        The column of a table that holds the vectors, if there are several; or the columns of the
        dimensions, as names or as patterns (`d*`), if they cannot be recognized by name.
    rows
        What rows are: `words` or `texts`. By default the labels decide: in a vocabulary most
        labels are distinct single words.

    Examples
    --------
    >>> vectors = open_vectors("glove.6B.300d.txt")  # doctest: +SKIP
    >>> for words, rows in vectors.chunks():  # doctest: +SKIP
    ...     print(words[0], rows.shape)
    """
    if on_error not in ("raise", "skip"):
        raise InvalidInputError(f"--on-error must be 'raise' or 'skip', not {on_error!r}")
    if replace_spaces is not None and not (
        len(replace_spaces) == 1 and "!" <= replace_spaces <= "~"
    ):
        raise InvalidInputError(
            "expected one visible ASCII character, as in --replace-spaces _, not "
            f"{replace_spaces!r}"
        )
    if is_demo(path):
        return _open_demo().with_kind(rows)
    path = _save_standard_input() if str(path) == "-" else Path(path)
    check_no_loop(path)
    if not path.exists():
        raise InvalidInputError(f"{path}: no such file")
    if not path.is_dir() and not path.is_file():
        raise InvalidInputError(f"{path}: not a regular file; use - to read from a pipe")
    head = Head(path) if path.is_dir() else Head.read(path)
    format_ = _recognize(head)
    opened = format_.open(head, Findings(on_error), column)
    if column is not None and format_.name not in ("parquet", "feather"):
        raise InvalidInputError(f"{path}: {format_.name} has no columns; remove --column {column}")
    if not 0 < opened.dimension <= _LARGEST_DIMENSION:
        raise InvalidInputError(
            f"{path}: vectors of {opened.dimension} numbers; expected 1 to {_LARGEST_DIMENSION}"
        )
    files = opened.files or (path,)
    opened = replace(
        opened,
        files=files,
        format=format_.name,
        size=sum(file.stat().st_size for file in files if file.is_file()),
    )
    if not opened.has_words:
        opened = replace(opened, kind=RowKind.TEXTS)
    elif opened.kind is not RowKind.TOKENS and rows is None:
        labels, _, _ = next(opened.read(), Rows([], np.zeros((0, 1))))
        kind, evidence = decide_kind(labels)
        opened = replace(opened, kind=kind, evidence=evidence)
    opened = opened.with_kind(rows)
    return replace(opened, read=_checked(opened, replace_spaces))


def is_demo(path: object) -> bool:
    """Return whether a path is the name of the demonstration vectors."""
    return str(path) == DEMO and not Path(str(path)).exists()


def _recognize(head: Head) -> Format:
    """Return the format of a file or folder; raise with what it is instead."""
    path, data = head.path, head.data
    if not data and not path.is_dir():
        raise InvalidInputError(f"{path}: the file is empty")
    for format_ in all_formats():
        if format_.is_folder != path.is_dir():
            continue
        if format_.recognize(head) if format_.recognize else data.startswith(format_.magic):
            if not format_.streamed and head.compression:
                raise InvalidInputError(
                    f"{path}: {format_.name} inside {head.compression}; unpack it first"
                )
            return format_
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a directory; name a file inside it")
    if data.startswith(_PICKLE):
        kind, part = ("Word2Vec", ".wv") if path.suffix == ".model" else ("KeyedVectors", "")
        raise InvalidInputError(
            f"{path}: a Python pickle, which is never opened, because it can run any code; if you "
            f"trust it, convert it with gensim: from gensim.models import {kind}; "
            f'{kind}.load("{path}"){part}.save_word2vec_format("{path.with_suffix(".bin")}", '
            "binary=True)"
        )
    names = ", ".join(each.name for each in all_formats() if not each.is_folder)
    begins = data.partition(b"\n")[0][:40]
    raise InvalidInputError(
        f"{path}: not a known vector format. In text, each line is a word and the same count of "
        f"numbers, two or more (save a matrix without words as .npy); line 1 begins {begins!r}. "
        f"Known formats: {names}"
    )


def _checked(opened: Vectors, replace_spaces: str | None) -> Callable[[], Iterator[Rows]]:
    """Return the reader of a file that yields only good rows, each word once.

    NaN, infinities and words that are not UTF-8 raise, or are skipped and counted. A repeated word
    is dropped; two texts may be equal. If a whole pass drops nothing, the next checks nothing.
    """
    findings = opened.findings
    stamps = _stamps(opened.files)
    place = "line" if opened.format.endswith("text") else "row"
    drops_repeated = opened.has_words and opened.kind is not RowKind.TEXTS
    is_clean = False

    def check_unchanged() -> None:
        """Raise for a changed file: the second pass would disagree with the first."""
        with suppress(FileNotFoundError):  # a deleted file is still read whole
            if _stamps(opened.files) != stamps:
                raise InvalidInputError(
                    f"{opened.name}: changed while it was being read; repeat the same call"
                )

    def read() -> Iterator[Rows]:
        nonlocal is_clean
        check_unchanged()
        findings.clear()
        seen: set[str] = set()
        count = 0
        for chunk in opened.read():
            if not is_clean:
                chunk = _drop_bad_rows(chunk, findings, f"{opened.name}, {place}")
            if replace_spaces is not None:
                spaced = [label.replace(" ", replace_spaces) for label in chunk.labels]
                chunk = chunk._replace(labels=spaced)
            if drops_repeated and not is_clean:
                chunk = _drop_seen(chunk, seen, findings)
            count += len(chunk.labels)
            if len(chunk.labels):
                yield chunk
            # Before each chunk, because mapped pages that a shortened file lost end the process.
            check_unchanged()
        if count == 0:
            raise InvalidInputError(f"{opened.name}: contains no vectors")
        is_clean = not (findings.duplicates or findings.skipped)

    return read


def _stamps(files: Sequence[Path]) -> list[tuple[int, int, int]]:
    """Return what changes if files are replaced or modified."""
    states = map(Path.stat, files)
    return [(state.st_ino, state.st_mtime_ns, state.st_size) for state in states]


def _drop_bad_rows(chunk: Rows, findings: Findings, where: str) -> Rows:
    """Drop NaN, infinities and words that are not UTF-8: raise for the first, or count them."""

    def reject(good: NDArray[np.bool_], problem: str) -> Rows:
        place = first + 1 if chunk.places is None else chunk.places[first]
        findings.reject(f"{where} {place}: {problem}", int(np.count_nonzero(~good)))
        return _take(chunk, np.flatnonzero(good))

    # If the sum is finite so are its terms, and no second matrix is needed.
    with np.errstate(all="ignore"):
        suspect = not np.isfinite(chunk.rows.sum())
    if suspect and not (good := np.isfinite(chunk.rows).all(axis=1)).all():
        first = int(np.argmin(good))
        is_nan = np.isnan(chunk.rows[first]).any()
        problem = "NaN" if is_nan else "Inf or a number too large for float32"
        chunk = reject(good, f"the vector of {chunk.labels[first]!r} has {problem}")
    # The bytes of words that are not UTF-8 are lone surrogates.
    if _SURROGATE.search("".join(chunk.labels)):
        good = np.array([not _SURROGATE.search(label) for label in chunk.labels])
        first = int(np.argmin(good))
        label = chunk.labels[first]
        try:
            word = label.encode(errors="surrogateescape")
        except UnicodeEncodeError:  # half a character, as JSON can escape it
            word = label.encode(errors="surrogatepass")
        chunk = reject(good, f"the word {word!r} is not UTF-8")
    return chunk


def _drop_seen(chunk: Rows, seen: set[str], findings: Findings) -> Rows:
    """Drop the words that came before, and remember the others: about 100 bytes for each."""
    labels = chunk.labels
    if seen.isdisjoint(labels) and len(set(labels)) == len(labels):
        seen.update(labels)
        return chunk
    new = []
    for row, word in enumerate(labels):
        if word not in seen:
            seen.add(word)
            new.append(row)
    findings.duplicates += len(labels) - len(new)
    return _take(chunk, np.array(new, dtype=np.int64))


def _take(chunk: Rows, rows: NDArray[np.int64]) -> Rows:
    places = None if chunk.places is None else chunk.places[rows]
    return Rows([chunk.labels[i] for i in rows.tolist()], chunk.rows[rows], places)


def _open_demo() -> Vectors:
    """Open GloVe 6B 50d (400,000 words by descending frequency) as stored in the demo extra."""
    from conceptor.data.registry import demo_files

    words_file, matrix_file = demo_files()
    matrix = np.load(matrix_file, mmap_mode="r", allow_pickle=False)
    rows, dimension = matrix.shape

    def read_labels() -> list[str]:
        from pyarrow import parquet

        labels: list[str] = parquet.read_table(words_file)["index"].to_pylist()
        return labels

    read = partial(read_pieces, rows, dimension, read_labels, lambda part: as_float32(matrix[part]))
    files = (matrix_file, words_file)
    size = sum(file.stat().st_size for file in files)
    return Vectors(DEMO, dimension, read, count=rows, files=files, format="npy", size=size)


def _save_standard_input() -> Path:
    """Copy standard input to a temporary file, because it is read twice."""
    with tempfile.NamedTemporaryFile(prefix="conceptor-stdin-", delete=False) as file:
        path = Path(file.name)
        atexit.register(path.unlink, missing_ok=True)
        try:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            raise InvalidInputError("standard input is closed; name a file") from None
    return path


def in_memory(
    words: Sequence[str] | None,
    matrix: NDArray[Any],
    *,
    name: str = "vectors",
    **facts: Any,  # noqa: ANN401
) -> Vectors:
    """Return rows in memory as `Vectors`; without words all rows count the same.

    The kind of rows is decided by the labels, unless `facts` (more fields of `Vectors`) give it.
    """
    table = WordVectors(number_labels(0, len(matrix)) if words is None else words, matrix)
    step = chunk_rows(max(table.dimension, 1))

    def read() -> Iterator[Rows]:
        for start in range(0, len(table), step):
            part = slice(start, start + step)
            yield Rows(table.words[part], table.vectors[part])

    if words is None:
        facts |= {"kind": RowKind.TEXTS, "has_words": False}
    elif "kind" not in facts:
        # Rows with counts are words.
        is_counted = facts.get("counts") is not None
        decided = (RowKind.WORDS, "") if is_counted else decide_kind(table.words[:1000])
        facts["kind"], facts["evidence"] = decided
    return Vectors(name, table.dimension, read, count=len(table), **facts)


def as_vectors(vectors: Any) -> Vectors:  # noqa: ANN401
    """Return anything that holds vectors as `Vectors`.

    It may be a path, `Vectors`, `WordVectors`, `(words, array)`, a mapping of words to vectors,
    gensim's `KeyedVectors`, or an array, whose rows count equally.
    """
    match vectors:
        case Vectors():
            return vectors
        case str() | os.PathLike():
            return open_vectors(vectors)
        case WordVectors():
            return in_memory(vectors.words, vectors.vectors)
        case np.ndarray():
            return in_memory(None, vectors)
        case (words, matrix):
            return in_memory(words, matrix)
        case Mapping() if vectors:
            return in_memory(list(vectors), np.stack([np.asarray(v) for v in vectors.values()]))
        case object(index_to_key=words, vectors=matrix):
            counts = getattr(vectors, "expandos", {}).get("count")
            usable = None if counts is None else _usable_counts(words, counts)
            return in_memory(words, matrix, counts=usable, kind=RowKind.WORDS)
    raise InvalidInputError(
        f"vectors cannot be read from a {type(vectors).__name__}; pass a file, (words, array), a "
        "mapping of words to vectors, or gensim KeyedVectors"
    )


def _usable_counts(words: Sequence[str], counts: Sequence[float]) -> dict[str, float] | None:
    """Return gensim's counts by word; None if they are invented, all equal or invalid.

    `load_word2vec_format` sets n, n − 1, … for n words without counts.
    """
    numbers = np.array([float(count) for count in counts])
    if np.array_equal(numbers, np.arange(len(numbers), 0, -1)):
        return None
    is_valid = np.isfinite(numbers).all() and (numbers >= 0).all() and len(np.unique(numbers)) > 1
    return dict(zip(words, numbers.tolist(), strict=True)) if is_valid else None
