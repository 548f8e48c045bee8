"""The words of an array, from a file beside it with one word per line, or from a tokenizer."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.files import replace_atomically
from conceptor.vectors.streams import open_byte_writer
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conceptor.vectors.target import Target

SUFFIXES = (".words.txt", ".words", ".vocab.txt", ".vocab", ".txt")
TOKENIZER = "tokenizer.json"
BOM = b"\xef\xbb\xbf"
CHECKSUM_BYTES = 8
_SAMPLE_BYTES = 1 << 16


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


def read_first_lines(path: Path, start: int = 0, stop: int | None = None) -> list[str]:
    """Return the first lines of a file, or of a part of it, as far as they show what they are."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(_SAMPLE_BYTES if stop is None else min(_SAMPLE_BYTES, stop - start))
    lines = data.removeprefix(BOM).replace(b"\r\n", b"\n").decode(errors="replace").split("\n")
    return lines[:-1] if lines[1:] else lines  # the last may be cut, or empty


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
        lines = normal_lines(found.read_bytes())
        words = split_lines(lines)
        if check and checksum(hashlib.sha256(lines)) != check:
            raise InvalidInputError(
                f"{found}: not the words that {array.name} was written with, so the two come from "
                "different runs; write both again (if the words were edited on purpose, save the "
                "array again with numpy.save)"
            )
    check_count(words, rows, found, array.name)
    return words


def check_count(words: PackedWords, rows: int, found: object, array: str) -> None:
    """Raise unless there is one word for each row."""
    if len(words) != rows:
        raise InvalidInputError(
            f"{found}: {len(words)} words for the {rows} vectors of {array}; the numbers must agree"
        )


def checksum(lines: hashlib._Hash) -> bytes:
    """Return what ties words to their array: the beginning of a hash of the lines."""
    return lines.digest()[:CHECKSUM_BYTES]


def protect_bom(stream: BinaryIO, data: bytes) -> None:
    """Write a byte-order mark before a first word that begins with one, as readers drop one."""
    if data.startswith(BOM):
        stream.write(BOM)


def refuse_word(word: str, problem: str, where: str) -> NoReturn:
    """Raise for a word that could not be read back."""
    spaces = (", or open with ", Setting("replace_spaces", "_")) if " " in word else ()
    raise InvalidInputError(
        f"the word {word!r} contains {problem}, which {where} cannot store; "
        "write .parquet or .feather",
        *spaces,
    )


def to_lines(words: PackedWords) -> bytes:
    """Return one line for each word; raise for a word that has several."""
    if (row := words.first_with(b"\r\n")) >= 0:
        refuse_word(words[row], "a line break", "words file")
    return "".join(f"{word}\n" for word in words).encode()


@contextmanager
def open_with_words(target: Target) -> Iterator[tuple[BinaryIO, BinaryIO | None]]:
    """Yield a stream to a target and one to the file of its words, if it has one.

    The words' file is renamed last: whatever ends the process in between, the new array's checksum
    tells that the words beside it are not its own.
    """
    path, *words = target.files
    with ExitStack() as stack:
        besides = [stack.enter_context(replace_atomically(each)) for each in (*words, path)]
        *others, stream = [
            stack.enter_context(open_byte_writer(each, None, "")) for each in besides
        ]
        yield stream, others[0] if others else None


def normal_lines(data: bytes) -> bytes:
    """Return lines that each end in a newline, as this library writes them."""
    data = data.removeprefix(BOM)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if b"\r" in data and data.count(b"\r\n") == data.count(b"\n"):
        data = data.replace(b"\r\n", b"\n")
    if data and not data.endswith(b"\n"):
        data += b"\n"
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
            entries = [(int(index), str(word)) for word, index in vocabulary.items()]
        else:
            entries = [(index, str(entry[0])) for index, entry in enumerate(vocabulary)]
        added = [
            (int(token["id"]), str(token["content"])) for token in content.get("added_tokens") or []
        ]
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidInputError(f"{path}: not a tokenizer file with a vocabulary") from None
    # An added token takes the place of another, as a Unigram's padding does; no two others do.
    words = _by_number(path, entries) | _by_number(path, added)
    missing = next((row for row in range(rows) if row not in words), None)
    if missing is not None:
        raise InvalidInputError(f"{path}: no token for row {missing} of {rows}")
    return PackedWords.from_words(words[row] for row in range(rows))


def _by_number(path: Path, entries: list[tuple[int, str]]) -> dict[int, str]:
    found: dict[int, str] = {}
    for number, token in entries:
        if found.setdefault(number, token) != token:
            raise InvalidInputError(
                f"{path}: the tokens {found[number]!r} and {token!r} both have number {number}"
            )
    return found
