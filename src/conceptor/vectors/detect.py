"""Which format a file has: its content decides; the name only decides what is written."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import arrow, npy, safetensors, text, word2vec_binary
from conceptor.vectors.streams import ByteReader, compression_of, without_compression_suffix

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
)
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
}
TEXT_FORMATS = (text.GLOVE, text.WORD2VEC)
STREAMED = (*TEXT_FORMATS, word2vec_binary.FORMAT)
_FOREIGN = {
    b"\xba\x16\x4f\x2f": "a fastText model; use the .vec file published with it",
    b"\x80": "a Python pickle, which is never opened; save the vectors as word2vec from gensim",
    b"\x89HDF": "an HDF5 file",
    b"PK": "a zip archive",
}
_HEAD_BYTES = 1 << 20
_LONGEST_FRONT = 64  # a byte-order mark and a header
_LINES_LOOKED_AT = 100
_ROWS_COMPARED = 10
_LARGEST_DIMENSION = 1 << 20


def source_for(path: Path) -> VectorSource:
    """Recognise a file by its content and open it with the reader of its format."""
    compression = compression_of(path)
    with ByteReader(path) as reader:
        head = reader.read(_HEAD_BYTES)
    if not head:
        raise InvalidInputError(f"{path}: is empty")
    container = _container(head, path.stat().st_size)
    if container and compression:
        raise InvalidInputError(f"{path}: {container} inside {compression}; unpack it first")
    if container == npy.FORMAT:
        return npy.open_npy(path)
    if container == safetensors.FORMAT:
        return safetensors.open_safetensors(path)
    if container:
        return arrow.ArrowSource(path, container)
    foreign = next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)
    if foreign:
        raise InvalidInputError(f"{path}: {foreign}")
    return _lines_source(path, head)


def _container(head: bytes, size: int) -> str | None:
    if head.startswith(npy.MAGIC):
        return npy.FORMAT
    if head.startswith(b"PAR1"):
        return arrow.PARQUET
    if head.startswith(b"ARROW1"):
        return arrow.FEATHER
    if safetensors.looks_like_safetensors(head, size):
        return safetensors.FORMAT
    return None


def _lines_source(path: Path, head: bytes) -> VectorSource:
    content = head.removeprefix(b"\xef\xbb\xbf")
    first, newline, rest = content.partition(b"\n")
    header = _header(first) if newline or len(head) < _HEAD_BYTES else None
    if header:
        count, dimension = header
        second = rest.partition(b"\n")[0]
        if _is_row(second, dimension):
            return _text_after_header(path, header, rest)
        # A file of one-dimensional vectors may begin like a header; `1 300`, then `a 2`.
        if 0 < dimension <= _LARGEST_DIMENSION and not (
            newline and _is_row(second, 1) and _is_row(first, 1) and not _has_control(rest)
        ):
            if not rest.strip() and dimension:
                raise InvalidInputError(
                    f"{path}: a header that promises {count} vectors, and nothing after it"
                )
            return _after_header(path, header, len(head) - len(rest), rest)
    dimension = _headerless_dimension(content)
    if dimension == 0:
        raise InvalidInputError(
            f"{path}: not a vectors file that is known here; line 1 begins {first[:40]!r}. "
            f"Known: {', '.join(FORMATS)}"
        )
    return text.TextSource(path, dimension, None)


def _after_header(
    path: Path, header: tuple[int, int], header_bytes: int, rest: bytes
) -> VectorSource:
    """Tell damaged text from word2vec binary: text has no control characters."""
    sample = rest[: 1 << 16]
    if _has_control(sample) or not _mostly_text(sample):
        return word2vec_binary.Word2VecBinarySource(path, header, header_bytes)
    return _text_after_header(path, header, rest)


def _text_after_header(path: Path, header: tuple[int, int], rest: bytes) -> VectorSource:
    """Refuse a header with fewer numbers than the rows have, which would become part of the words.

    A word may end in numbers, but the first words do not all end in equally many.
    """
    count, dimension = header
    found = map(_trailing_numbers, _first_lines(rest)[:_ROWS_COMPARED])
    rows = [numbers for numbers in found if numbers >= dimension]
    if len(rows) > 1 and min(rows) == max(rows) > dimension:
        raise InvalidInputError(
            f"{path}: the header says {dimension} numbers a row, but rows have {rows[0]}; "
            "correct or remove the first line"
        )
    return text.TextSource(path, dimension, count)


def _has_control(content: bytes) -> bool:
    """Whether there are control characters near the beginning, as in no text."""
    return any(byte < 9 for byte in content[: 1 << 16])


def _mostly_text(sample: bytes) -> bool:
    """Whether nearly all fields after the first are numbers."""
    fields = sample.replace(b"\n", b" ").split(b" ")[1:-1]
    numbers = sum(map(text.is_number, fields))
    return 2 * numbers > len(fields)


def _header(line: bytes) -> tuple[int, int] | None:
    fields = line.split()
    if (
        len(fields) != 2
        or line[:1] in (b" ", b"\t")
        or not all(field.isdigit() and len(field) < 19 for field in fields)
    ):
        return None
    return int(fields[0]), int(fields[1])


def _is_row(line: bytes, dimension: int) -> bool:
    fields = _fields(line)
    return len(fields) > dimension > 0 and all(map(text.is_number, fields[-dimension:]))


def _fields(line: bytes) -> list[bytes]:
    """Split at spaces and tabs; a blank at the front makes an empty word."""
    line = line.removesuffix(b"\r").rstrip(b" \t")
    fields = [field for field in line.replace(b"\t", b" ").split(b" ") if field]
    return [b"", *fields] if line[:1] in (b" ", b"\t") else fields


def _headerless_dimension(content: bytes) -> int:
    """Return the commonest count of trailing numbers among the first lines.

    The commonest, so that neither a word with blanks nor a damaged line decides for the file.
    """
    counts = Counter(map(_trailing_numbers, _first_lines(content)))
    if not counts:
        return 0
    most = max(counts.values())
    return min(number for number, times in counts.items() if times == most)


def _first_lines(content: bytes) -> list[bytes]:
    """Return the first lines, without empty ones and one that is cut where reading stopped."""
    lines = content.split(b"\n", _LINES_LOOKED_AT)
    is_cut = len(lines) > 1 and len(content) >= _HEAD_BYTES - _LONGEST_FRONT
    return [line for line in lines[: -1 if is_cut else _LINES_LOOKED_AT] if _fields(line)]


def _trailing_numbers(line: bytes) -> int:
    """Return how many numbers, behind the first field at least, end a line."""
    return sum(1 for _ in takewhile(text.is_number, reversed(_fields(line)[1:])))


def names_format(path: Path) -> bool:
    """Tell whether a name ends like that of a vectors file."""
    return without_compression_suffix(path)[0].suffix.lower() in _BY_SUFFIX


def target_format(
    path: Path, like: str | None = None, wanted: str | None = None
) -> tuple[str, str | None]:
    """Return the format and compression a target's name asks for, unless one is `wanted`.

    `.txt` continues a word2vec text file as such and is GloVe text otherwise; a name that says
    nothing continues the source's format (`like`).
    """
    bare, compression = without_compression_suffix(path)
    if wanted is not None:
        return wanted, compression
    chosen = _BY_SUFFIX.get(bare.suffix.lower(), like)
    if bare.suffix.lower() == ".txt" and like == text.WORD2VEC:
        chosen = like
    if chosen is None:
        raise InvalidInputError(
            f"{path}: unrecognised file extension; use one of {' '.join(_BY_SUFFIX)}, or name "
            'the format, as in format="glove-text"'
        )
    return chosen, compression
