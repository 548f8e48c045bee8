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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.base.arrays import Float64, row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.data.word_lists import WORDFREQ, read_wordfreq, read_words
from conceptor.methods import METHODS, ORIGINAL
from conceptor.static_models.model import StaticModel
from conceptor.static_models.ridge import fit_sentences
from conceptor.static_models.transformer import Transformer, open_encoder
from conceptor.static_models.vocabulary import make_vocabulary
from conceptor.vectors.tokenizer import count_tokens, has_letters, token_usage
from conceptor.weights import SIF_A, parse_weights, sif_weights

Words = str | os.PathLike[str] | Iterable[str] | None

DEFAULT_VOCABULARY = "wordfreq:en:60000"
# The constant of the weights without text; with text it is SIF_A (docs/studies/static-models.md).
SIF_WITHOUT_TEXT = 1e-2
# If there are more sentences, an even sample is used: more gain little (same study).
MOST_SENTENCES = 50_000
# Synthetic text: drawn:N is N sentences of sampled words.
_DRAWN = "drawn:"


def distill(
    model: object,
    tokenizer: object = None,
    *,
    vocabulary: Words = DEFAULT_VOCABULARY,
    weights: str | os.PathLike[str] | Mapping[str, float] | None = None,
    sentences: Words = None,
    dimensions: int | None = None,
    keep: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> StaticModel:
    """Return a static model whose averages of token vectors approximate a transformer's.

    Pass sentences if you can, above all for a decoder, whose vectors of single words are poor.

    Parameters
    ----------
    model : path, hub name, transformers model, or function from texts to vectors
        Texts are pooled as configured in the model's folder, else by their mean.
    tokenizer : fast tokenizer, optional
        For a model or function; without one, the vocabulary is words and characters.
    vocabulary
        Whole words on top of the model's tokens: `wordfreq:LANG:N`, a file with one word per line,
        words, or None.
    weights
        Word frequencies: `wordfreq:LANG`, a file of counts, a mapping, or `sentences` to count
        them there. By default the language of `vocabulary`, else wordfreq's English.
    sentences : path or iterable of str, or "drawn:N", optional
        Any text, one sentence or short paragraph per line; best are the documents that will be
        searched. The table is fitted to the model's vectors of them. `drawn:N` samples words by
        frequency.
    dimensions : int, optional
        Keep this many leading directions.
    keep : path, optional
        A folder for the vectors computed so far; an interrupted call resumes from it.

    Examples
    --------
    >>> model = distill("all-MiniLM-L6-v2/", sentences="corpus.txt")  # doctest: +SKIP
    >>> model.save("my-static-model/")  # doctest: +SKIP
    """
    encoder = open_encoder(model, tokenizer, None if keep is None else Path(keep))
    if sentences is None and isinstance(encoder, Transformer) and encoder.is_decoder:
        warnings.warn(
            "the model is a decoder, whose vectors of single words are poor; pass sentences",
            stacklevel=2,
        )
    word_counts, count_source = _word_counts(weights, vocabulary)
    texts = None
    if isinstance(sentences, str) and sentences.startswith(_DRAWN):
        texts = _draw_sentences(sentences, word_counts)
    elif sentences is not None:
        texts = read_sentences(sentences)
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
    vectors[2:] = encoder.encode_entries(entries.sources, progress)

    used = shares > 0
    negation = negate(vectors[used], shares[used], unit=True)
    sif = SIF_WITHOUT_TEXT if texts is None else SIF_A
    factors = sif_weights(shares, sif) * np.array([has_letters(each) for each in entries.tokens])
    factors[:2] = 0.0
    table = (negation(vectors) * factors[:, np.newaxis]).astype(np.float32)
    fitted: dict[str, Any] = {"sentences": 0}
    if texts is not None and token_counts is not None:
        token_counts = token_counts[:, order]
        table = fit_sentences(table, token_counts, encoder(texts, progress), progress=progress)
        table[:2] = 0.0
        sums = token_counts @ table
        shared = negate(sums / row_lengths(sums)[:, np.newaxis])
        table = shared(table)
        fitted = {"sentences": len(texts), "sentence_negation": _aperture(shared)}
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


def read_sentences(source: str | os.PathLike[str] | Iterable[str]) -> list[str]:
    """Return at most 50,000 sentences, spread evenly over a file, a folder or an iterable.

    A folder's `.txt` files are read in order of their names.
    """
    where = "sentences"
    if isinstance(source, str | os.PathLike):
        path, where = Path(source), os.fspath(source)
        files = [path] if path.is_file() else sorted(path.rglob("*.txt"))
        if not files:
            raise InvalidInputError(f"{where}: no such file or folder of .txt files of sentences")
        # It closes itself after the last line.
        source = fileinput.FileInput(files, encoding="utf-8")  # noqa: SIM115
    texts: list[str] = []
    stride = 1
    # Every sentence, then every second, every fourth, ..., until there are not too many.
    try:
        for number, text in enumerate(filter(None, map(str.strip, source))):
            if number % stride == 0:
                texts.append(text)
                if len(texts) > MOST_SENTENCES:
                    texts, stride = texts[::2], 2 * stride
    except UnicodeDecodeError:
        raise InvalidInputError(f"{where}: not UTF-8; pass text, one sentence per line") from None
    if not texts:
        raise InvalidInputError(f"{where}: contains no sentences")
    return texts


def _draw_sentences(request: str, counts: Mapping[str, float] | None) -> list[str]:
    """Return sentences of unrelated words; the same for every call."""
    number = request.removeprefix(_DRAWN)
    if not (number.isascii() and number.isdigit() and int(number)):
        raise InvalidInputError(f"expected sentences drawn:N, not {request}")
    if counts is None:
        raise InvalidInputError(f"{request} draws words by frequency, so weights must be known")
    generator = np.random.default_rng(0)
    lengths = generator.integers(6, 15, size=min(int(number), MOST_SENTENCES))
    shares = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    places = generator.choice(len(counts), size=int(lengths.sum()), p=shares / shares.sum())
    words = iter(np.array(list(counts), dtype=object)[places].tolist())
    return [" ".join(islice(words, length)) for length in lengths.tolist()]


def describe_model(name: str | os.PathLike[str]) -> dict[str, str]:
    """Return a model's name, and the license and language that its card names."""
    folder = Path(name)
    if not folder.exists():
        return {"model": str(name)}
    # In the hub's cache, folders are models--OWNER--NAME/snapshots/COMMIT.
    cached = re.search(r"models--([^/]+)--([^/]+)", folder.resolve().as_posix())
    facts = {"model": f"{cached[1]}/{cached[2]}" if cached else folder.resolve().name}
    card = folder / "README.md"
    head = card.read_text("utf-8", errors="replace").split("---") if card.is_file() else []
    for line in head[1].splitlines() if len(head) > 2 else ():
        key, _, value = line.partition(":")
        if key in ("license", "language") and value.strip():
            facts[key] = value.strip()
    return facts
