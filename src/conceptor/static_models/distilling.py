"""Distill a static model from a transformer, or from any function from texts to vectors.

    token vectors ──▶ negation by usage ──▶ SIF weights ──▶ fit to sentences ──▶ their negation
                  ──▶ leading directions

All steps are linear and fold into the table: texts become averages of rows, so a matrix applied to
every row is applied to every text.
"""

from __future__ import annotations

import fileinput
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.base.arrays import Float64, row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.data.word_lists import WORDFREQ, read_wordfreq, read_words
from conceptor.integrations.stores import open_store
from conceptor.methods import METHODS, ORIGINAL
from conceptor.static_models.model import StaticModel
from conceptor.static_models.ridge import RIDGE, fit_sentences
from conceptor.static_models.transformer import Transformer, open_encoder
from conceptor.static_models.vocabulary import make_vocabulary
from conceptor.vectors.tokenizer import count_tokens, has_letters, token_usage
from conceptor.weights import SIF_A, parse_weights, sif_weights

Words = str | os.PathLike[str] | Iterable[str] | None
T = TypeVar("T")

DEFAULT_VOCABULARY = "wordfreq:en:60000"
# The constant of the weights without text; with text it is SIF_A (docs/studies/static-models.md).
SIF_WITHOUT_TEXT = 1e-2
# If there are more sentences, an even sample is used: more gain little (same study).
MOST_SENTENCES = 50_000
# Synthetic text: drawn:N is N sentences of sampled words.
_DRAWN = "drawn:"
# Files that hold texts with their vectors.
_TABLES = (".parquet", ".feather", ".arrow")


def distill(
    model: object,
    tokenizer: object = None,
    *,
    vocabulary: Words = DEFAULT_VOCABULARY,
    weights: str | os.PathLike[str] | Mapping[str, float] | None = None,
    sentences: Words = None,
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
        For a model or function; without one, the vocabulary is words and characters.
    vocabulary
        Whole words on top of the model's tokens: `wordfreq:LANG:N`, a file with one word per line,
        words, or None for only the model's tokens.
    weights
        Word frequencies: `wordfreq:LANG`, a file of counts, a mapping, or `sentences` to count
        them there. By default the language of `vocabulary`, else wordfreq's English.
    sentences : path or iterable of str, or "drawn:N", optional
        Any text, one sentence or short paragraph per line; best are the documents that will be
        searched. The table is fitted to the model's vectors of them. A Parquet or Feather file
        holds texts with stored vectors. `drawn:N` samples words by frequency.
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
        Strength of the regularization of rows when fitted to sentences.
    most_sentences : int
        If there are more sentences, every second, fourth, ... is used.
    keep : path, optional
        A folder for the vectors computed so far; an interrupted call resumes from it.

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
    if sentences is None and isinstance(encoder, Transformer) and encoder.is_decoder:
        warnings.warn(
            "the model is a decoder, whose vectors of single words are poor; pass sentences",
            stacklevel=2,
        )
    word_counts, count_source = _word_counts(weights, vocabulary)
    texts, targets = _open_sentences(
        sentences, sentence_vectors, word_counts, most_sentences, text_column, column
    )
    words, word_source = read_vocabulary(vocabulary)
    entries = make_vocabulary(encoder.tokenizer, words)
    token_counts = None if texts is None else count_tokens(entries.tokenizer, texts)
    if word_counts is not None:
        usage = token_usage(entries.tokenizer, word_counts)
    elif token_counts is not None:
        usage = np.asarray(token_counts.sum(axis=0), dtype=np.float64).ravel()
    else:
        raise InvalidInputError("--weights sentences needs sentences to count")
    if not usage.any():
        raise InvalidInputError("no token of the vocabulary is ever used; check the frequencies")
    entries, order = entries.ordered(usage)
    shares = usage[order] / usage.sum()
    vectors = np.zeros((len(entries.tokens), encoder.dimension), dtype=np.float32)
    vectors[2:] = encoder.encode_entries(entries.sources, progress, folder)

    used = shares > 0
    negation = negate(vectors[used], shares[used], unit=True)
    factors = sif_weights(shares, sif) * np.array([has_letters(each) for each in entries.tokens])
    factors[:2] = 0.0
    table = (negation(vectors) * factors[:, np.newaxis]).astype(np.float32)
    fitted: dict[str, Any] = {"sentences": 0}
    if texts is not None and token_counts is not None:
        stored = targets is not None
        if targets is None:
            targets = encoder(texts, progress, folder)
        token_counts = token_counts[:, order]
        table = fit_sentences(table, token_counts, targets, ridge=ridge, progress=progress)
        table[:2] = 0.0
        sums = token_counts @ table
        shared = negate(sums / row_lengths(sums)[:, np.newaxis])
        table = shared(table)
        fitted = {"sentences": len(texts), "sentence_negation": _aperture(shared)}
        if stored:
            fitted["sentence_vectors"] = "stored"
        if isinstance(sentences, str) and sentences.startswith(_DRAWN):
            fitted["text"] = "words drawn by frequency"
    if dimensions is not None:
        # The directions along which texts of independent words vary most.
        leading = METHODS[ORIGINAL].with_parameters(n_components=dimensions)
        with one_blas_thread():
            table = leading.solve(Moments.from_vectors(table[used], shares[used])).map(table)
    origin = {}
    if isinstance(encoder, Transformer):
        name = model if isinstance(model, str | os.PathLike) else encoder.model.name_or_path
        origin = describe_model(name) | {"pooling": encoder.pooling}
    provenance = origin | {
        "vocabulary": word_source,
        "frequencies": count_source,
        "negation": f"{_aperture(negation)}, usage-weighted",
        "sif": sif,
        **fitted,
        "dimensions": int(table.shape[1]),
        "library": f"conceptor {__version__}",
    }
    return StaticModel(table, entries.tokenizer, provenance)


def negate(rows: NDArray[Any], weights: Float64 | None = None, *, unit: bool = False) -> AffineMap:
    """Return the conceptor negation of rows; one map, so that lengths keep their proportions."""
    with one_blas_thread():
        return METHODS["cn"].solve(Moments.from_vectors(rows, weights, unit=unit)).map


def _aperture(negation: AffineMap) -> str:
    return f"aperture {negation.provenance.get('aperture', 0):.4g}"


def read_vocabulary(vocabulary: Words) -> tuple[list[str], str]:
    """Return the words on top of the model's own tokens, and a description of them."""
    if vocabulary is None:
        return [], "the model's tokens"
    source = ""
    if isinstance(vocabulary, str) and vocabulary.startswith(WORDFREQ):
        language, _, number = vocabulary.removeprefix(WORDFREQ).partition(":")
        if number and not (number.isascii() and number.isdigit() and int(number)):
            raise InvalidInputError(f"expected a vocabulary wordfreq:LANG:N, not {vocabulary}")
        words = list(_without_numbers(read_wordfreq(language)))[: int(number) if number else None]
        source = f" of wordfreq ({language})"
    elif isinstance(vocabulary, str | os.PathLike):
        words = read_words(os.fspath(vocabulary))
        source = f" of {Path(vocabulary).name}"
    else:
        words = list(vocabulary)
    return words, f"the model's tokens and {len(words):,} words{source}"


def _word_counts(
    weights: str | os.PathLike[str] | Mapping[str, float] | None, vocabulary: Words
) -> tuple[Mapping[str, float] | None, str]:
    """Return word frequencies (None to count them in the sentences), and their source."""
    if weights == "sentences":
        return None, "counted on the sentences"
    if weights is None:
        has_language = isinstance(vocabulary, str) and vocabulary.startswith(WORDFREQ)
        weights = ":".join(str(vocabulary).split(":")[:2]) if has_language else f"{WORDFREQ}en"
    counts = parse_weights(weights).counts
    if counts is None:
        raise InvalidInputError(
            f"weights {weights} do not give frequencies; use wordfreq:LANG, a file, or sentences"
        )
    if isinstance(weights, str) and weights.startswith(WORDFREQ):
        counts = _without_numbers(counts)
    return counts, str(weights) if isinstance(weights, str | os.PathLike) else "the counts given"


def _without_numbers(counts: Mapping[str, float]) -> dict[str, float]:
    """Leave out wordfreq's numbers: its 0000 stands for every number of four digits."""
    return {word: count for word, count in counts.items() if not any(map(str.isdigit, word))}


def _open_sentences(
    sentences: Words,
    vectors: ArrayLike | None,
    word_counts: Mapping[str, float] | None,
    most: int,
    text_column: str | None,
    column: str | None,
) -> tuple[list[str] | None, NDArray[Any] | None]:
    """Return the texts to fit to, None without any, and their stored vectors if there are any."""
    if most < 1:
        raise InvalidInputError(f"most_sentences must be at least 1, not {most}")
    is_table = isinstance(sentences, str | os.PathLike) and Path(sentences).suffix in _TABLES
    if vectors is None and not is_table:
        if text_column or column:
            raise InvalidInputError("--column and --text-column are for sentences in a table")
        if isinstance(sentences, str) and sentences.startswith(_DRAWN):
            return _draw_sentences(sentences, word_counts, most), None
        return None if sentences is None else read_sentences(sentences, most), None
    if vectors is not None and (sentences is None or isinstance(sentences, str | os.PathLike)):
        raise InvalidInputError("sentence_vectors needs sentences as a list of texts")
    store = open_store(sentences, vectors, text_column=text_column, column=column)
    pairs = (
        (text, row.copy())  # a view would keep its whole batch in memory
        for texts, rows in store.chunks()
        for text, row in zip(texts, rows, strict=True)
        if text.strip()
    )
    sample = _spread(pairs, most)
    if not sample:
        raise InvalidInputError(f"{store.name}: contains no sentences")
    return [text for text, _ in sample], np.array([row for _, row in sample])


def read_sentences(source: str | os.PathLike[str] | Iterable[str], most: int) -> list[str]:
    """Return at most `most` sentences, spread evenly over a file, a folder or an iterable.

    A folder's `.txt` files are read in order of their names.
    """
    where = "sentences"
    if isinstance(source, str | os.PathLike):
        path, where = Path(source), os.fspath(source)
        files = [path] if path.is_file() else sorted(path.rglob("*.txt"))
        if not files:
            raise InvalidInputError(f"{where}: no such file or folder of .txt files of sentences")
        # It closes itself after the last line.
        source = fileinput.FileInput(files, encoding="utf-8", errors="replace")  # noqa: SIM115
    texts = _spread(filter(None, map(str.strip, source)), most)
    if not texts:
        raise InvalidInputError(f"{where}: contains no sentences")
    return texts


def _spread(items: Iterable[T], most: int) -> list[T]:
    """Keep every item, then every second, every fourth, ..., so that at most `most` remain."""
    sample: list[T] = []
    stride = 1
    for number, item in enumerate(items):
        if number % stride == 0:
            sample.append(item)
            if len(sample) > most:
                sample, stride = sample[::2], 2 * stride
    return sample


def _draw_sentences(request: str, counts: Mapping[str, float] | None, most: int) -> list[str]:
    """Return sentences of unrelated words; the same for every call."""
    number = request.removeprefix(_DRAWN)
    if not (number.isascii() and number.isdigit() and int(number)):
        raise InvalidInputError(f"expected sentences drawn:N, not {request}")
    if counts is None:
        raise InvalidInputError(f"{request} draws words by frequency, so weights must be known")
    generator = np.random.default_rng(0)
    lengths = generator.integers(6, 15, size=min(int(number), most))
    shares = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    places = generator.choice(len(counts), size=int(lengths.sum()), p=shares / shares.sum())
    words = iter(np.array(list(counts), dtype=object)[places].tolist())
    return [" ".join(islice(words, length)) for length in lengths.tolist()]


def describe_model(name: str | os.PathLike[str]) -> dict[str, str]:
    """Return a model's name, and the license and language that its card names."""
    folder = Path(name)
    if not folder.exists():
        return {"model": str(name)}
    card = folder / "README.md"
    text = card.read_text("utf-8", errors="replace") if card.is_file() else ""
    # In the hub's cache, folders are models--OWNER--NAME/snapshots/COMMIT. The title of a card
    # counts if it is a name and not a sentence.
    cached = re.search(r"models--([^/]+)--([^/]+)", folder.resolve().as_posix())
    title = re.search(r"^# +(\S+) *$", text, re.MULTILINE)
    facts = {"model": title[1] if title else folder.resolve().name}
    if cached:
        facts["model"] = f"{cached[1]}/{cached[2]}"
    head = text.split("---")
    for line in head[1].splitlines() if len(head) > 2 else ():
        key, _, value = line.partition(":")
        if key in ("license", "language") and value.strip():
            facts[key] = value.strip()
    return facts
