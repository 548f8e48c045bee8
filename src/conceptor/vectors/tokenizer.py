"""Tokens of texts from a Hugging Face tokenizer, and how often tokens are used."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from itertools import chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.base.threads import ordered_map, processors
from conceptor.base.tokens import APOSTROPHES, PATTERN
from conceptor.vectors.memory import Memory, RowLists, split_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from scipy import sparse
    from tokenizers import Tokenizer

    from conceptor.base.arrays import Float64

# WordPiece's mark for a piece inside a word.
INNER = "##"
# Normalisers that change characters independently of their neighbours, and pre-tokenizers that
# split texts at least at blanks.
_WITHIN_RUNS = {"BertNormalizer", "Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD"}
_AT_BLANKS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}


# A normaliser that expands a character to more than this is refused; NFKD makes at most 18.
_MOST_GROWTH = 1000
# Fewer texts than this are not worth a thread.
_FEW = 256
# Runs between blanks that are remembered from queries.
_MOST_RUNS = 1 << 17


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
        read: Tokenizer = import_tokenizers().Tokenizer.from_file(str(path))
    check_tokenizer(read, path)
    beyond = max(read.get_vocab().items(), key=itemgetter(1), default=("", -1))
    if beyond[1] >= rows:
        raise InvalidInputError(
            f"{path}: the token {beyond[0]!r} has number {beyond[1]}, but there are {rows} rows"
        )
    read.no_padding()
    read.no_truncation()
    return read


def check_tokenizer(tokenizer: Tokenizer, where: object) -> None:
    """Raise if the normaliser expands texts too much, or if the unknown token is missing."""
    said = json.loads(tokenizer.to_str())
    unknown = said["model"].get("unk_token")
    if unknown and tokenizer.token_to_id(unknown) is None:
        raise InvalidInputError(f"{where}: the unknown token {unknown!r} is not in its vocabulary")
    if _growth(said["normalizer"]) > _MOST_GROWTH:
        raise InvalidInputError(
            f"{where}: its normaliser makes texts over {_MOST_GROWTH} times as long; fetch it again"
        )


def _growth(normalizer: Mapping[str, Any] | None) -> float:
    """Return the largest factor by which a normaliser can lengthen a text."""
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
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInputError(f"{where}: {what} ({said}); fetch it again") from None


def count_tokens(tokenizer: Tokenizer, texts: Iterable[str]) -> sparse.csr_array:
    """Return how often each token occurs in each text, one row per text."""
    from scipy import sparse

    found = TokenReader(tokenizer).split(list(texts))
    shape = (len(found.ends) - 1, tokenizer.get_vocab_size())
    ones = np.ones(len(found.rows), dtype=np.float32)
    counts = sparse.csr_array((ones, found.rows, found.ends), shape=shape)
    counts.sum_duplicates()
    return counts


def token_usage(tokenizer: Tokenizer, counts: Mapping[str, float]) -> Float64:
    """Return how often tokens are used, from how often words are used."""
    found = TokenReader(tokenizer).split(list(counts))
    each = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    used = np.repeat(each, np.diff(found.ends))
    total = np.bincount(found.rows, used, minlength=tokenizer.get_vocab_size())
    return np.asarray(total, dtype=np.float64)


class TokenReader:
    """The known tokens of texts, by number; unknown and special tokens are left out.

    If no token can cross a blank, each run between two blanks is split once and then remembered:
    tokenizing is the main cost of encoding with a static model.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        said = json.loads(tokenizer.to_str())
        self._tokenizer = tokenizer
        self._unknown = tokenizer.token_to_id(said["model"].get("unk_token") or "")
        self._model = tokenizer.model if passes_letters(said) else None
        self._memory = Memory(self._read, split_at(" ")) if splits_at_blanks(said) else None
        self._runs: dict[str, list[int]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the arguments, without the remembered runs."""
        return TokenReader, (self._tokenizer,)

    def __call__(self, texts: list[str]) -> RowLists:
        """Return the tokens of each text."""
        return self._read(texts) if self._memory is None else self._memory.of_texts(texts)

    def of_query(self, text: str) -> list[int]:
        """Return the tokens of one short text; a dictionary is faster here than the memory."""
        found: list[int] = []
        if self._memory is None:
            return list(self._read([text]).rows.tolist())
        known, runs = self._runs, text.split(" ")
        new = [run for run in runs if run not in known]
        if new:
            if len(known) > _MOST_RUNS:
                self._runs = known = {}  # other threads may still use the old one
                new = runs
            read = self._read(new)
            rows = read.rows.tolist()
            known.update(
                (run, rows[a:b])
                for run, (a, b) in zip(new, pairwise(read.ends.tolist()), strict=True)
            )
        for run in runs:
            found += known[run]
        return found

    def _read(self, texts: list[str]) -> RowLists:
        found = self.split(texts)
        return found if self._unknown is None else found.without(self._unknown)

    def split(self, texts: list[str]) -> RowLists:
        """Return the tokens of each text without the special tokens around it; remember nothing.

        A word that normalisation leaves unchanged goes directly to the model: a tokenizer spends
        most of its time on bookkeeping for each letter.
        """
        with tokenizer_errors("tokenizer.json"):
            if self._model is None:
                return RowLists.from_lists(self._encode(texts))
            tokenize = self._model.tokenize
            others = iter(self._encode([text for text in texts if not _of_letters(text)]))
            return RowLists.from_lists(
                [
                    [token.id for token in tokenize(text)] if _of_letters(text) else next(others)
                    for text in texts
                ]
            )

    def _encode(self, texts: list[str]) -> list[list[int]]:
        def encode(part: list[str]) -> list[list[int]]:
            found = self._tokenizer.encode_batch_fast(part, add_special_tokens=False)
            return [each.ids for each in found]

        if len(texts) <= _FEW:
            return encode(texts)
        # In our own threads: the tokenizer's may be switched off, as model2vec does.
        step = max(_FEW, -(-len(texts) // processors()))
        parts = (texts[start : start + step] for start in range(0, len(texts), step))
        return list(chain.from_iterable(ordered_map(encode, parts, processors())))


def splits_at_blanks(tokenizer: Mapping[str, Any]) -> bool:
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
        and (splitter["type"] in _AT_BLANKS or splitter.get("pattern") == {"Regex": PATTERN})
        and not any(" " in token["content"] for token in tokenizer["added_tokens"])
    )


def passes_letters(tokenizer: Mapping[str, Any]) -> bool:
    """Return whether a word of the letters a to z reaches the tokenizer's model unchanged."""
    return (
        splits_at_blanks(tokenizer)
        and tokenizer["pre_tokenizer"] is not None
        and tokenizer["pre_tokenizer"]["type"] in _AT_BLANKS
        and not any(
            token["content"].isalpha()
            or (token["normalized"] and any(map(str.isalpha, token["content"])))
            for token in tokenizer["added_tokens"]
        )
    )


def _of_letters(text: str) -> bool:
    return text.isascii() and text.isalpha() and text.islower()


def has_letters(token: str) -> bool:
    """Return whether a token is more than punctuation."""
    return any(map(str.isalnum, token.removeprefix(INNER)))
