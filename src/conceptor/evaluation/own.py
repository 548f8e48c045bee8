"""The user's own benchmarks: word pairs and sentence pairs with scores, in any language."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.sts import SentencePair, SentenceSimilarity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# The families of the user's own benchmarks.
PAIRS, SENTENCE_PAIRS = "pairs", "sentence-pairs"
# Public sets of the same form in other languages: the files of each dataset, by family.
LANGUAGES = {
    f"similarity-{code}": {
        f"SimLex {code}": f"word-similarity/{code.upper()}-SIMLEX-999.txt",
        f"WS {code}": f"word-similarity/{code.upper()}-WS-353.txt",
    }
    for code in ("de", "it", "ru")
}


def read_own(
    pairs: Sequence[str | os.PathLike[str]] = (),
    sentence_pairs: Sequence[str | os.PathLike[str]] = (),
) -> list[WordSimilarity | SentenceSimilarity]:
    """Return a benchmark for each file, named after the file."""
    files = [*pairs, *sentence_pairs]
    tasks: list[WordSimilarity | SentenceSimilarity] = []
    for position, (name, file) in enumerate(zip(name_files(files), files, strict=True)):
        check_once(file)
        if position < len(pairs):
            tasks.append(read_words(name, file, PAIRS))
        else:
            tasks.append(SentenceSimilarity(name, read_pairs(file), SENTENCE_PAIRS))
    return tasks


def name_files(files: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the names of files of pairs in results: file names, or paths if names are equal."""
    names = [Path(file).name for file in files]
    if len(set(names)) < len(names):
        names = [os.fspath(file) for file in files]
    if len(set(names)) < len(names):
        raise InvalidInputError("a file of pairs was named twice; name each once")
    return names


def read_words(
    dataset: str, path: str | os.PathLike[str], family: str = "similarity"
) -> WordSimilarity:
    """Read word pairs as a benchmark of a family."""
    found = read_pairs(path)
    words = [(pair.left, pair.right) for pair in found]
    return WordSimilarity(dataset, words, [pair.gold for pair in found], family)


def read_pairs(path: str | os.PathLike[str]) -> list[SentencePair]:
    """Read lines of two words or sentences and a score; skip a heading and # comments.

    Fields are separated by tabs. In a file without tabs they are separated by commas if its name
    ends in .csv, and otherwise by blanks.
    """
    found: list[SentencePair] = []
    for number, fields in split_lines(path, "pairs"):
        try:
            left, right, score = fields
            gold = read_number(score)
        except ValueError:
            if not found and len(fields) == 3 and _is_first(path, number):
                continue  # a heading
            raise InvalidInputError(
                f"{os.fspath(path)}, line {number}: expected two texts and a score, separated by "
                f"tabs; found {len(fields)} fields"
                + (f", the last is {fields[-1]!r}" if len(fields) == 3 else "")
            ) from None
        if not (left and right and math.isfinite(gold)):
            raise InvalidInputError(
                f"{os.fspath(path)}, line {number}: a text is empty or the score is not finite"
            )
        found.append(SentencePair(left, right, gold))
    if not found:
        raise InvalidInputError(f"{os.fspath(path)}: contains no pairs")
    if len({pair.gold for pair in found}) == 1:
        raise InvalidInputError(
            f"{os.fspath(path)}: all scores are equal, so nothing can agree with them"
        )
    return found


def read_number(text: str) -> float:
    """Read a number as people write it: Python would also accept `1_000`, and any digits."""
    if "_" in text or not text.isascii():
        raise ValueError
    return float(text)


def check_once(path: str | os.PathLike[str]) -> None:
    """Raise for a pair listed twice, in either order: it would count twice and narrow intervals."""
    seen: dict[frozenset[str], int] = {}
    for number, fields in split_lines(path, "pairs"):
        if len(fields) != 3:
            continue  # reading reports the error
        pair = frozenset(fields[:2])
        if (before := seen.setdefault(pair, number)) != number:
            raise InvalidInputError(
                f"{os.fspath(path)}, line {number}: the same pair as on line {before}; remove one, "
                "or replace both by one line with their mean score"
            )


def _is_first(path: str | os.PathLike[str], number: int) -> bool:
    return next(split_lines(path, "pairs"))[0] == number


def split_lines(path: str | os.PathLike[str], what: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is neither blank nor a comment."""
    lines = read_lines(path, what, f"of {what}")
    tabs = any("\t" in line for _, line in lines)
    commas = Path(path).suffix.lower() == ".csv"
    for number, line in lines:
        if line.startswith("#"):
            continue
        by_comma = commas and not tabs
        fields = next(csv.reader([line])) if by_comma else line.split("\t" if tabs else None)
        yield number, [field.strip() for field in fields]
