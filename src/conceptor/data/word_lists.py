"""Lists of words: counts, vocabularies and function words, from files and packages."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import read_lines
from conceptor.data.registry import data_file, find, registry

Directory = str | os.PathLike[str] | None
Content = TypeVar("Content")

WORDFREQ = "wordfreq:"
# The paper's vocabulary for estimation, with counts: words with 200 or more occurrences.
PAPER_VOCABULARY = "vocabulary/enwiki_vocab_min200.txt"
# NLTK's 179 English stop words, which the authors of half-sibling regression use.
_STOP_WORDS = """
a about above after again against ain all am an and any are aren aren't as at be because been
before being below between both but by can couldn couldn't d did didn didn't do does doesn doesn't
doing don don't down during each few for from further had hadn hadn't has hasn hasn't have haven
haven't having he her here hers herself him himself his how i if in into is isn isn't it it's its
itself just ll m ma me mightn mightn't more most mustn mustn't my myself needn needn't no nor not
now o of off on once only or other our ours ourselves out over own re s same shan shan't she she's
should should've shouldn shouldn't so some such t than that that'll the their theirs them
themselves then there these they this those through to too under until up ve very was wasn wasn't
we were weren weren't what when where which while who whom why will with won won't wouldn wouldn't
y you you'd you'll you're you've your yours yourself yourselves
"""
FUNCTION_WORDS = frozenset(_STOP_WORDS.split())


def find_paper_vocabulary(data: Directory) -> Path | None:
    """Return the paper's vocabulary, if it is on this machine."""
    place, _ = find(data_file(PAPER_VOCABULARY), data) or (None, None)
    return place


def find_data_file(name: str, data: Directory) -> str:
    """Return the local path of the data file of this name; else the name itself."""
    is_keyword = name in ("uniform", "zipf") or name.startswith((WORDFREQ, "top:"))
    if is_keyword or os.path.exists(name):
        return name
    matches = [file for file in registry().values() if Path(file.name).name == name]
    place = find(matches[0], data) if len(matches) == 1 else None
    return name if place is None else str(place[0])


def read_wordfreq(language: str) -> Mapping[str, float]:
    """Return the wordfreq package's word frequencies for a language."""
    try:
        import wordfreq
    except ImportError:
        raise MissingExtraError(f"weights {WORDFREQ}{language}", "wordfreq") from None
    try:
        frequencies: Mapping[str, float] = wordfreq.get_frequency_dict(language)
    except (LookupError, ValueError):
        languages = ", ".join(sorted(wordfreq.available_languages()))
        reason = f"wordfreq has no language {language!r}; it has {languages}"
        raise InvalidInputError(reason) from None
    return frequencies


def _while_unchanged(read: Callable[[str | Path], Content]) -> Callable[[str | Path], Content]:
    """Remember what a file held until it changes: every fit needs the paper's 188,000 lines."""
    remembered = lru_cache(maxsize=2)(lambda path, _: read(path))

    @wraps(read)
    def reader(path: str | Path) -> Content:
        if not os.path.isfile(path):  # a pipe, or nothing
            return read(path)
        state = os.stat(path)
        return remembered(Path(path), (state.st_ino, state.st_size, state.st_mtime_ns))

    return reader


@_while_unchanged
def read_counts(path: str | Path) -> Mapping[str, float]:
    """Read `word count` lines; the first count of a repeated word is kept."""
    counts: dict[str, float] = {}
    for number, line in read_lines(path, "(and not uniform, zipf or wordfreq:LANG)"):
        word, count = _split_count(line)
        if not word or count is None or not 0 <= count < float("inf"):
            raise InvalidInputError(
                f"{path}, line {number}: expected a word and a count, found {line[:60]!r}"
            )
        counts.setdefault(word, count)
    if not any(counts.values()):
        raise InvalidInputError(f"{path}: no word has a positive count")
    return counts


def read_words(path: str | Path) -> list[str]:
    """Read a vocabulary: one word per line, or `word count` if every line ends in a number."""
    lines = [line for _, line in read_lines(path, "(and not top:N)")]
    if not lines:
        raise InvalidInputError(f"{path}: contains no words")
    parts = [_split_count(line) for line in lines]
    counted = all(word and count is not None for word, count in parts)
    return [word for word, _ in parts] if counted else lines


@_while_unchanged
def read_word_set(path: str | Path) -> frozenset[str]:
    """Read a vocabulary as a set."""
    return frozenset(read_words(path))


def _split_count(line: str) -> tuple[str, float | None]:
    """Split a `word count` line; None for a count that is not a number."""
    word, _, count = line.rpartition("\t" if "\t" in line else " ")
    try:
        number = float(count) if count.isascii() and "_" not in count else None
    except ValueError:
        number = None
    return word.strip(" \t"), number
