"""Tokens: of sentences as the STS protocol splits them, and of Hugging Face tokenizers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import Float64
from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from scipy import sparse
    from tokenizers import Tokenizer

# Contractions split as in the Penn Treebank: do|n't, it|'s, can|not. O'Neill, and/or, well-known
# and .spx stay whole.
_CLITIC = r"(?:s|m|d|ll|re|ve)\b"
PATTERN = (
    r"n't\b"
    rf"|'{_CLITIC}"
    r"|(?:[^\W\d_]\.){2,}(?:-\w+)*"  # u.s., u.s.-led
    r"|can(?=not\b)"
    r"|\w+?(?=n't\b)"
    rf"|(?:(?<!\.)\.)?\w+(?:[-./+*=~^|\\]\w+|'(?!{_CLITIC})\w+)*"
)
# Quotation marks that are used as apostrophes.
APOSTROPHES = "‘’"
_TOKEN = re.compile(PATTERN)
# WordPiece's mark for a piece inside a word.
INNER = "##"


def tokenize(sentence: str) -> list[str]:
    """Return the lower-cased tokens that contain a letter; punctuation and numbers are dropped.

    As `word_tokenize` of NLTK with `str.islower()` in the paper's notebook.
    """
    return list(chain.from_iterable(map(_split, sentence.lower().split())))


# By Zipf's law most runs between two spaces have been seen before.
@lru_cache(maxsize=1 << 17)
def _split(run: str) -> list[str]:
    for mark in APOSTROPHES:
        run = run.replace(mark, "'")
    return [token for token in _TOKEN.findall(run) if token.islower()]


class RowLists(NamedTuple):
    """The rows of several texts; text i has ``rows[ends[i]:ends[i + 1]]``."""

    rows: NDArray[np.int64]
    ends: NDArray[np.int64]

    def distinct(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct rows in order, and the place of each row among them."""
        rows, places = np.unique(self.rows, return_inverse=True)
        return rows, places


def import_tokenizers() -> Any:  # noqa: ANN401
    """Import tokenizers, or raise with the command that installs it."""
    try:
        import tokenizers
    except ImportError:
        raise MissingExtraError("a static model's tokenizer", "static") from None
    return tokenizers


def load_tokenizer(path: Path, rows: int) -> Tokenizer:
    """Load a `tokenizer.json` for a matrix of `rows` rows; without padding and truncation."""
    with tokenizer_errors(path, "not a tokenizer"):
        tokenizer: Tokenizer = import_tokenizers().Tokenizer.from_file(str(path))
    token, number = max(tokenizer.get_vocab().items(), key=itemgetter(1), default=("", -1))
    if number >= rows:
        raise InvalidInputError(
            f"{path}: the token {token!r} has number {number}, but there are {rows} rows"
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@contextmanager
def tokenizer_errors(where: object, what: str = "its tokenizer fails") -> Iterator[None]:
    """Add the name of a file to any error of the tokenizers library."""
    try:
        yield
    except (ConceptorError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # panics of Rust are no exceptions
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInputError(f"{where}: {what} ({reason}); fetch it again") from None


class TokenReader:
    """The known tokens of texts, by number; unknown and special tokens are left out."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        unknown = getattr(tokenizer.model, "unk_token", None)
        self._unknown = tokenizer.token_to_id(unknown) if unknown else None

    def __call__(self, texts: Sequence[str]) -> RowLists:
        """Return the tokens of each text."""
        rows, ends = self.split(texts)
        is_token = rows != (-1 if self._unknown is None else self._unknown)
        return RowLists(rows[is_token], np.concatenate([[0], np.cumsum(is_token)])[ends])

    def split(self, texts: Sequence[str]) -> RowLists:
        """Return the tokens of each text, unknown ones included."""
        with tokenizer_errors("tokenizer.json"):
            encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
            lists = [encoding.ids for encoding in encodings]
        ends = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return RowLists(np.fromiter(chain.from_iterable(lists), np.int64, count=ends[-1]), ends)


def count_tokens(tokenizer: Tokenizer, texts: Iterable[str]) -> sparse.csr_array:
    """Return how often each token occurs in each text, one row per text."""
    from scipy import sparse

    tokens = TokenReader(tokenizer).split(list(texts))
    shape = (len(tokens.ends) - 1, 1 + max(tokenizer.get_vocab().values(), default=-1))
    ones = np.ones(len(tokens.rows), dtype=np.float32)
    counts = sparse.csr_array((ones, tokens.rows, tokens.ends), shape=shape)
    counts.sum_duplicates()
    return counts


def token_usage(tokenizer: Tokenizer, counts: Mapping[str, float]) -> Float64:
    """Return how often tokens are used, from how often words are used."""
    word_counts = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    return np.asarray(word_counts @ count_tokens(tokenizer, counts), dtype=np.float64)


def token_counts(tokenizer: Tokenizer, counts: Mapping[str, float]) -> dict[str, float]:
    """Return the same by token; special tokens have no count."""
    special = {each.content for each in tokenizer.get_added_tokens_decoder().values()}
    usage = token_usage(tokenizer, counts)
    tokens = {number: token for token, number in tokenizer.get_vocab().items()}
    return {
        tokens[number]: float(usage[number])
        for number in np.flatnonzero(usage).tolist()
        if tokens[number] not in special
    }


def has_letters(token: str) -> bool:
    """Return whether a token is more than punctuation."""
    return any(map(str.isalnum, token.removeprefix(INNER)))
