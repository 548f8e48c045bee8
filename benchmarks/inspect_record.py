"""Can the vectors alone predict the sign of each family's change? Measured on many sets.

    python benchmarks/inspect_record.py measure DIRECTORY [--keep DIRECTORY] [--only NAME ...]
    python benchmarks/inspect_record.py record docs/data/inspect.json

`measure` runs on GloVe 50d, both sets of Google News, and every file of DIRECTORY from
`benchmarks/vector_sets.py`. It measures the change by the default in each family, with the interval
of the paired bootstrap, and the traits of the vectors that need no benchmark. Static models in
folders of DIRECTORY are measured too, by the vectors of texts. Each set is kept once it is measured
(--keep, record.kept by default), so a stopped run can be continued. New measurements replace or
join the sets of benchmarks/inspect_record.json. `record` reads that file and writes the
predictions of `conceptor.inspection.predict` for each set.

French and Russian were measured by an earlier version, on word pairs only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import numpy as np
from common import demo, google_news, markdown_table, mean_gain, minilm, read_table
from evidence import FAMILIES, Measured, interval
from threadpoolctl import threadpool_limits

from conceptor import SentenceEncoder, StaticModel
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum, isotropy
from conceptor.base.arrays import unit_rows
from conceptor.base.display import format_signed
from conceptor.base.files import replace_atomically
from conceptor.data import registry
from conceptor.evaluation import load_battery
from conceptor.evaluation.comparison import compare
from conceptor.evaluation.task import Texts
from conceptor.evaluation.text_tasks import read_benchmark
from conceptor.inspection import inspect, predict
from conceptor.methods import METHODS, ORIGINAL
from conceptor.postprocessing import postprocess
from conceptor.static_models.transformer import Transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from conceptor.evaluation.statistics import Interval
    from conceptor.evaluation.text_tasks import SentenceSimilarity
    from conceptor.vectors.table import WordVectors

    Encode = Callable[[list[str]], NDArray[np.float64]]

DEFAULT, UNIT = "cn", "cn:lengths=unit"
# The default for tokens of static models, and the families that read texts.
STATIC = "cn:lengths=kept"
TEXTS = ("sts", "retrieval")
TRAITS = ("participation", "share")
RECORD_FILE = Path(__file__).with_name("inspect_record.json")
# The tables: kind of rows, method, and the families with their titles.
TABLES = (
    ("words", DEFAULT, FAMILIES),
    ("words", UNIT, {f: FAMILIES[f] for f in ("sts", "categorization", "retrieval")}),
    ("words", STATIC, {"sts": "STS", "retrieval": "retrieval"}),
    ("rows", "gentle", {"sts": "STS-B test"}),
    ("rows", "cn", {"sts": "STS-B test"}),
)
RECORD = "python benchmarks/inspect_record.py record docs/data/inspect.json"
INTRODUCTION = """# How often `inspect` is right

Whether a family of benchmarks gains or loses can often be predicted from the vectors alone, by two
numbers: the *participation* of running text (1 if it uses all directions equally) and the *share*
of its strongest direction, for unit vectors. Vectors are *uneven* if the participation is below 0.5
and the share is 0.1 or more. For uneven vectors the prediction is the usual sign of the change of
the uneven sets below; for others there is none.

Each cell has the measured change in points, ≈ where its 95% interval (paired bootstrap) contains
zero, and in brackets the prediction: gain, loss, or ? for none; ✗ where it is wrong. In the last
row, *level* are predictions of changes whose interval contains zero.

Measured by `python benchmarks/inspect_record.py measure DIRECTORY` on the sets of
`benchmarks/vector_sets.py`. French is measured on English word pairs in translation, Russian on its
SimLex-999 and WordSim-353.
"""


def sets(directory: Path) -> dict[str, Callable[[], WordVectors]]:
    return {
        "Google News 13k": partial(google_news, "13k"),
        "Google News 26k": google_news,
        **{path.stem: partial(read_table, path) for path in sorted(directory.glob("*.bin"))},
        "GloVe 6B 50d": demo,
    }


def rounded(change: Interval) -> list[float]:
    return [round(x, 2) for x in (change.difference, change.low, change.high)]


def traits(participation: float, spectrum: NDArray[np.float64]) -> dict[str, float]:
    """Return the traits that the rule uses: see `conceptor.inspection.is_uneven`."""
    values = participation, spectrum[0] / spectrum.sum()
    return dict(zip(TRAITS, (round(float(value), 4) for value in values), strict=True))


def measure(name: str, vectors: WordVectors) -> dict[str, object]:
    inspection = inspect(vectors)
    comparison = compare(vectors, [ORIGINAL, DEFAULT, UNIT], load_battery(FAMILIES), rows="words")
    measured = Measured.of(comparison)
    changes: dict[str, dict[str, list[float]]] = {DEFAULT: {}, UNIT: {}}
    for method, family in itertools.product(changes, comparison.families):
        change = interval([measured.gain(method, ORIGINAL, family)])
        if change is not None and np.isfinite(change.difference):
            changes[method][family] = rounded(change)
    own = traits(inspection.before.participation, inspection.spectrum)
    return {"vectors": name, "traits": own, "changes": changes}


def measure_static(name: str, folder: Path, keep: Path) -> dict[str, object]:
    """Measure what `postprocess` changes in the vectors that a static model gives to texts."""
    inspection = inspect(folder)
    better = keep / f"{folder.name} better"
    shutil.rmtree(better, ignore_errors=True)
    postprocess(folder, better)
    before, after = StaticModel.load(folder), StaticModel.load(better)
    changes = {}
    for family in TEXTS:
        tasks = [task for task in load_battery([family]).tasks if task.in_mean]
        was, now = (
            {
                task.dataset: task.score_texts(
                    model.encode(task.texts.texts).astype(np.float64),
                    np.ones(len(task.texts.texts), bool),
                ).statistic
                for task in tasks
            }
            for model in (before, after)
        )
        changes[family] = rounded(mean_gain(was, now, was))
    own = traits(inspection.before.participation, inspection.spectrum)
    return {"vectors": name, "traits": own, "changes": {STATIC: changes}}


def measure_rows(
    name: str, rows: NDArray[np.float64], task: SentenceSimilarity
) -> dict[str, object]:
    """Measure the effect of methods on cosines of rows of texts, fitted on the same rows."""
    rows = unit_rows(rows)
    has_words = rows.any(axis=1)
    moments = Moments.from_vectors(rows[has_words], unit=True)
    values = Spectrum.from_matrix(moments.second_moment).values
    before = {task.dataset: task.score_texts(rows, has_words).statistic}
    changes = {}
    for method in ("gentle", "cn"):
        map_ = METHODS[method].solve(moments).map
        after = {task.dataset: task.score_texts(map_(rows), has_words).statistic}
        changes[method] = {"sts": rounded(mean_gain(before, after, before))}
    return {"vectors": name, "traits": traits(isotropy(values), values), "changes": changes}


def encoders(directory: Path, keep: Path) -> dict[str, Encode]:
    """Return the encoders of texts: averages of every English set, and models of sentences."""
    glove = cache(demo)

    def average(read: Callable[[], WordVectors], texts: list[str]) -> NDArray[np.float64]:
        return Texts(texts).averages(read())[0]

    def transformer(texts: list[str]) -> NDArray[np.float64]:
        return Transformer.load(minilm(), keep / "vectors")(texts).astype(np.float64)

    named: dict[str, Encode] = {
        f"averages of {name}": partial(average, read) for name, read in sets(directory).items()
    }
    return named | {
        "SentenceEncoder on GloVe": lambda texts: SentenceEncoder(glove()).fit_transform(texts),
        "all-MiniLM-L6-v2": transformer,
    }


def collect(keep: Path) -> None:
    """Put all new measurements into record.json; other sets stay as they were measured."""
    sets = json.loads(RECORD_FILE.read_text(encoding="utf-8"))
    record = {kind: {each["vectors"]: each for each in every} for kind, every in sets.items()}
    for path in sorted(keep.glob("*.json")):
        measured = json.loads(path.read_text())
        kind = "rows" if path.name.startswith("rows ") else "words"
        record[kind][measured["vectors"]] = measured
    ordered = {kind: [every[name] for name in sorted(every)] for kind, every in record.items()}
    with replace_atomically(RECORD_FILE) as beside:
        text = json.dumps(ordered, indent=1, ensure_ascii=False)
        beside.write_text(text + "\n", encoding="utf-8")


def outcome(change: Sequence[float], prediction: str | None) -> str:
    """Return whether a prediction is right."""
    _, low, high = change
    if prediction is None:
        return "abstained"
    if low <= 0 <= high:
        return "level"
    return "right" if (low > 0) == (prediction == "gain") else "wrong"


def cell(change: Sequence[float] | None, prediction: str | None) -> str:
    if change is None:
        return "—"
    difference, low, high = change
    mark = " ✗" if outcome(change, prediction) == "wrong" else ""
    level = "≈" if low <= 0 <= high else ""
    return f"{format_signed(difference, 1)}{level} ({prediction or '?'}{mark})"


def show() -> str:
    """Return the record in Markdown: measurements and predictions."""
    record = json.loads(RECORD_FILE.read_text(encoding="utf-8"))
    lines: list[str] = []
    for kind, method, families in TABLES:
        every = [each for each in record[kind] if method in each["changes"]]
        # Whatever happens to their lengths, words have the directions of `cn`.
        rule = DEFAULT if method == UNIT else method
        predictions = [predict(**each["traits"], method=rule) for each in every]
        rows = []
        outcomes: dict[str, Counter[str]] = {family: Counter() for family in families}
        for each, predicted in zip(every, predictions, strict=True):
            changes = each["changes"][method]
            cells = [f"{each['traits'][name]:.3g}" for name in TRAITS]
            cells += [cell(changes.get(f), predicted.get(f)) for f in families]
            rows.append([each["vectors"], *cells])
            for family in families:
                if family in changes:
                    outcomes[family][outcome(changes[family], predicted.get(family))] += 1
        names = ("right", "level", "wrong", "abstained")
        totals = [", ".join(f"{each[name]} {name}" for name in names) for each in outcomes.values()]
        rows.append(["**record**", "", "", *totals])
        rows_of = "rows of texts" if kind == "rows" else "word vectors"
        lines += [f"## `{method}`, {'static models' if method == STATIC else rows_of}", ""]
        lines += [markdown_table(["", *TRAITS, *families.values()], rows), ""]
    return "\n".join(lines)


def run(options: argparse.Namespace) -> None:
    """Measure everything that is not kept yet."""
    directory, keep = options.directory, options.keep
    keep.mkdir(exist_ok=True)
    task = read_benchmark("STS-B test", registry.fetch("sts/sts-test.csv"))
    runs: dict[str, Callable[[], dict[str, object]]] = {
        f"rows {name}": lambda name=name, encode=encode: measure_rows(
            name, encode(list(task.texts.texts)), task
        )
        for name, encode in encoders(directory, keep).items()
    }
    for name, read in sets(directory).items():
        runs[name] = lambda name=name, read=read: measure(name, read())
    for path in sorted(directory.glob("*/model.safetensors")):
        name = f"static model {path.parent.name}"
        runs[name] = partial(measure_static, name, path.parent, keep)
    for name, measure_one in runs.items():
        path = keep / f"{name}.json"
        plain = name.removeprefix("rows ").removeprefix("averages of ")
        if path.exists() or (options.only and plain not in options.only):
            continue
        measured = measure_one()
        with replace_atomically(path) as beside:
            beside.write_text(json.dumps(measured, indent=1))
        print(name, measured["changes"], flush=True)
    collect(keep)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "record"])
    parser.add_argument("directory", type=Path, help="Of the sets, or the data file to write.")
    parser.add_argument("--keep", type=Path, default=Path("record.kept"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="The only sets to measure.")
    options = parser.parse_args()
    if options.what == "record":
        data_files.write(options.directory, f"{INTRODUCTION}\n{show()}", RECORD)
    else:
        run(options)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
