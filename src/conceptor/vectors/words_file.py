"""The words of an array, from a file beside it with one word per line, or from a tokenizer."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (".words.txt", ".words", ".vocab.txt", ".vocab", ".txt")
TOKENIZER = "tokenizer.json"
BOM = b"\xef\xbb\xbf"
CHECKSUM_BYTES = 8


def words_path(array: Path) -> Path:
    """Return where the words of `array` are written: `x.words.txt` for `x.npy`."""
    return array.with_suffix(SUFFIXES[0])


def has_words_file(array: Path) -> bool:
    """Return whether a file beside an array may hold its words."""
    return any(array.with_suffix(suffix).is_file() for suffix in SUFFIXES)


def find_words_file(array: Path, *, tokenizer: bool) -> Path:
    """Find the file that holds an array's words."""
    candidates = [array.with_suffix(suffix) for suffix in SUFFIXES]
    if tokenizer:
        candidates.append(array.with_name(TOKENIZER))
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        also = f" or a {TOKENIZER}" if tokenizer else ""
        raise InvalidInputError(
            f"{array}: its words are missing; put {candidates[0].name} (one word per line){also} "
            "beside it"
        )
    return found


def read_words_for(
    array: Path, rows: int, *, tokenizer: bool = False, check: bytes = b""
) -> PackedWords:
    """Read the words that belong to an array of `rows` rows.

    Looks beside it for `x.words.txt`, `x.words`, `x.vocab.txt`, `x.vocab`, `x.txt` and, with
    `tokenizer`, `tokenizer.json`. The words must have the checksum `check`, if there is one.
    """
    found = find_words_file(array, tokenizer=tokenizer)
    if found.name == TOKENIZER:
        words = read_tokenizer(found, rows)
    else:
        lines = _normal_lines(found.read_bytes())
        words = split_lines(lines)
        if check and checksum(hashlib.sha256(lines)) != check:
            raise InvalidInputError(
                f"{found}: not the words that {array.name} was written with, so the two come from "
                "different runs; write both again (if the words were edited on purpose, save the "
                "array again with numpy.save)"
            )
    check_count(words, rows, found, array)
    return words


def check_count(words: PackedWords, rows: int, found: Path, array: Path) -> None:
    """Raise unless there is one word for each row."""
    if len(words) != rows:
        raise InvalidInputError(
            f"{found}: {len(words)} words for the {rows} vectors of {array.name}; "
            "the numbers must agree"
        )


def checksum(lines: hashlib._Hash) -> bytes:
    """Return what ties words to their array: the beginning of a hash of the lines."""
    return lines.digest()[:CHECKSUM_BYTES]


def _normal_lines(data: bytes) -> bytes:
    """Return lines that each end in a newline, as this library writes them."""
    data = data.removeprefix(BOM)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    if b"\r" in data and data.count(b"\r\n") == data.count(b"\n"):
        data = data.replace(b"\r\n", b"\n")
    return data


def split_lines(lines: bytes) -> PackedWords:
    """Split lines that each end in a newline."""
    data = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(data == 10)
    starts = np.concatenate([np.zeros(1, dtype=ends.dtype), ends[:-1] + 1])[: len(ends)]
    return PackedWords.cut(data, starts, ends)


def read_tokenizer(path: Path, rows: int) -> PackedWords:
    """Read the tokens of a `tokenizer.json`, in the order of their rows."""
    try:
        content = json.loads(path.read_bytes())
        vocabulary = content["model"]["vocab"]
        if isinstance(vocabulary, dict):
            words = {int(index): str(word) for word, index in vocabulary.items()}
        else:
            words = {index: str(entry[0]) for index, entry in enumerate(vocabulary)}
        for token in content.get("added_tokens") or []:
            words[int(token["id"])] = str(token["content"])
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidInputError(f"{path}: not a tokenizer file with a vocabulary") from None
    missing = next((row for row in range(rows) if row not in words), None)
    if missing is not None:
        raise InvalidInputError(f"{path}: no token for row {missing} of {rows}")
    return PackedWords.from_words(words[row] for row in range(rows))
