"""Plain text as blocks of UTF-8 that never cut a word, with a NUL where a document ends."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.streams import ByteReader, check_readable_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    Corpus = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

BLOCK_BYTES = 1 << 20
# Text has spaces; a file without one for so long is something else.
LONGEST_WORD_BYTES = 1 << 26
DOCUMENT_END = "\0"
_SPACES = (b" ", b"\n", b"\t", b"\r")


class TextBlock(NamedTuple):
    """Some text as it stands, and how much of all the text is read after it, where known."""

    text: str
    fraction: float | None


def blocks(corpus: Corpus) -> Iterator[TextBlock]:
    """Yield text in blocks that end between words; `DOCUMENT_END` follows each file or text.

    Parameters
    ----------
    corpus
        A file by name (a `str` or path; gzip, bzip2, xz, zstd and zip are read as they are), or
        several documents one after the other: paths are files, and any `str` is a text itself.
    """
    if isinstance(corpus, (str, os.PathLike)):
        corpus = [Path(corpus)]
    elif not isinstance(corpus, Iterable):
        raise InvalidInputError(f"a corpus is a file, or texts and paths, not {corpus!r}")
    if isinstance(corpus, (list, tuple)):
        yield from _measured(corpus)
    else:
        yield from _batched(_documents(corpus))


def _measured(
    corpus: list[str | os.PathLike[str]] | tuple[str | os.PathLike[str], ...],
) -> Iterator[TextBlock]:
    """Read known documents, telling how far one is."""
    paths = [Path(document) for document in corpus if isinstance(document, os.PathLike)]
    for path in paths:
        check_readable_file(path)
    if len(paths) != len(corpus):
        yield from _batched(_documents(corpus))
        return
    sizes = [path.stat().st_size for path in paths]
    total = max(sum(sizes), 1)
    done = 0
    for path, size in zip(paths, sizes, strict=True):
        for text, fraction in _file(path):
            yield TextBlock(text, (done + (fraction or 0.0) * size) / total)
        done += size


def _documents(corpus: Iterable[str | os.PathLike[str]]) -> Iterator[TextBlock]:
    for number, document in enumerate(corpus):
        if isinstance(document, os.PathLike):
            yield from _file(Path(document))
        elif isinstance(document, str):
            if DOCUMENT_END in document:
                offset = document.index(DOCUMENT_END)
                raise InvalidInputError(f"text {number}, character {offset}: a NUL; not plain text")
            yield TextBlock(document + DOCUMENT_END, None)
        else:
            raise InvalidInputError(
                f"document {number} of the corpus is neither text nor a path: {document!r:.60}"
            )


def _batched(texts: Iterable[TextBlock]) -> Iterator[TextBlock]:
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


def _file(path: Path) -> Iterator[TextBlock]:
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
                    f"{path}, byte {offset}: {len(rest)} bytes without a space or a line's end; "
                    "this is not text"
                )
            yield TextBlock(_decoded(data[:cut], path, offset), reader.fraction_read())
            offset += cut
        yield TextBlock(_decoded(rest, path, offset) + DOCUMENT_END, 1.0)


def _decoded(data: bytes, path: Path, offset: int) -> str:
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
