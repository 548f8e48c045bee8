"""Read plain text in blocks that end between words, and number its words.

A NUL follows each document.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple
from unicodedata import category

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import prefetch
from conceptor.vectors.numbering import WordNumbers
from conceptor.vectors.streams import ByteReader, check_readable_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conceptor.base.progress import Progress

    Corpus = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

BLOCK_BYTES = 1 << 20
# Text has spaces; a file with none in this many bytes is not text.
LONGEST_WORD_BYTES = 1 << 26
DOCUMENT_END = "\0"
_SPACES = (b" ", b"\n", b"\t", b"\r")


class TextBlock(NamedTuple):
    """Some text, and the fraction of the corpus read so far, if known."""

    text: str
    fraction: float | None


def read_blocks(corpus: Corpus) -> Iterator[TextBlock]:
    """Yield text in blocks that end between words; `DOCUMENT_END` follows each file or text.

    Parameters
    ----------
    corpus
        The name of a file (a `str` or path; gzip, bzip2, xz, zstd and zip are decompressed), or
        several documents in order: paths are files, and each `str` is a text itself.
    """
    if isinstance(corpus, (str, os.PathLike)):
        corpus = [Path(corpus)]
    elif not isinstance(corpus, Iterable):
        raise InvalidInputError(f"a corpus must be a file, or texts and paths, not {corpus!r}")
    if not isinstance(corpus, (list, tuple)):
        yield from _batch(_read_documents(corpus))
        return
    paths = [Path(document) for document in corpus if isinstance(document, os.PathLike)]
    for path in paths:
        check_readable_file(path)
    if len(paths) != len(corpus):  # progress is known only for files
        yield from _batch(_read_documents(corpus))
        return
    sizes = [path.stat().st_size for path in paths]
    total = max(sum(sizes), 1)
    done = 0
    for path, size in zip(paths, sizes, strict=True):
        for text, fraction in _read_file(path):
            yield TextBlock(text, (done + (fraction or 0.0) * size) / total)
        done += size


def _read_documents(corpus: Iterable[str | os.PathLike[str]]) -> Iterator[TextBlock]:
    for number, document in enumerate(corpus):
        if isinstance(document, os.PathLike):
            yield from _read_file(Path(document))
        elif isinstance(document, str):
            if DOCUMENT_END in document:
                offset = document.index(DOCUMENT_END)
                raise InvalidInputError(f"text {number}, character {offset}: a NUL; not plain text")
            yield TextBlock(document + DOCUMENT_END, None)
        else:
            raise InvalidInputError(
                f"document {number} of the corpus is neither text nor a path: {document!r:.60}"
            )


def _batch(texts: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Join many short texts into blocks."""
    held: list[str] = []
    size = 0
    for block in texts:
        held.append(block.text)
        size += len(block.text)
        if size >= BLOCK_BYTES:
            yield TextBlock("".join(held), None)
            held, size = [], 0
    yield TextBlock("".join(held), None)


def _read_file(path: Path) -> Iterator[TextBlock]:
    check_readable_file(path)
    with ByteReader(path) as reader:
        rest = b""
        offset = 0
        while data := reader.read(BLOCK_BYTES):
            data = rest + data
            cut = max(map(data.rfind, _SPACES)) + 1
            rest = data[cut:]
            if len(rest) > LONGEST_WORD_BYTES:
                raise InvalidInputError(
                    f"{path}, byte {offset}: {len(rest)} bytes without a space or line break; "
                    "this is not text"
                )
            yield TextBlock(_decode(data[:cut], path, offset), reader.fraction_read())
            offset += cut
        yield TextBlock(_decode(rest, path, offset) + DOCUMENT_END, 1.0)


def _decode(data: bytes, path: Path, offset: int) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path}, byte {offset + error.start}: 0x{data[error.start]:02x} is not UTF-8; convert "
            "the file first, e.g. with iconv -f latin1 -t utf-8"
        ) from None
    if DOCUMENT_END in text:
        raise InvalidInputError(
            f"{path}, byte {offset + data.index(0)}: a NUL character; this is not UTF-8 text "
            "(UTF-16 can be converted with iconv -f utf-16 -t utf-8)"
        )
    return text.removeprefix("\ufeff") if offset == 0 else text


Tokens = Literal["words", "spaces"]
Unit = Literal["line", "paragraph", "document"]

UNITS = ("line", "paragraph", "document")  # in the order of the kernels' constants
# Unicode assigns nothing between the ideographs of plane 3 and the specials of plane 14.
_LETTERS_END = 0x33480
_ALL_CHARACTERS = 0x110000


@cache
def _in_token(tokens: Tokens) -> NDArray[np.bool_]:
    """Return for each character whether it belongs to a token."""
    assigned = [chr(c) for c in range(_LETTERS_END)]
    table = np.full(_ALL_CHARACTERS, tokens == "spaces")
    if tokens == "spaces":
        table[:_LETTERS_END] = [c != DOCUMENT_END and not c.isspace() for c in assigned]
    else:
        table[:_LETTERS_END] = [c.isalnum() or category(c)[0] == "M" for c in assigned]
    return table


def number_corpus(
    corpus: Corpus, file: IO[bytes], tokens: Tokens, lowercase: bool, unit: Unit, progress: Progress
) -> WordNumbers:
    """Write the numbers of a corpus's tokens and boundaries to a file."""
    from conceptor.kernels import find_tokens

    in_token = _in_token(tokens)
    numbers = WordNumbers()
    state = np.array([True, False])
    seen = 0
    for block in prefetch(read_blocks(corpus)):
        text = block.text.lower() if lowercase else block.text
        if tokens == "words":
            text = text.replace("’", "'")
        encoded = np.frombuffer(text.encode(errors="replace"), dtype=np.uint8)
        starts = np.empty(len(encoded) + 1, dtype=np.int32)
        ends = np.empty_like(starts)
        found = find_tokens(encoded, in_token, UNITS.index(unit), state, starts, ends)
        file.write(numbers.number(encoded, starts[:found], ends[:found]).tobytes())
        seen += found
        progress("reading", block.fraction, seen)
    return numbers
