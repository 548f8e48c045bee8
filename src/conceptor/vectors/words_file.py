"""The words of an array, from a file beside it with one word per line, or from a tokenizer."""

from __future__ import annotations

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


def words_path(array: Path) -> Path:
    """Return where the words of `array` are written: `x.words.txt` for `x.npy`."""
    return array.with_suffix(SUFFIXES[0])


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


def read_words_for(array: Path, rows: int, *, tokenizer: bool = False) -> PackedWords:
    """Read the words that belong to an array of `rows` rows.

    Looks beside it for `x.words.txt`, `x.words`, `x.vocab.txt`, `x.vocab`, `x.txt` and, with
    `tokenizer`, `tokenizer.json`.
    """
    found = find_words_file(array, tokenizer=tokenizer)
    from_tokenizer = found.name == TOKENIZER
    words = _read_tokenizer(found, rows) if from_tokenizer else _read_lines(found)
    if len(words) != rows:
        raise InvalidInputError(
            f"{found}: {len(words)} words for the {rows} vectors of {array.name}; "
            "the numbers must agree"
        )
    return words


def _read_lines(path: Path) -> PackedWords:
    data = np.fromfile(path, dtype=np.uint8)
    if data[:3].tobytes() == BOM:
        data = data[3:]
    ends = np.flatnonzero(data == 10)
    if len(data) and data[-1] != 10:
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64) if len(ends) else ends
    filled = ends > starts
    returned = filled & (data[np.maximum(ends - 1, 0)] == 13) if len(data) else filled
    if len(ends) and returned.all():  # written with \r\n throughout
        ends = ends - 1
    return PackedWords.cut(data, starts.astype(np.int64), ends.astype(np.int64))


def _read_tokenizer(path: Path, rows: int) -> PackedWords:
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
