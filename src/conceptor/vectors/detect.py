"""Detect a file's format by its content; choose the format to write by the name."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import arrow, fasttext, npy, projector, safetensors, text, word2vec_binary
from conceptor.vectors.source import LARGEST_DIMENSION
from conceptor.vectors.streams import ByteReader, detect_compression, split_compression
from conceptor.vectors.words_file import BOM

if TYPE_CHECKING:
    from pathlib import Path

    from conceptor.vectors.source import VectorSource

FORMATS = (
    word2vec_binary.FORMAT,
    text.WORD2VEC,
    text.GLOVE,
    npy.FORMAT,
    arrow.PARQUET,
    arrow.FEATHER,
    safetensors.FORMAT,
    fasttext.FORMAT,
)
# What is written but not read.
WRITTEN_FORMATS = (*FORMATS, projector.FORMAT)
_BY_SUFFIX = {
    ".bin": word2vec_binary.FORMAT,
    ".w2v": word2vec_binary.FORMAT,
    ".vec": text.WORD2VEC,
    ".txt": text.GLOVE,
    ".glove": text.GLOVE,
    ".npy": npy.FORMAT,
    ".parquet": arrow.PARQUET,
    ".feather": arrow.FEATHER,
    ".arrow": arrow.FEATHER,
    ".safetensors": safetensors.FORMAT,
    projector.SUFFIX: projector.FORMAT,
}
TEXT_FORMATS = (text.GLOVE, text.WORD2VEC)
STREAMED = (*TEXT_FORMATS, word2vec_binary.FORMAT)
_FOREIGN = {
    b"\x89HDF": "an HDF5 file",
    b"PK": "a zip archive",
}
_PICKLE = b"\x80"
_HEAD_BYTES = 1 << 20
_WHOLE_LINES = 3  # a header and two rows
_SAMPLE_LINES = 100
_ROWS_COMPARED = 10


def open_source(path: Path, *, wordless: bool = False) -> VectorSource:
    """Recognise a file by its content and open it with the reader of its format.

    With `wordless`, words may be missing.
    """
    projector.check_not_projector(path)
    compression = detect_compression(path)
    with ByteReader(path) as reader:
        head = reader.read(_HEAD_BYTES)
        container = _detect_container(head, path.stat().st_size)
        newline = b"\n"
        while not container:
            newline = b"\r" if b"\r" in head and b"\n" not in head else b"\n"
            if head.count(newline) >= _WHOLE_LINES or len(head) > _WHOLE_LINES * text.LONGEST_LINE:
                break
            more = reader.read(max(len(head), 1))
            if not more:
                break
            head += more
        is_whole = not reader.read(1)
    if not head:
        raise InvalidInputError(f"{path}: the file is empty")
    if container and compression:
        raise InvalidInputError(f"{path}: {container} inside {compression}; unpack it first")
    if container == npy.FORMAT:
        return npy.open_npy(path, wordless=wordless)
    if container == safetensors.FORMAT:
        return safetensors.open_safetensors(path)
    if container == fasttext.FORMAT:
        return fasttext.FastTextSource(path)
    if container:
        return arrow.ArrowSource(path, container, wordless=wordless)
    if head.startswith(_PICKLE):
        raise InvalidInputError(_explain_pickle(path))
    foreign = next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)
    if foreign:
        raise InvalidInputError(f"{path}: {foreign}")
    source = _open_lines(path, head.replace(newline, b"\n"), is_whole=is_whole)
    if isinstance(source, text.TextSource):
        source.newline = newline
    return source


def _detect_container(head: bytes, size: int) -> str | None:
    if head.startswith(npy.MAGIC):
        return npy.FORMAT
    if head.startswith(b"PAR1"):
        return arrow.PARQUET
    if head.startswith(b"ARROW1"):
        return arrow.FEATHER
    if head.startswith(fasttext.MAGIC):
        return fasttext.FORMAT
    if safetensors.looks_like_safetensors(head, size):
        return safetensors.FORMAT
    return None


def _explain_pickle(path: Path) -> str:
    """Say how vectors get out of a pickle: with the library that wrote it."""
    kind, part = ("Word2Vec", ".wv") if path.suffix == ".model" else ("KeyedVectors", "")
    return (
        f"{path}: a Python pickle, which is never opened, since it can run any code; if you trust "
        f"it, convert it with gensim: from gensim.models import {kind}; "
        f'{kind}.load("{path}"){part}.save_word2vec_format("{path.with_suffix(".bin")}", '
        "binary=True)"
    )


def _open_lines(path: Path, head: bytes, *, is_whole: bool) -> VectorSource:
    content = head.removeprefix(BOM)
    first, newline, rest = content.partition(b"\n")
    header = _parse_header(first) if newline or is_whole else None
    lines = _first_lines(content, is_whole=is_whole)
    if header:
        count, dimension = header
        second = rest.partition(b"\n")[0]
        if _is_row(second, dimension):
            return _open_text(path, header, lines[1:])
        # A file of one-dimensional vectors may begin like a header; `1 300`, then `a 2`.
        if 0 < dimension <= LARGEST_DIMENSION and not (
            newline and _is_row(second, 1) and _is_row(first, 1) and not _has_control(rest)
        ):
            if not rest.strip():
                raise InvalidInputError(
                    f"{path}: the header says {count} vectors, but nothing follows it"
                )
            # Word2vec binary, or damaged text: text has no control characters.
            sample = rest[: 1 << 16]
            if _has_control(sample) or not _is_mostly_numbers(sample):
                return word2vec_binary.Word2VecBinarySource(path, header, len(head) - len(rest))
            return _open_text(path, header, lines[1:])
    dimension = _headerless_dimension(lines)
    if dimension == 0:
        raise InvalidInputError(
            f"{path}: not a known vector format; line 1 begins {first[:40]!r}. "
            f"Known formats: {', '.join(FORMATS)}"
        )
    return text.TextSource(path, dimension, None)


def _open_text(path: Path, header: tuple[int, int], lines: list[bytes]) -> VectorSource:
    """Open text, unless the header's dimension is too small, which would put numbers into words.

    A word may end in numbers, but the first words do not all end in the same count of them.
    """
    count, dimension = header
    found = map(_count_trailing_numbers, lines[:_ROWS_COMPARED])
    rows = [numbers for numbers in found if numbers >= dimension]
    if len(rows) > 1 and min(rows) == max(rows) > dimension:
        raise InvalidInputError(
            f"{path}: the header says {dimension} numbers per row, but rows have {rows[0]}; "
            "correct or remove the first line"
        )
    return text.TextSource(path, dimension, count)


def _has_control(content: bytes) -> bool:
    """Return whether there are control characters near the beginning, which no text has."""
    return any(byte < 9 for byte in content[: 1 << 16])


def _is_mostly_numbers(sample: bytes) -> bool:
    """Return whether most fields after the first are numbers."""
    fields = sample.replace(b"\n", b" ").split(b" ")[1:-1]
    numbers = sum(map(text.is_number, fields))
    return 2 * numbers > len(fields)


def _parse_header(line: bytes) -> tuple[int, int] | None:
    fields = line.split()
    if (
        len(fields) != 2
        or line[:1] in (b" ", b"\t")
        or not all(field.isdigit() and len(field) < 19 for field in fields)
    ):
        return None
    return int(fields[0]), int(fields[1])


def _is_row(line: bytes, dimension: int) -> bool:
    fields = _split_fields(line)
    return len(fields) > dimension > 0 and all(map(text.is_number, fields[-dimension:]))


def _split_fields(line: bytes) -> list[bytes]:
    """Split at spaces and tabs; a leading blank makes an empty word."""
    line = line.removesuffix(b"\r").rstrip(b" \t")
    fields = [field for field in line.replace(b"\t", b" ").split(b" ") if field]
    return [b"", *fields] if line[:1] in (b" ", b"\t") else fields


def _headerless_dimension(lines: list[bytes]) -> int:
    """Return the most common count of trailing numbers among the first lines.

    So neither a word with blanks nor a damaged line decides for the whole file.
    """
    counts = Counter(map(_count_trailing_numbers, lines))
    if not counts:
        return 0
    most = max(counts.values())
    return min(number for number, times in counts.items() if times == most)


def _first_lines(content: bytes, *, is_whole: bool) -> list[bytes]:
    """Return the first lines, without empty ones and a last one that was read in part."""
    lines = content.split(b"\n", _SAMPLE_LINES)
    whole = lines[:_SAMPLE_LINES] if is_whole or len(lines) > _SAMPLE_LINES else lines[:-1]
    return [line for line in whole if _split_fields(line)]


def _count_trailing_numbers(line: bytes) -> int:
    """Return how many numbers end a line; the first field never counts."""
    return sum(1 for _ in takewhile(text.is_number, reversed(_split_fields(line)[1:])))


def has_known_suffix(path: Path) -> bool:
    """Return whether a name ends like that of a vectors file."""
    return split_compression(path)[0].suffix.lower() in _BY_SUFFIX


def choose_format(
    path: Path, like: str | None = None, wanted: str | None = None
) -> tuple[str, str | None]:
    """Return the format and compression that a target's name asks for; `wanted` overrides it.

    `.txt` stays word2vec text if the source (`like`) is, and is GloVe text otherwise; `.bin` stays
    a fastText model. A name that says nothing keeps the source's format.
    """
    bare, compression = split_compression(path)
    if wanted is not None:
        return wanted, compression
    chosen = _BY_SUFFIX.get(bare.suffix.lower(), like)
    if (bare.suffix.lower(), like) in ((".txt", text.WORD2VEC), (".bin", fasttext.FORMAT)):
        chosen = like
    if chosen is None:
        raise InvalidInputError(
            f"{path}: unrecognised file extension; use one of {' '.join(_BY_SUFFIX)}, or name "
            'the format, as in format="glove-text"'
        )
    return chosen, compression
