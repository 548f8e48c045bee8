"""Does more general text help `distill --sentences`? Errors of the fit as the text grows.

    python benchmarks/more_text.py corpus.txt [--keep DIRECTORY] [--most 98304]

For growing numbers of sentences and several ridges, it prints the share of variance that the fitted
table explains on its own sentences and on 4,096 others, and the scores at 256 dimensions. STS
2012-2015 and SICK were used for choosing; `--last` adds STS 2016 and 2017. The difference between
the two shares is estimation error, which vanishes with more text; what is left of 1 cannot be
explained by averages of token vectors. Vectors of sentences are kept in DIRECTORY (more-text.kept),
so that a stopped run continues. Needs what static_models.py needs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from static_models import YEARS, packaged_model, read_tasks, sample

from conceptor.base.arrays import row_lengths
from conceptor.base.files import replace_atomically
from conceptor.static_models.distilling import DEFAULT_VOCABULARY, read_vocabulary
from conceptor.static_models.model import StaticModel
from conceptor.static_models.table import (
    fit_sentences,
    leading_directions,
    negate_sentences,
    negate_usage,
)
from conceptor.static_models.transformer import Transformer
from conceptor.static_models.vocabulary import Vocabulary, make_vocabulary
from conceptor.vectors.tokenizer import has_letters
from conceptor.weights import SIF_A, read_wordfreq

if TYPE_CHECKING:
    from scipy import sparse

BLOCK, HELD, DIMENSIONS = 4096, 4096, 256
RIDGES = (0.25, 1.0, 4.0, 16.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("more-text.kept"))
    parser.add_argument("--most", type=int, default=98_304)
    parser.add_argument("--last", action="store_true", help="Score STS 2016 and 2017 too.")
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    tasks = read_tasks(["sts"])
    texts = sample(options.corpus, options.keep, options.most + HELD, tasks)
    model = Transformer.load(packaged_model())
    targets = embed(model, texts, options.keep)
    targets /= row_lengths(targets)[:, np.newaxis]
    made, shares, start = starting_table(model, options.keep)
    counts = made.count(texts)
    held = np.s_[options.most :]
    heads = ["sentences", "ridge", "explained, own", "others", "STS 2012–2015", "SICK"]
    heads += ["STS 2016", "STS 2017"] if options.last else []
    print(f"| {' | '.join(heads)} |\n|{'---:|' * len(heads)}", flush=True)

    def line(label: str, chosen: slice | np.ndarray, ridge: float) -> None:
        own, wanted = counts[chosen], targets[chosen]
        table = fit_sentences(start, own, wanted, ridge=ridge)
        mean = wanted.mean(axis=0)
        cells = [f"{explained(table, own, wanted, mean):.3f}"]
        cells.append(f"{explained(table, counts[held], targets[held], mean):.3f}")
        table[:2] = 0.0
        table = negate_sentences(table, own)(table)
        table = leading_directions(table, shares, DIMENSIONS)(table)
        scores = scored(StaticModel(table.astype(np.float32), made.tokenizer), tasks)
        cells += [f"{each:.2f}" for each in (scores if options.last else scores[:2])]
        print(f"| {label} | {ridge:g} | {' | '.join(cells)} |", flush=True)

    sizes = [size for size in (2048, 8192, 32_768, 98_304) if size < options.most]
    for size in [*sizes, options.most]:
        for ridge in RIDGES:
            line(f"{size:,}", np.s_[:size], ridge)
    third = rarest(counts[: options.most], shares, options.most // 3)
    line(f"{len(third):,} with rare words", third, 1.0)


def embed(model: Transformer, texts: list[str], keep: Path) -> np.ndarray:
    """Return the transformer's vectors, block by block from files if they are there."""
    blocks = []
    for start in range(0, len(texts), BLOCK):
        file = keep / f"block-{start:06d}.npy"
        part = texts[start : start + BLOCK]
        if not file.is_file():
            with replace_atomically(file) as beside, beside.open("wb") as out:
                np.save(out, model(part).astype(np.float16))
        blocks.append(np.load(file)[: len(part)])
    return np.concatenate(blocks).astype(np.float32)


def starting_table(model: Transformer, keep: Path) -> tuple[Vocabulary, np.ndarray, np.ndarray]:
    """Return the vocabulary, the frequencies, and the table of `distill` before the fit."""
    words, _ = read_vocabulary(DEFAULT_VOCABULARY)
    known = read_wordfreq("en")
    made = make_vocabulary(model.tokenizer, words)
    usage = made.usage({word: n for word, n in known.items() if not any(map(str.isdigit, word))})
    made, shares, _ = made.ordered(usage / usage.sum())
    vectors = np.zeros((len(made.tokens), model.dimension), dtype=np.float32)
    vectors[2:] = model.encode_entries(made.sources, keep=keep / "vectors")
    factors = SIF_A / (SIF_A + shares) * np.array([has_letters(token) for token in made.tokens])
    factors[:2] = 0.0
    table = negate_usage(vectors, shares)(vectors) * factors[:, np.newaxis]
    return made, shares, table.astype(np.float32)


def explained(
    table: np.ndarray, counts: sparse.csr_array, wanted: np.ndarray, mean: np.ndarray
) -> float:
    """Return the share of the variance of sentences that a fitted table explains."""
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    told = lengths > 0
    predicted = (counts[told] @ table) / np.sqrt(lengths[told])[:, np.newaxis]
    centred = wanted[told] - mean
    return float(1 - ((predicted - centred) ** 2).sum() / (centred**2).sum())


def rarest(counts: sparse.csr_array, shares: np.ndarray, size: int) -> np.ndarray:
    """Return the sentences whose words occur least often in the text."""
    found = np.asarray(counts.sum(axis=0)).ravel()
    lengths = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
    value = (counts @ ((1 + found) ** -0.5 * (shares > 0))) / lengths
    return np.sort(np.argsort(-value, kind="stable")[:size])


def scored(model: StaticModel, tasks: list) -> list[float]:
    """Return STS 2012-2015, SICK, STS 2016 and STS 2017: means over their sets."""
    found = {}
    for task in tasks:
        vectors = model.encode(list(task.texts.texts)).astype(np.float64)
        found[task.dataset] = task.score_texts(vectors, np.ones(len(vectors), dtype=bool)).score
    groups = (YEARS[:4], ("SICK",), YEARS[4:5], YEARS[5:])
    return [
        float(np.mean([each for name, each in found.items() if name.startswith(group)]))
        for group in groups
    ]


if __name__ == "__main__":
    main()
