"""TensorBoard's embedding projector: numbers in one file, words in another; written, not read.

`tensors.tsv` has a line for each vector, its numbers separated by tabs; `metadata.tsv` has a line
for each word, and no header, since there is one column only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import text
from conceptor.vectors.source import Chunk, check_finite
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "projector"
SUFFIX = ".tsv"


def metadata_path(tensors: Path) -> Path:
    """Return where the words go: `metadata.tsv` beside `tensors.tsv`, else `x.metadata.tsv`."""
    name = "metadata" if tensors.stem == "tensors" else f"{tensors.stem}.metadata"
    return tensors.with_name(name + SUFFIX)


def check_not_projector(path: Path) -> None:
    """Raise for numbers whose words are elsewhere: the first number of a line is no word."""
    if path.suffix == SUFFIX and metadata_path(path).is_file():
        raise InvalidInputError(
            f"{path}: numbers for TensorBoard's projector, without words; open the vectors that "
            "they were made from"
        )


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
                    f"{FORMAT} cannot store; write .parquet"
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
        """Nothing is left to do."""
