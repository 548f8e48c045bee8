"""Can the vectors alone predict the sign of each family's change? Measured on many sets.

    python benchmarks/inspect_record.py measure DIRECTORY [--keep DIRECTORY] [--only NAME ...]
    python benchmarks/inspect_record.py record docs/data/inspect.json

`measure` runs on GloVe 50d, both sets of Google News, and every file of DIRECTORY from
`benchmarks/vector_sets.py`. It measures the change by the default in each family, with the interval
of the paired bootstrap, and the traits of the vectors that need no benchmark. Static models in
folders of DIRECTORY are measured too, by the vectors that they give to texts. Each set is kept once
it is measured (--keep, record.kept by default), so a stopped run can be continued. What was
measured replaces or joins the sets of src/conceptor/report/record.json; with --only, nothing else
is measured. `record` reads that file and writes the predictions of `conceptor.report.prediction`
for each set, made without that set.

French and Russian are measured only on word pairs: Russian pairs if $CONCEPTOR_DATA has them,
French pairs translated from English with the dictionary of xling-eval, if it has both words.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import numpy as np
from claims import FAMILIES, Measured, interval
from threadpoolctl import threadpool_limits
from vector_sets import minilm

from conceptor import SentenceEncoder
from conceptor.algebra.aperture import isotropy
from conceptor.algebra.moments import Moments
from conceptor.algebra.recipes import spectral_recipe
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.files import replace_atomically
from conceptor.concepts.align import read_dictionary
from conceptor.data import registry as datasets
from conceptor.evaluation import Battery, load_battery, sts
from conceptor.evaluation.compare.words import compare
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.statistics import Differences, paired_differences
from conceptor.evaluation.texts import Texts
from conceptor.inspection import inspect
from conceptor.methods import ORIGINAL
from conceptor.postprocessing import postprocess
from conceptor.report.prediction import (
    RECORD,
    TRAITS,
    fit_rule,
    read_record,
    track_record,
    verdict,
)
from conceptor.static_models import StaticModel
from conceptor.static_models.transformer import Transformer
from conceptor.vectors import WordVectors, open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.evaluation.sts import SentenceSimilarity

DEFAULT, UNIT = "cn", "cn:lengths=unit"
# The default for tokens of static models, and the families that read texts.
STATIC = "cn:lengths=kept"
TEXTS = ("sts", "retrieval")
RECORD_FILE = Path(__file__).parents[1] / "src" / "conceptor" / "report" / RECORD


INTRODUCTION = """# How often `inspect` is right

Whether a family of benchmarks gains or loses can often be told from the vectors alone, by two
numbers: the *participation* of running text (1 where it uses all directions alike) and the *share*
of its strongest direction, with vectors at length 1. A family should gain on vectors that lie, in
both, between sets that gained, or up to a quarter beyond, and not likewise between sets that lost;
and the other way round. A single set that lost does not predict losses, but nothing is said around
it. Elsewhere nothing is said either.

Each cell has the measured change in points, ≈ where its 95% interval (paired bootstrap) holds zero,
and in brackets what the rule says **that was made without this set**: gain, loss, or ? for no
answer; ✗ where it is wrong. In the last row, *level* are answers about changes that hold zero.

Written by

    python benchmarks/inspect_record.py record docs/data/inspect.json

from what `python benchmarks/inspect_record.py measure DIRECTORY` measured on the sets of
`benchmarks/vector_sets.py`. French is measured on English word pairs in translation, Russian on its
SimLex-999 and WordSim-353.
"""


def sets(directory: Path) -> dict[str, Callable[[], object]]:
    news = {
        f"Google News {size}": lambda size=size: open_vectors(
            datasets.fetch(f"vectors/googlenews-{size}.bin")
        )
        for size in ("13k", "26k")
    }
    made = {
        path.stem: lambda path=path: open_vectors(path) for path in sorted(directory.glob("*.bin"))
    }
    return news | made | {"GloVe 6B 50d": lambda: WordVectors(*datasets.demo_vectors())}


def battery_for(name: str) -> Battery:
    if name.startswith("Russian"):
        return load_battery(["similarity-ru"])
    if name == "French":
        return Battery(french_pairs())
    return load_battery(FAMILIES)


def french_pairs() -> list[WordSimilarity]:
    """Return English word pairs in French, each word by its first translation."""
    french: dict[str, str] = {}
    for part in ("train.freq.5k", "test.freq.2k"):
        for left, right in read_dictionary(datasets.fetch(f"bilingual/yacle.{part}.en-fr.tsv")):
            french.setdefault(left, right)
    found = []
    for task in load_battery(["similarity"]).tasks:
        pairs = [(french.get(a), french.get(b)) for a, b in task.pairs]
        kept = [i for i, (a, b) in enumerate(pairs) if a and b and a != b]
        if len(kept) >= 100:
            gold = [task.gold[i] for i in kept]
            found.append(WordSimilarity(f"{task.dataset} fr", [pairs[i] for i in kept], gold))
    return found


def measure(name: str, vectors: object) -> dict[str, object]:
    found = inspect(vectors)
    battery = battery_for(name)
    measured = Measured.of(compare(vectors, [ORIGINAL, DEFAULT, UNIT], battery, name=name))
    families = {family.partition("-")[0] for family in set(measured.family.values())}
    changes: dict[str, dict[str, list[float]]] = {}
    for method in (DEFAULT, UNIT):
        for family in FAMILIES:
            if family not in families:
                continue
            of = next(f for f in measured.family.values() if f.partition("-")[0] == family)
            change = interval([measured.gain(method, ORIGINAL, of)])
            if change is not None and np.isfinite(change.difference):
                numbers = [change.difference, change.low, change.high]
                changes.setdefault(method, {})[family] = [round(x, 2) for x in numbers]
    return {
        "vectors": name,
        "count": found.count,
        "dimension": found.dimension,
        "weights": found.weights,
        "advice": found.advice,
        "before": asdict(found.before),
        "spectrum": found.spectrum.tolist(),
        "changes": changes,
    }


def folders(directory: Path) -> dict[str, Path]:
    """Return the folders of static models by name."""
    return {
        f"static model {path.name}": path
        for path in sorted(directory.iterdir())
        if (path / "model.safetensors").is_file()
    }


def measure_static(name: str, folder: Path, keep: Path) -> dict[str, object]:
    """Measure what `postprocess` changes in the vectors that a static model gives to texts."""
    found = inspect(folder)
    made = keep / f"{folder.name} made"
    postprocess(folder, made, force=True)
    before, after = StaticModel.load(folder), StaticModel.load(made)
    families = {}
    for family in TEXTS:
        gains = []
        for task in load_battery([family]).tasks:
            texts = list(task.texts.texts)
            was, now = (
                task.score_texts(model.encode(texts).astype(np.float64), np.ones(len(texts), bool))
                for model in (before, after)
            )
            if was.in_mean:
                pair = {task.dataset: was.statistic}, [{task.dataset: now.statistic}]
                gains += paired_differences(*pair).values()
        change = Differences.mean(gains).interval(0)
        numbers = (change.difference, change.low, change.high)
        families[family] = [round(x, 2) for x in numbers]
    return {
        "vectors": name,
        "advice": found.advice,
        "before": asdict(found.before),
        "spectrum": found.spectrum.tolist(),
        "changes": {STATIC: families},
    }


def traits(participation: float, spectrum: Sequence[float]) -> dict[str, float]:
    """Return the traits that a rule may use: see `conceptor.report.prediction.predict`."""
    values = np.array(spectrum)
    found = {
        "participation": participation,
        "share": values[0] / values.sum(),
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def measure_rows(rows: NDArray[np.float64], task: SentenceSimilarity) -> dict[str, object]:
    """Measure the effect of methods on cosines of rows of texts, fitted on the same rows."""
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    known = rows.any(axis=1)
    moments = Moments.from_vectors(rows[known])
    values = Spectrum.from_matrix(moments.second_moment).values
    changes = {}
    before = {task.dataset: task.score_texts(rows, known).statistic}
    for method in ("gentle", "cn"):
        map_ = spectral_recipe(method).solve(Moments.from_vectors(rows[known], unit=True)).map
        after = {task.dataset: task.score_texts(map_(rows), known).statistic}
        change = paired_differences(before, [after])[task.dataset].interval(0)
        numbers = (change.difference, change.low, change.high)
        changes[method] = {"sts": [round(x, 2) for x in numbers]}
    return {"traits": traits(isotropy(values), values), "changes": changes}


def encoders(directory: Path, keep: Path) -> dict[str, Callable[[list[str]], NDArray[np.float64]]]:
    """Return the encoders of texts: averages of every English set, and models of sentences."""

    def averages(read: Callable[[], object]) -> Callable[[list[str]], NDArray[np.float64]]:
        return lambda texts: Texts(texts).averages(WordVectors(*read().read()))[0]

    def transformer(texts: list[str]) -> NDArray[np.float64]:
        return Transformer.load(minilm())(texts, keep=keep / "vectors").astype(np.float64)

    named = {
        f"averages of {name}": averages(read)
        for name, read in sets(directory).items()
        if not name.startswith(("French", "Russian", "GloVe 6B"))
    }
    glove = WordVectors(*datasets.demo_vectors())
    return named | {
        "averages of GloVe 6B 50d": lambda texts: Texts(texts).averages(glove)[0],
        "SentenceEncoder on GloVe": lambda texts: SentenceEncoder(glove).fit_transform(texts),
        "all-MiniLM-L6-v2": transformer,
    }


def collect(keep: Path) -> None:
    """Put all kept measurements into record.json; other sets stay as they were measured."""
    record = {
        kind: {each["vectors"]: each for each in every} for kind, every in read_record().items()
    }
    for path in sorted(keep.glob("*.json")):
        found = json.loads(path.read_text())
        if path.name.startswith("rows "):
            name = path.stem.removeprefix("rows ")
            record["rows"][name] = {"vectors": name, **found}
            continue
        known = traits(found["before"]["participation"], found["spectrum"])
        name = found["vectors"]
        record["words"][name] = {"vectors": name, "traits": known, "changes": found["changes"]}
    ordered = {kind: [every[name] for name in sorted(every)] for kind, every in record.items()}
    with replace_atomically(RECORD_FILE) as beside:
        text = json.dumps(ordered, indent=1, ensure_ascii=False)
        beside.write_text(text + "\n", encoding="utf-8")


def show() -> str:
    """Return the record in Markdown: measurements, and predictions made without them."""
    found = read_record()
    lines: list[str] = []
    for kind, method, families in (
        ("words", DEFAULT, FAMILIES),
        ("words", UNIT, {f: FAMILIES[f] for f in ("sts", "categorization", "retrieval")}),
        ("words", STATIC, {"sts": "STS", "retrieval": "retrieval"}),
        ("rows", "gentle", {"sts": "STS-B test"}),
        ("rows", "cn", {"sts": "STS-B test"}),
    ):
        every = [each for each in found[kind] if method in each["changes"]]
        said = {
            family: dict(zip(known(every, method, family), answers, strict=True))
            for family in families
            for answers in [track_record(every, method, family)]
        }
        heads = [*TRAITS, *families.values()]
        what = "rows of texts" if kind == "rows" else "word vectors"
        lines += [f"## `{method}`, {'static models' if method == STATIC else what}", ""]
        lines += ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
        for each in every:
            changes = each["changes"].get(method, {})
            cells = [f"{each['traits'][name]:.3g}" for name in TRAITS]
            for family in families:
                answer = said[family].get(each["vectors"], 0)
                cells.append(cell(changes.get(family), answer))
            lines.append(f"| {each['vectors']} | {' | '.join(cells)} |")
        totals = [summary(every, method, family, said[family]) for family in families]
        lines += [f"| **record** | | | {' | '.join(totals)} |", ""]
        for family, title in families.items():
            lines.append(f"- {title}: {describe(every, method, family)}")
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def known(every: Sequence[Mapping], method: str, family: str) -> list[str]:
    return [e["vectors"] for e in every if family in e["changes"].get(method, {})]


def cell(change: list[float] | None, said: int) -> str:
    if change is None:
        return "—"
    difference, low, high = change
    star = "" if low > 0 or high < 0 else "≈"
    answer = {1: "gain", -1: "loss", 0: "?"}[said]
    wrong = " ✗" if said * verdict(change) < 0 else ""
    return f"{difference:+.1f}{star} ({answer}{wrong})".replace("-", "−")


def summary(every: Sequence[Mapping], method: str, family: str, said: Mapping[str, int]) -> str:
    true = {
        e["vectors"]: verdict(e["changes"][method][family]) for e in every if e["vectors"] in said
    }
    right = sum(said[n] * true[n] > 0 for n in said)
    wrong = sum(said[n] * true[n] < 0 for n in said)
    level = sum(said[n] != 0 == true[n] for n in said)
    return f"{right} right, {level} level, {wrong} wrong, {list(said.values()).count(0)} abstained"


def describe(every: Sequence[Mapping], method: str, family: str) -> str:
    """Return the rule made of all sets, in words."""
    some = [e for e in every if family in e["changes"].get(method, {})]
    signs = [verdict(e["changes"][method][family]) for e in some]
    rule = fit_rule([e["traits"] for e in some], signs)
    names = {1: "gain", -1: "loss"}
    said = []
    for sign, ranges in rule.ranges.items():
        parts = [f"{trait} {low:.3g} to {high:.3g}" for trait, (low, high) in ranges.items()]
        said.append(f"{names[sign]} with {' and '.join(parts)}")
    for sign, ranges in rule.lone.items():
        parts = [f"{trait} {low:.3g} to {high:.3g}" for trait, (low, high) in ranges.items()]
        said.append(f"no answer around the only {names[sign]}, {' and '.join(parts)}")
    return "; ".join(said) or "no answer"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "record"])
    parser.add_argument(
        "directory", type=Path, help="The directory of the sets, or the page to write."
    )
    parser.add_argument("--keep", type=Path, default=Path("record.kept"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="The only sets to measure.")
    options = parser.parse_args()
    if options.what == "record":
        data_files.write(options.directory, f"{INTRODUCTION}\n{show()}")
        return
    options.keep.mkdir(exist_ok=True)
    task = sts.read_benchmark("STS-B test", datasets.fetch("sts/sts-test.csv"))
    runs: dict[str, Callable[[], dict[str, object]]] = {
        f"rows {name}": lambda encode=encode: measure_rows(encode(list(task.texts.texts)), task)
        for name, encode in encoders(options.directory, options.keep).items()
    }
    for name, read in sets(options.directory).items():
        runs[name] = lambda name=name, read=read: measure(name, read())
    for name, folder in folders(options.directory).items():
        runs[name] = lambda name=name, folder=folder: measure_static(name, folder, options.keep)
    for name, run in runs.items():
        kept = options.keep / f"{name}.json"
        plain = name.removeprefix("rows ").removeprefix("averages of ")
        if kept.exists() or (options.only and plain not in options.only):
            continue
        found = run()
        with replace_atomically(kept) as beside:
            beside.write_text(json.dumps(found, indent=1))
        print(name, found["changes"], flush=True)
    collect(options.keep)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
