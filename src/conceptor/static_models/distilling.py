"""Distil a static model from a transformer, or from any function from texts to vectors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conceptor import __version__
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.progress import silent
from conceptor.data.word_lists import WORDFREQ, read_wordfreq, read_words
from conceptor.static_models.model import StaticModel
from conceptor.static_models.sentences import open_sentences
from conceptor.static_models.sources import model_name
from conceptor.static_models.table import (
    RIDGE,
    fit_sentences,
    leading_directions,
    negate_sentences,
    negate_usage,
)
from conceptor.static_models.transformer import Transformer
from conceptor.static_models.vocabulary import make_vocabulary
from conceptor.vectors.tokenizer import has_letters
from conceptor.weights import SIF_A, parse_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress

    Encode = Callable[[Sequence[str]], NDArray[Any]]
    Encoder: TypeAlias = "Transformer | _Function"

__all__ = ["distill"]

DEFAULT_VOCABULARY = "wordfreq:en:60000"
# The constant of the weights without text; with text it is the constant for sentences of words.
# Both were measured (docs/studies/static-models.md).
SIF_WITHOUT_TEXT = 1e-2
# If there are more sentences, an even sample is used: more gain little (same study).
MOST_SENTENCES = 50_000
_BATCH = 1024


def distill(
    model: object,
    tokenizer: object = None,
    *,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = DEFAULT_VOCABULARY,
    weights: str | os.PathLike[str] | Mapping[str, float] | None = None,
    sentences: str | os.PathLike[str] | Iterable[str] | None = None,
    sentence_vectors: ArrayLike | None = None,
    text_column: str | None = None,
    column: str | None = None,
    dimensions: int | None = None,
    sif: float | None = None,
    ridge: float = RIDGE,
    most_sentences: int = MOST_SENTENCES,
    keep: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> StaticModel:
    """Return a static model whose averages of token vectors approximate a transformer's.

    Parameters
    ----------
    model : path, hub name, transformers model, or function from texts to vectors
        Texts are pooled as configured in the model's folder, else by their mean. A function may be
        `SentenceTransformer(...).encode` or anything else that takes a list of texts.
    tokenizer : fast tokenizer, optional
        The model's tokenizer; with a path it is loaded. Without one, the vocabulary is words and
        characters.
    vocabulary
        Whole words on top of the model's tokens: `wordfreq:LANG:N`, a file with one word per line,
        words, or None for only the model's tokens.
    weights
        Word frequencies: `wordfreq:LANG`, a file of counts, a mapping, or `sentences` to count
        them there. By default the language of `vocabulary`, else wordfreq's English.
    sentences : path or iterable of str, or "drawn:N", optional
        Any text, one sentence or short paragraph per line; best are the documents that will be
        searched. The table is fitted to the model's vectors of them; without sentences this step
        is left out. A Parquet or Feather file holds texts with stored vectors. If you have no
        text, `drawn:N` generates N sentences of words sampled by frequency.
    sentence_vectors : array of shape (sentences, m), optional
        Stored vectors of `sentences`, of any origin; then the model encodes only its words.
    text_column, column : str, optional
        The columns of texts and of vectors, if `sentences` is a table with several candidates.
    dimensions : int, optional
        Keep this many leading directions; by default all.
    sif : float, optional
        The constant a of the weights ``a / (a + p)``: a larger a gives frequent tokens more weight.
        By default 0.01, and 0.001 with `sentences`, where the fit restores frequent tokens.
    ridge : float
        Strength of the regularisation of rows when fitted to sentences.
    most_sentences : int
        If there are more sentences, every second, fourth, ... is used.
    keep : path, optional
        A folder for the vectors computed so far; an interrupted call resumes from it.
    progress
        Called with the progress of the work.

    Examples
    --------
    >>> model = distill("all-MiniLM-L6-v2/", sentences="corpus.txt")  # doctest: +SKIP
    >>> model.save("my-static-model/")  # doctest: +SKIP
    """
    if sif is None:
        sif = SIF_WITHOUT_TEXT if sentences is None else SIF_A
    if not 0 < sif < np.inf:
        raise InvalidInputError(f"sif is {sif}; it must be positive and finite")
    folder = None if keep is None else Path(keep)
    encoder = open_encoder(model, tokenizer)
    counted, of_usage = _word_counts(weights, vocabulary)
    given = open_sentences(
        sentences, sentence_vectors, counted, most_sentences, (text_column, column)
    )
    words, of_words = read_vocabulary(vocabulary)
    made = make_vocabulary(encoder.tokenizer, words)
    counts = None if given is None else made.count(given.texts)
    if counted is not None:
        usage = made.usage(counted)
    elif counts is not None:
        usage = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    else:
        raise InvalidInputError(Setting("weights", "sentences"), " needs sentences to count")
    made, shares, order = made.ordered(usage / usage.sum())
    vectors = np.zeros((len(made.tokens), encoder.dimension), dtype=np.float32)
    vectors[2:] = encoder.encode_entries(made.sources, progress, folder)

    negated = negate_usage(vectors, shares)
    factors = sif / (sif + shares) * np.array([has_letters(token) for token in made.tokens])
    factors[:2] = 0.0
    table = (negated(vectors) * factors[:, np.newaxis]).astype(np.float32)
    fitted: dict[str, Any] = {"sentences": 0}
    if given is not None and counts is not None:
        target = given.vectors
        if target is None:
            target = encoder(given.texts, progress, folder)
        counts = counts[:, order]
        table = fit_sentences(table, counts, target, ridge=ridge, progress=progress)
        table[:2] = 0.0
        shared = negate_sentences(table, counts)
        table = shared(table)
        fitted = {"sentences": len(given.texts), "sentence_negation": _describe_negation(shared)}
        if given.vectors is not None:
            fitted["sentence_vectors"] = "stored"
        if given.drawn:
            fitted["text"] = "words drawn by frequency"
    if dimensions is not None:
        table = leading_directions(table, shares, dimensions)(table)
    return StaticModel(
        table,
        made.tokenizer,
        _describe(model, encoder)
        | {
            "vocabulary": of_words,
            "frequencies": of_usage,
            "negation": f"{_describe_negation(negated)}, usage-weighted",
            "sif": sif,
            **fitted,
            "dimensions": int(table.shape[1]),
            "library": f"conceptor {__version__}",
        },
    )


def open_encoder(model: object, tokenizer: object = None) -> Encoder:
    """Return an encoder of texts: from a model's folder or name, a model, or a function."""
    if isinstance(model, Transformer | _Function):
        return model
    if isinstance(model, str | os.PathLike):
        return Transformer.load(model)
    if hasattr(model, "parameters"):
        return Transformer(model, tokenizer)
    if callable(model):
        return _Function(model, tokenizer)
    raise InvalidInputError(f"cannot distil a {type(model).__name__}; pass a model folder")


class _Function:
    """A function from texts to vectors instead of a transformer."""

    def __init__(self, encode: Encode, tokenizer: object) -> None:
        self._encode = encode
        self.tokenizer: Any = getattr(tokenizer, "_tokenizer", tokenizer)
        self.dimension = len(self._checked(["a"])[0])

    def _checked(self, texts: list[str]) -> NDArray[np.float32]:
        found = np.asarray(self._encode(texts), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise InvalidInputError(
                f"the function returned an array of shape {found.shape} for {len(texts)} texts; "
                "it must return one finite vector for each"
            )
        return found

    def encode_entries(
        self, entries: Sequence[str | int], progress: Progress, keep: Path | None
    ) -> NDArray[np.float32]:
        """Return the vectors of tokens, by their text."""
        texts = [
            entry if isinstance(entry, str) else self.tokenizer.decode([entry]).removeprefix("##")
            for entry in entries
        ]
        return self(texts, progress, keep, "words")

    def __call__(
        self,
        texts: Sequence[str],
        progress: Progress = silent,
        keep: Path | None = None,
        label: str = "sentences",
    ) -> NDArray[np.float32]:
        """Return the vectors of texts; functions cannot be fingerprinted, so nothing is cached."""
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            part = list(texts[start : start + _BATCH])
            out[start : start + len(part)] = self._checked(part)
            done = start + len(part)
            progress(label, done / len(texts), done)
        return out


def read_vocabulary(
    vocabulary: str | os.PathLike[str] | Iterable[str] | None,
) -> tuple[list[str], str]:
    """Return the words on top of the model's own tokens, and a description of them."""
    if vocabulary is None:
        return [], "the model's tokens"
    if isinstance(vocabulary, str) and vocabulary.startswith(WORDFREQ):
        language, _, number = vocabulary.removeprefix(WORDFREQ).partition(":")
        if number and not (number.isascii() and number.isdigit() and int(number)):
            raise InvalidInputError(f"expected a vocabulary wordfreq:LANG:N, not {vocabulary}")
        words = list(_without_numbers(read_wordfreq(language)))[: int(number) if number else None]
        return words, f"the model's tokens and {len(words):,} words of wordfreq ({language})"
    if isinstance(vocabulary, str | os.PathLike):
        words = read_words(os.fspath(vocabulary))
        return words, f"the model's tokens and {len(words):,} words of {Path(vocabulary).name}"
    words = list(vocabulary)
    return words, f"the model's tokens and {len(words):,} words"


def _word_counts(
    weights: str | os.PathLike[str] | Mapping[str, float] | None, words: object
) -> tuple[Mapping[str, float] | None, str]:
    """Return word frequencies (None to count them on the sentences), and their source."""
    if weights == "sentences":
        return None, "counted on the sentences"
    if weights is None:
        named = isinstance(words, str) and words.startswith(WORDFREQ)
        weights = ":".join(str(words).split(":")[:2]) if named else f"{WORDFREQ}en"
    chosen = parse_weights(weights)
    if chosen.counts is None:
        raise InvalidInputError(
            f"{weights}: the order of a vocabulary does not give frequencies; use wordfreq:LANG, a "
            "file of counts, or sentences"
        )
    source = weights if isinstance(weights, str | os.PathLike) else "the counts given"
    counted = chosen.counts
    if isinstance(weights, str) and weights.startswith(WORDFREQ):
        counted = _without_numbers(counted)
    return counted, str(source)


def _without_numbers(counts: Mapping[str, float]) -> dict[str, float]:
    """Leave out wordfreq's numbers: its 0000 stands for every number of four digits."""
    return {word: count for word, count in counts.items() if not any(map(str.isdigit, word))}


def _describe_negation(negated: AffineMap) -> str:
    return f"aperture {negated.provenance.get('aperture', 0):.4g}"


def _describe(model: object, encoder: Encoder) -> dict[str, Any]:
    """Return the model's name and licence, if its files contain them."""
    found: dict[str, Any] = {}
    if isinstance(encoder, Transformer):
        name = model if isinstance(model, str | os.PathLike) else encoder.model.name_or_path
        found = {"model": model_name(name)}
        found["pooling"] = encoder.pooling
        card = Path(name) / "README.md"
        if card.is_file():
            head = card.read_text(encoding="utf-8", errors="replace").split("---")
            for line in head[1].splitlines() if len(head) > 2 else ():
                key, _, value = line.partition(":")
                if key in ("license", "language") and value.strip():
                    found[key] = value.strip()
    return found
