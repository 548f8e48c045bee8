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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import check_no_loop
from conceptor.vectors.formats import FORMATS
from conceptor.vectors.formats.format import Columns, Format
from conceptor.vectors.formats.head import Head
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

DEMO = "demo"  # the name of the demonstration vectors, wherever vectors are read
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
        The file; `-` reads standard input into a temporary file first. `demo` means GloVe 6B 50d
        from the demo extra, unless a file of that name exists.
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
    """
    if on_error not in ("raise", "skip"):
        raise InvalidInputError(f"--on-error must be 'raise' or 'skip', not {on_error!r}")
    if replace_spaces is not None and not re.fullmatch("[!-~]", replace_spaces):
        raise InvalidInputError(
            "expected one visible ASCII character, as in --replace-spaces _, not "
            f"{replace_spaces!r}"
        )
    if is_demo(path):
        from conceptor.data.registry import demo_vectors

        words, matrix = demo_vectors()
        return in_memory(words, matrix, name=DEMO, kind=RowKind.WORDS).with_kind(rows)
    path = _save_standard_input() if str(path) == "-" else Path(path)
    check_no_loop(path)
    if not path.exists():
        raise InvalidInputError(f"{path}: no such file")
    if path.is_dir():
        head = Head(path)
    elif path.is_file():
        head = Head.read(path)
    else:
        raise InvalidInputError(f"{path}: not a regular file; use - to read from a pipe")
    format_ = _recognize(head)
    opened = format_.open(head, Findings(on_error), column)
    if column is not None and format_.name not in ("parquet", "feather"):
        raise InvalidInputError(f"{path}: {format_.name} has no columns; remove --column {column}")
    if not 0 < opened.dimension <= _LARGEST_DIMENSION:
        raise InvalidInputError(
            f"{path}: vectors of {opened.dimension} numbers; expected 1 to {_LARGEST_DIMENSION}"
        )
    opened = replace(opened, files=opened.files or (path,), format=format_.name)
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
    for format_ in FORMATS:
        if format_.is_folder == path.is_dir() and format_.recognize(head):
            if not format_.streamed and head.compression:
                raise InvalidInputError(
                    f"{path}: {format_.name} inside {head.compression}; unpack it first"
                )
            return format_
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a directory; name a file inside it")
    if data.startswith(_PICKLE):
        raise InvalidInputError(
            f"{path}: a Python pickle, which is never opened, because it can run any code; if you "
            "trust it, convert it with gensim: from gensim.models import KeyedVectors; "
            f'KeyedVectors.load("{path}").save_word2vec_format("{path.with_suffix(".bin")}", '
            "binary=True)"
        )
    names = ", ".join(each.name for each in FORMATS if not each.is_folder)
    raise InvalidInputError(
        f"{path}: not a known vector format ({names}). In text, each line is a word and the same "
        "count of numbers, two or more (save a matrix without words as .npy); line 1 begins "
        f"{data[:40].partition(bytes([10]))[0]!r}"
    )


def _checked(opened: Vectors, replace_spaces: str | None) -> Callable[[], Iterator[Rows]]:
    """Return the reader of a file that yields only good rows, each word once.

    Two texts may be equal. If a whole pass drops nothing, the next checks nothing.
    """
    findings = opened.findings
    stamps = _stamps(opened.files)
    where = f"{opened.name}, {'line' if opened.format.endswith('text') else 'row'}"
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
        vars(findings).update(vars(Findings(findings.on_error)))  # without those of the last pass
        seen: set[str] = set()
        is_empty = True
        for chunk in opened.read():
            if not is_clean:
                chunk = _drop_bad_rows(chunk, findings, where)
            if replace_spaces is not None:
                spaced = [label.replace(" ", replace_spaces) for label in chunk.labels]
                chunk = chunk._replace(labels=spaced)
            if drops_repeated and not is_clean:
                chunk = _drop_seen(chunk, seen, findings)
            if len(chunk.labels):
                is_empty = False
                yield chunk
            # Before each chunk, because mapped pages that a shortened file lost end the process.
            check_unchanged()
        if is_empty:
            raise InvalidInputError(f"{opened.name}: contains no vectors")
        is_clean = not (findings.duplicates or findings.skipped)

    return read


def _stamps(files: Sequence[Path]) -> list[tuple[int, int, int]]:
    states = map(Path.stat, files)
    return [(state.st_ino, state.st_mtime_ns, state.st_size) for state in states]


def _drop_bad_rows(chunk: Rows, findings: Findings, where: str) -> Rows:
    """Drop NaN, infinities and words that are not UTF-8: raise for the first, or count them."""

    def take(good: NDArray[np.bool_], problem: str) -> Rows:
        bad = int(np.argmin(good))
        place = bad + 1 if chunk.places is None else chunk.places[bad]
        findings.reject(f"{where} {place}: {problem}", int(np.count_nonzero(~good)))
        return _take(chunk, np.flatnonzero(good))

    # If the sum is finite so are its terms, and no second matrix is needed.
    with np.errstate(all="ignore"):
        suspect = not np.isfinite(chunk.rows.sum())
    if suspect and not (good := np.isfinite(chunk.rows).all(axis=1)).all():
        row = int(np.argmin(good))
        problem = (
            "NaN" if np.isnan(chunk.rows[row]).any() else "Inf or a number too large for float32"
        )
        chunk = take(good, f"the vector of {chunk.labels[row]!r} has {problem}")
    # The bytes of words that are not UTF-8 are lone surrogates; JSON can escape half a character.
    if _SURROGATE.search("".join(chunk.labels)):
        good = np.array([not _SURROGATE.search(label) for label in chunk.labels])
        label = chunk.labels[int(np.argmin(good))]
        try:
            word = label.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            word = label.encode(errors="surrogatepass")
        chunk = take(good, f"the word {word!r} is not UTF-8")
    return chunk


def _drop_seen(chunk: Rows, seen: set[str], findings: Findings) -> Rows:
    """Drop the words that came before, and remember the others: about 100 bytes for each."""
    labels = chunk.labels
    if seen.isdisjoint(labels) and len(set(labels)) == len(labels):
        seen.update(labels)
        return chunk
    first = {word: row for row, word in reversed(list(enumerate(labels))) if word not in seen}
    seen.update(first)
    findings.duplicates += len(labels) - len(first)
    return _take(chunk, np.array(sorted(first.values()), dtype=np.int64))


def _take(chunk: Rows, rows: NDArray[np.int64]) -> Rows:
    places = None if chunk.places is None else chunk.places[rows]
    return Rows([chunk.labels[i] for i in rows.tolist()], chunk.rows[rows], places)


def _save_standard_input() -> Path:
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
    matrix: ArrayLike,
    *,
    name: str = "vectors",
    **facts: Any,  # noqa: ANN401
) -> Vectors:
    """Return rows in memory as `Vectors`; without words all rows count the same.

    `facts` are more fields of `Vectors`. Labels decide the kind of rows, unless it is given.
    """
    # In C order, as from a file, because the last bit of a product depends on it.
    matrix = np.ascontiguousarray(as_matrix(matrix, name))
    table = WordVectors(number_labels(0, len(matrix)) if words is None else words, matrix)
    step = chunk_rows(table.dimension)

    def read() -> Iterator[Rows]:
        for start in range(0, len(table), step):
            part = slice(start, start + step)
            yield Rows(table.words[part], table.vectors[part])

    if words is None:
        facts |= {"kind": RowKind.TEXTS, "has_words": False}
    elif "kind" not in facts and facts.get("counts") is None:  # rows with counts are words
        facts["kind"], facts["evidence"] = decide_kind(table.words[:1000])
    return Vectors(name, table.dimension, read, count=len(table), **facts)


def as_vectors(vectors: Any) -> Vectors:  # noqa: ANN401
    """Return anything that holds vectors as `Vectors`; the rows of a bare array count equally."""
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
            return in_memory(list(vectors), list(vectors.values()))
        case object(index_to_key=words, vectors=matrix):
            counts = _usable_counts(words, getattr(vectors, "expandos", {}).get("count"))
            return in_memory(words, matrix, counts=counts, kind=RowKind.WORDS)
    raise InvalidInputError(
        f"vectors cannot be read from a {type(vectors).__name__}; pass a file, (words, array), a "
        "mapping of words to vectors, or gensim KeyedVectors"
    )


def _usable_counts(words: Sequence[str], counts: Sequence[float] | None) -> dict[str, float] | None:
    """Return gensim's counts by word; None if they are invented, all equal or invalid."""
    numbers = np.array([] if counts is None else counts, dtype=np.float64)
    # `load_word2vec_format` sets n, n − 1, … for n words without counts.
    is_invented = np.array_equal(numbers, np.arange(len(numbers), 0, -1))
    is_valid = np.isfinite(numbers).all() and (numbers >= 0).all() and len(np.unique(numbers)) > 1
    return dict(zip(words, numbers.tolist(), strict=True)) if is_valid and not is_invented else None
