"""Tokens of texts from a Hugging Face tokenizer, and how often tokens are used."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import Float64
from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.base.tokens import APOSTROPHES, PATTERN

if TYPE_CHECKING:
    from scipy import sparse
    from tokenizers import Tokenizer

# WordPiece's mark for a piece inside a word.
INNER = "##"
# Normalizers that change characters independently of their neighbors, and pre-tokenizers that
# split texts at least at spaces.
_WITHIN_RUNS = {"BertNormalizer", "Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD"}
_AT_SPACES = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
# A normalizer that expands a character to more than this is refused; NFKD makes at most 18.
_MOST_GROWTH = 1000
# This many remembered runs between spaces cover nearly all of any text.
_MOST_RUNS = 1 << 17


class RowLists(NamedTuple):
    """The rows of several texts; text i has ``rows[ends[i]:ends[i + 1]]``."""

    rows: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]]) -> RowLists:
        """Return the rows of each text."""
        ends = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return cls(np.fromiter(chain.from_iterable(lists), np.int64, count=ends[-1]), ends)

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
    """Load a `tokenizer.json` for a matrix of `rows` rows; without padding and truncation.

    Raises for files that would later fail, or take too much memory or time.
    """
    with tokenizer_errors(path, "not a tokenizer"):
        tokenizer: Tokenizer = import_tokenizers().Tokenizer.from_file(str(path))
    check_tokenizer(tokenizer, path)
    token, number = max(tokenizer.get_vocab().items(), key=itemgetter(1), default=("", -1))
    if number >= rows:
        raise InvalidInputError(
            f"{path}: the token {token!r} has number {number}, but there are {rows} rows"
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def check_tokenizer(tokenizer: Tokenizer, where: object) -> None:
    """Raise if the normalizer expands texts too much, or if the unknown token is missing."""
    content = json.loads(tokenizer.to_str())
    unknown = content["model"].get("unk_token")
    if unknown and tokenizer.token_to_id(unknown) is None:
        raise InvalidInputError(f"{where}: the unknown token {unknown!r} is not in its vocabulary")
    if _growth(content["normalizer"]) > _MOST_GROWTH:
        raise InvalidInputError(
            f"{where}: its normalizer makes texts over {_MOST_GROWTH} times as long; fetch it again"
        )


def _growth(normalizer: Mapping[str, Any] | None) -> float:
    """Return the largest factor by which a normalizer can lengthen a text."""
    if normalizer is None:
        return 1.0
    if normalizer["type"] == "Sequence":
        return math.prod(map(_growth, normalizer["normalizers"]))
    if normalizer["type"] == "Prepend":
        return 1.0 + len(normalizer["prepend"])
    if normalizer["type"] == "Replace":
        literal = normalizer["pattern"].get("String")
        added = len(normalizer["content"])
        # An expression may match the empty text before each character.
        return 1.0 + added if literal is None else max(1.0, added / max(len(literal), 1))
    return 1.0


@contextmanager
def tokenizer_errors(where: object, what: str = "its tokenizer fails") -> Iterator[None]:
    """Add the name of a file to any error of the tokenizers library.

    A panic in its Rust code, such as a failing regular expression, is a BaseException.
    """
    try:
        yield
    except (ConceptorError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInputError(f"{where}: {what} ({reason}); fetch it again") from None


def count_tokens(tokenizer: Tokenizer, texts: Iterable[str]) -> sparse.csr_array:
    """Return how often each token occurs in each text, one row per text."""
    from scipy import sparse

    tokens = TokenReader(tokenizer).split(list(texts))
    shape = (len(tokens.ends) - 1, tokenizer.get_vocab_size())
    ones = np.ones(len(tokens.rows), dtype=np.float32)
    counts = sparse.csr_array((ones, tokens.rows, tokens.ends), shape=shape)
    counts.sum_duplicates()
    return counts


def token_usage(tokenizer: Tokenizer, counts: Mapping[str, float]) -> Float64:
    """Return how often tokens are used, from how often words are used."""
    tokens = TokenReader(tokenizer).split(list(counts))
    word_counts = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    weights = np.repeat(word_counts, np.diff(tokens.ends))
    usage = np.bincount(tokens.rows, weights, minlength=tokenizer.get_vocab_size())
    return np.asarray(usage, dtype=np.float64)


class TokenReader:
    """The known tokens of texts, by number; unknown and special tokens are left out.

    If no token can cross a space, each run between two spaces is tokenized once and then
    remembered: by Zipf's law most runs are repeats, and tokenizing is the main cost of encoding.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        content = json.loads(tokenizer.to_str())
        self._tokenizer = tokenizer
        self._unknown = tokenizer.token_to_id(content["model"].get("unk_token") or "")
        self._remembers = splits_at_spaces(content)
        self._runs: dict[str, list[int]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the arguments, without the remembered runs."""
        return TokenReader, (self._tokenizer,)

    def __call__(self, texts: list[str]) -> RowLists:
        """Return the tokens of each text."""
        if not self._remembers:
            return RowLists.from_lists(self._without_unknown(texts))
        texts_runs = [text.split(" ") for text in texts]
        runs = self._runs
        new = [run for run in set(chain.from_iterable(texts_runs)) if run not in runs]
        if len(runs) + len(new) > _MOST_RUNS:
            self._runs = runs = {}  # other threads may still use the old one
            new = list(set(chain.from_iterable(texts_runs)))
        if new:
            runs.update(zip(new, self._without_unknown(new), strict=True))
        lists = [[token for run in each for token in runs[run]] for each in texts_runs]
        return RowLists.from_lists(lists)

    def split(self, texts: list[str]) -> RowLists:
        """Return the tokens of each text, unknown ones included; remember nothing."""
        return RowLists.from_lists(self._encode(texts))

    def _without_unknown(self, texts: list[str]) -> list[list[int]]:
        lists = self._encode(texts)
        if self._unknown is None:
            return lists
        return [[token for token in tokens if token != self._unknown] for tokens in lists]

    def _encode(self, texts: list[str]) -> list[list[int]]:
        with tokenizer_errors("tokenizer.json"):
            encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            return [encoding.ids for encoding in encodings]


def splits_at_spaces(tokenizer: Mapping[str, Any]) -> bool:
    """Return whether no token crosses U+0020 or depends on the text beyond one."""
    normalizer = tokenizer["normalizer"] or {"type": "Sequence", "normalizers": []}
    steps = normalizer["normalizers"] if normalizer["type"] == "Sequence" else [normalizer]
    splitter = tokenizer["pre_tokenizer"] or {"type": None}
    return (
        tokenizer["model"]["type"] in ("WordPiece", "WordLevel")
        and tokenizer["truncation"] is None
        and tokenizer["padding"] is None
        and all(
            step["type"] in _WITHIN_RUNS or step.get("pattern") == {"Regex": f"[{APOSTROPHES}]"}
            for step in steps
        )
        and (splitter["type"] in _AT_SPACES or splitter.get("pattern") == {"Regex": PATTERN})
        and not any(" " in token["content"] for token in tokenizer["added_tokens"])
    )


def has_letters(token: str) -> bool:
    """Return whether a token is more than punctuation."""
    return any(map(str.isalnum, token.removeprefix(INNER)))
