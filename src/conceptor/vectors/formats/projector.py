"""TensorBoard's embedding projector: numbers in one file, words in another; written, not read.

`tensors.tsv` has a line for each vector, its numbers separated by tabs; `metadata.tsv` has a line
for each word, and no header, since there is only one column.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.formats import text
from conceptor.vectors.formats.format import Format
from conceptor.vectors.formats.words_file import open_with_words
from conceptor.vectors.source import Chunk, check_finite
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conceptor.vectors.target import Target

_NAME = "projector"
SUFFIX = ".tsv"


def metadata_path(tensors: Path) -> Path:
    """Return the file for the words: `metadata.tsv` beside `tensors.tsv`, else `x.metadata.tsv`."""
    name = "metadata" if tensors.stem == "tensors" else f"{tensors.stem}.metadata"
    return tensors.with_name(name + SUFFIX)


class ProjectorWriter:
    """Writes lines of numbers to one stream and words to another."""

    def __init__(self, stream: BinaryIO, words: BinaryIO) -> None:
        self._stream = stream
        self._words = words

    def encode(self, chunk: Chunk) -> tuple[bytes, bytes]:
        """Return the lines of numbers and those of words."""
        check_finite(chunk, np.dtype(np.float32))
        words = list(chunk.words)
        for word in words:
            if not word.strip(" ") or any(sign in word for sign in "\t\r\n"):
                raise InvalidInputError(
                    f"the word {word!r} is blank, or contains a tab or a line break, which "
                    f"{_NAME} cannot store; write .parquet"
                )
        nameless = Chunk(PackedWords.from_words([""] * len(words)), chunk.vectors)
        buffer = np.empty(text.encoded_size(nameless), dtype=np.uint8)
        lines = buffer[: text.encode(nameless, buffer)].tobytes()
        # A blank stands where the word would end.
        numbers = lines.removeprefix(b" ").replace(b"\n ", b"\n").replace(b" ", b"\t")
        return numbers, "".join(f"{word}\n" for word in words).encode()

    def write(self, encoded: tuple[bytes, bytes]) -> None:
        """Append lines to both files."""
        numbers, words = encoded
        self._stream.write(numbers)
        self._words.write(words)

    def finish(self, count: int) -> None:
        """Do nothing: the files are complete."""


@contextmanager
def _open_writer(target: Target, dimension: int, count: int | None) -> Iterator[ProjectorWriter]:
    with open_with_words(target) as (stream, words):
        yield ProjectorWriter(stream, cast("BinaryIO", words))


FORMAT = Format(
    name=_NAME,
    description="numbers for TensorBoard's projector, without words; open the vectors that they "
    "were made from",
    recognise=lambda head: head.path.suffix == SUFFIX and metadata_path(head.path).is_file(),
    open_writer=_open_writer,
    suffixes=(SUFFIX,),
    words_path=metadata_path,
)
