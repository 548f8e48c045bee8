"""Draw the charts of the docs from docs/data, and write the README's figures.

    python docs/charts.py [measure]

With `measure` it first measures what only the charts need, on GloVe 6B 50d (demo extra):
neighbors before and after, spectra and gates, kept in docs/data/home.json. A test sees that charts
and README are those of the data.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import drawing  # noqa: E402
from drawing import Dot  # noqa: E402

README = DOCS.parent / "README.md"
FIGURES = ("<!-- figures: python docs/charts.py -->", "<!-- end of figures -->")
WORDS = ("bank", "doctor", "happy")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
RIVALS = {
    "original": "original", "abtt": "All-But-The-Top", "cn-paper": "CN as in the paper",
    "pvn": "PVN", "whitening": "whitening", "zipf-whitening": "Zipfian whitening",
    "hsr": "half-sibling regression",
}  # fmt: skip


CALLED = {
    "similarity": "word similarity", "STS by averages": "sentence similarity",
    "categorization": "categorization", "synonyms": "synonym retrieval",
    "analogies": "analogies", "retrieval": "retrieval",
}  # fmt: skip


class Data:
    """The tables of a data file."""

    def __init__(self, name: str) -> None:
        self.tables = json.loads((DOCS / "data" / f"{name}.json").read_text(encoding="utf-8"))

    def rows(self, name: str) -> dict[str, list[str]]:
        """Return the cells of each row after the first, by the first."""
        return {row[0].replace("`", ""): row[1:] for row in self.tables[name]["rows"]}

    def cells(self, name: str) -> dict[str, dict[str, str]]:
        """Return the cells of each row by column."""
        columns = self.tables[name]["columns"][1:]
        return {
            row: dict(zip(columns, cells, strict=True)) for row, cells in self.rows(name).items()
        }


def numbers(cell: str) -> list[float]:
    """Return the numbers of a cell: a value and the ends of its interval, or several values."""
    plain = cell.replace("−", "-").replace(",", "")
    return [float(found) for found in NUMBER.findall(plain)]


def dot(cell: str) -> Dot:
    """Return `+1.2 [+0.3, +2.1] ahead` as a dot with its interval."""
    return Dot(*numbers(cell)[:3])


def by_family(cells: dict[str, str]) -> dict[str, Dot]:
    return {family: dot(cell) for family, cell in cells.items() if numbers(cell)}


def gains(table: dict[str, list[str]], methods: list[str]) -> dict[str, Dot]:
    """Return what methods gain, from the last rows of a table of `compare`."""
    found = zip(methods, table["gain"], table["95% from"], table["95% to"], strict=False)
    return {
        method: Dot(*(numbers(cell)[0] for cell in cells)) for method, *cells in found if cells[0]
    }


AGAINST = "the-default-against-each-rival-mean-over-these-vectors"
ONE = "gain in points, with its 95% interval"


def home() -> str:
    claims, kept = Data("claims"), Data("home")
    families = by_family(claims.cells(f"{AGAINST}/all-benchmarks")["original"])
    del families["mean of families"]
    shapes = [
        drawing._text(0, 14, f"What changes, mean over {_count(claims)} sets of vectors", "title")
    ]
    panel = drawing._panel("", families, [], (122, 4, 290), zero=True, named=True)
    shapes += panel
    bottom = 28 + drawing.ROW * len(families)
    shapes.append(drawing._text(267, bottom + 36, ONE, "faint", "middle"))
    shapes.append(drawing._text(470, 14, "Nearest words of GloVe, before and after", "title"))
    for place, word in enumerate(WORDS):
        y = 38 + place * 60
        shapes.append(drawing._text(470, y, word))
        for line, (name, found) in enumerate(kept.rows(f"neighbors/{word}").items(), start=1):
            shown = "before" if name == "original" else "after"
            shapes.append(drawing._text(482, y + 18 * line, shown, "faint"))
            shapes.append(drawing._text(530, y + 18 * line, ", ".join(found[:5])))
    return drawing.svg(850, bottom + 46, "Gains and losses by family, and neighbors", shapes)


def default_by_vectors() -> str:
    found = Data("claims").cells("the-default-against-the-original-by-vectors")
    families = next(iter(found.values()))
    panels = {
        family: {vectors: dot(cells[family]) for vectors, cells in found.items()}
        for family in families
    }
    return drawing.dots(panels, "The default against the original", ONE, columns=3, width=800)


def default_rivals() -> str:
    claims = Data("claims")
    panels = {}
    for part, title in (("all", "all benchmarks"), ("held-out", "held-out benchmarks")):
        found = claims.cells(f"{AGAINST}/{part}-benchmarks")
        panels[title] = {
            shown: dot(found[name]["mean of families"]) for name, shown in RIVALS.items()
        }
    axis = "cn − other method, mean of families, in points"
    return drawing.dots(panels, "The default against other methods", axis, columns=2)


def apertures() -> str:
    found = Data("apertures").cells("power-and-aperture")
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, cells in found.items():
        setting = re.match(r"power ([\d.]+), α = ([\d.]+)", name)
        if setting:
            curve = curves.setdefault(f"power {setting[1]}", [])
            curve.append((float(setting[2]), float(cells["mean"])))
    axes = ("aperture α at mean eigenvalue 1", "mean of families")
    return drawing.lines({"": curves}, "Mean of families by aperture", axes)


def encoders() -> str:
    found = Data("sentences").rows("differences")
    panels: dict[str, dict[str, Dot]] = {}
    for name, cells in found.items():
        regime = "own" if "(own) −" in name else "other"
        title = {"own": "fitted on the test set's sentences", "other": "fitted on others"}[regime]
        rival = name.split(" − ")[1].removesuffix(f" ({regime})")
        panels.setdefault(title, {})[rival] = dot(cells[0])
    axis = "SentenceEncoder − other encoder, STS 2012–2015, in points"
    return drawing.dots(panels, "SentenceEncoder against other encoders", axis, columns=2)


PAPER = "the-paper-s-tables-1-3-and-4-google-news-300d"


def paper() -> str:
    results = Data("results")
    panels = {}
    for name, title in (
        ("word-similarity-spearman-100", "similarity"),
        ("sts-by-year-pearson-100", "STS"),
        ("categorization-purity-100", "categorization"),
    ):
        cells = results.cells(f"{PAPER}/{name}")
        panels[title] = {
            dataset: {
                "paper": Dot(numbers(row["cn-paper"])[0]),
                "here": Dot(numbers(row["cn-paper"])[1]),
            }
            for dataset, row in cells.items()
        }
    axis = "conceptor negation on Google News, score × 100 († other data than the paper's)"
    return drawing.dots(panels, "The paper's figures and ours", axis, zero=False)


def datasets() -> str:
    results = Data("results")
    panels = {}
    for name, title in (
        ("word-similarity-spearman-100", "similarity"),
        ("sentence-similarity-pearson-100", "STS by averages"),
        ("categorization-purity-100", "categorization"),
        ("synonym-retrieval-synonyms-among-the-ten-nearest", "synonyms"),
        ("analogies-accuracy", "analogies"),
        ("retrieval-ndcg-10-100", "retrieval"),
    ):
        by_vectors = {}
        for vectors, shown in (
            ("glove-6b-50d", "GloVe 6B 50d"),
            ("google-news-26k-300d", "Google News 26k"),
        ):
            table = f"{vectors}/{name}"
            methods = results.tables[table]["columns"][1:-1]
            by_vectors[shown] = gains(results.rows(table), methods)
        first = next(iter(by_vectors.values()))
        panels[title] = {
            method: {shown: found[method] for shown, found in by_vectors.items()}
            for method in first
        }
    return drawing.dots(panels, "Every method, every family", ONE, columns=2, width=800)


def record() -> str:
    found = Data("inspect").cells("cn-word-vectors")["**record**"]
    rows = {
        family: dict(zip(("right", "level", "wrong", "no answer"), numbers(cell), strict=True))
        for family, cell in found.items()
        if cell
    }
    return drawing.bars(rows, "How often inspect is right", "sets of vectors")


def static_models() -> str:
    data = Data("static-models")
    panels = {}
    for title, names in {
        "all-MiniLM-L6-v2": ("sts", "retrieval", "classification"),
        "m3e-small": ("m3e-sts", "m3e-retrieval", "m3e-classification"),
    }.items():
        rows = {}
        for name in names:
            for dataset, cells in data.cells(name).items():
                if "MAP" in dataset or "–2015" in dataset:
                    continue
                rows[dataset] = {
                    text: Dot(*numbers(cells[f"ours 256, {text}"])[1:4])
                    for text in ("no text", "8,192 sentences")
                }
        panels[title] = rows
    axis = "gain over model2vec at 256 dimensions, in points, with its 95% interval"
    return drawing.dots(panels, "Static models against model2vec", axis, columns=2, width=800)


def texts() -> str:
    found = Data("texts").cells("sts-b")
    rows = {
        name: {
            m: Dot(float(cells[m]) - float(cells["original"]))
            for m in ("gentle", "cn", "abtt", "whitening")
        }
        for name, cells in found.items()
    }
    return drawing.dots(
        {"": rows}, "Embeddings of texts", "change on STS-B test, in points", width=800
    )


def search() -> str:
    panels = {}
    for table, title in (("words", "words of Google News"), ("texts", "documents of Cranfield")):
        curves = {}
        for name, cells in Data("search").rows(table).items():
            found = [numbers(cell) for cell in cells if cell]
            short = re.split(r" of |, |\*\*, ", name.replace("**", ""))[0]
            if not name.startswith("mean"):
                curves[short] = [(excluded, kept) for kept, excluded in found]
        panels[title] = curves
    axes = ("excluded (average precision within the two categories)", "found")
    return drawing.lines(panels, "What is found at equal exclusion", axes, height=340)


def debiasing() -> str:
    data = Data("debiasing")
    panels = {
        shown: {name: dot(cells["mean abs d"]) for name, cells in data.cells(table).items()}
        for table, shown in (("glove", "GloVe 6B 50d"), ("google-news", "Google News"))
    }
    axis = "mean of |d| of three WEAT tests, with its 95% interval; random words have 0.40"
    return drawing.dots(panels, "Bias that remains", axis, columns=2, width=800, zero=False)


DIALOGUE = "the-paper-s-table-5-dialogue-state-tracking/google-news-31k-300d-default-training"


def dialogue() -> str:
    data = Data("results")
    (name,) = (each for each in data.tables if each.startswith(f"{DIALOGUE}/difference"))
    rows = {
        row: cells for row, cells in data.cells(name).items() if not re.match(r"\s*(over|p,)", row)
    }
    panels = {
        goal: {m: dot(cells[goal]) for m, cells in rows.items()}
        for goal in next(iter(rows.values()))
    }
    axis = "difference from the original in points, with its 95% interval over seeds and dialogues"
    return drawing.dots(panels, "Dialogue state tracking", axis, columns=2)


def lexicon() -> str:
    panels = {}
    for table, title in (
        (
            "the-paper-s-table-2-supervision-by-synonyms-and-antonyms/google-news-31k-300d",
            "Google News 31k",
        ),
        ("the-paper-s-table-2-supervision-by-synonyms-and-antonyms/glove-6b-50d", "GloVe 6B 50d"),
    ):
        cells = Data("results").cells(table)
        panels[title] = {
            m: dot(row["over original"]) for m, row in cells.items() if row["over original"]
        }
    return drawing.dots(
        panels, "Lexicons on SimLex-999", f"SimLex-999: {ONE}", columns=2, width=800
    )


def ppmi() -> str:
    panels = {}
    for kind in ("", "-without-dictionaries"):
        for family, shown in (
            ("similarity", "similarity"),
            ("sts", "STS"),
            ("categorization", "categorization"),
        ):
            data = Data("ppmi")
            methods = [m.split(":")[0] for m in data.tables[family + kind]["columns"][1:-1]]
            title = f"{shown}, no dictionaries" if kind else shown
            panels[title] = gains(data.rows(family + kind), methods)
    return drawing.dots(panels, "PPMI vectors", ONE, columns=3, width=800)


def smaller() -> str:
    panels = {}
    for table, vectors in (("google-news", "Google News"), ("glove", "GloVe 6B")):
        data = Data("smaller")
        for family in ("STS", "synonyms"):
            curves: dict[str, list[tuple[float, float]]] = {}
            for row in data.tables[table]["rows"]:
                cells = dict(zip(data.tables[table]["columns"][1:], row[1:], strict=True))
                name = row[0].replace("`", "")
                if name != "original":
                    point = (float(cells["dimensions"]), numbers(cells[family])[0])
                    curves.setdefault(name, []).append(point)
            panels[f"{vectors}: {family}"] = curves
    return drawing.lines(
        panels, "Fewer dimensions", ("dimensions (float32)", "score × 100"), width=800
    )


def thresholds() -> str:
    cells = Data("thresholds").cells("transfer")
    rows = {
        name: {question: Dot(numbers(cell)[0]) for question, cell in row.items()}
        for name, row in cells.items()
    }
    axis = "balanced accuracy of a threshold chosen on another embedding, %"
    return drawing.dots({"": rows}, "Thresholds that carry over", axis, zero=False, width=840)


def prior() -> str:
    panels = {}
    for table, title in (("glove", "GloVe 6B 50d"), ("google-news", "Google News 26k")):
        data = Data("neighbors")
        betas = [numbers(column)[0] for column in data.tables[table]["columns"][1:]]
        panels[title] = {
            name: [(beta, numbers(cell)[0]) for beta, cell in zip(betas, cells, strict=True)]
            for name, cells in data.rows(table).items()
        }
    return drawing.lines(panels, "The prior for common words", ("β", "synonyms found, %"))


def spectrum() -> str:
    kept = Data("home")
    panels = {}
    for table, title in (
        ("spectrum", "share of running text, log₁₀"),
        ("gates", "how much is kept"),
    ):
        panels[title] = {
            name: list(enumerate(map(float, cells), start=1))
            for name, cells in kept.rows(table).items()
        }
    return drawing.lines(
        panels, "Spectrum and gates", ("direction, strongest first", ""), marks=False
    )


def lengths() -> str:
    panels = {}
    for table, title in (
        ("sts", "STS by averages"),
        ("retrieval", "retrieval"),
        ("categorization", "categorization"),
    ):
        rows = Data("lengths").rows(table)
        panels[title] = {
            name: {"over length 1": dot(cells[4]), "over Zipfian whitening, counts": dot(cells[6])}
            for name, cells in rows.items()
        }
    return drawing.dots(panels, "Lengths by usage", f"cn: {ONE}", columns=3, width=800)


def attach() -> str:
    panels: dict[str, dict[str, Dot]] = {}
    for name, cells in Data("attach").cells("ndcg").items():
        if name.startswith(("transformer for", "the same")):
            continue
        for title in ("Cranfield (225)", "CISI (76)", "CACM (52)", "mean"):
            found = re.search(r"\((.*)\)", cells[title])
            if found:
                panels.setdefault(title, {})[name.replace("**", "")] = dot(found[1])
    axis = "difference in nDCG@10 from the transformer, with its 95% interval"
    return drawing.dots(panels, "Queries without the model", axis, columns=2, width=840)


CHARTS = {
    "home": home, "default-by-vectors": default_by_vectors, "default-rivals": default_rivals,
    "apertures": apertures, "encoders": encoders, "paper": paper, "datasets": datasets,
    "inspect": record, "static-models": static_models, "texts": texts, "search": search,
    "debiasing": debiasing, "dialogue": dialogue, "lexicon": lexicon, "ppmi": ppmi,
    "smaller": smaller, "thresholds": thresholds, "prior": prior, "spectrum": spectrum,
    "lengths": lengths, "attach": attach,
}  # fmt: skip


def readme(text: str) -> str:
    """Return the README with the figures of the data."""
    claims = Data("claims")
    against = claims.cells(f"{AGAINST}/all-benchmarks")
    shown = {
        family: cell.split()[0]
        for family, cell in against["original"].items()
        if "mean" not in family
    }
    count = _count(claims)
    gained = ", ".join(f"{CALLED[family]} {gain}" for family, gain in shown.items())
    paragraphs = [
        f"In points, on average over {count} sets of vectors: {gained}.",
        f"**Where it loses** significantly (95%). Against the original: {_lost(claims)}. "
        f"Against other methods, on average: {_behind(against)}. "
        "[When it does not help](docs/explanation/when-not.md) has the reasons.",
    ]
    begin, end = FIGURES
    before, rest = text.split(begin)
    body = "\n\n".join(map(_filled, paragraphs))
    return f"{before}{begin}\n\n{body}\n\n{end}{rest.split(end)[1]}"


def _count(claims: Data) -> str:
    """Return over how many sets of vectors the means are."""
    return str(claims.tables["means-over-the-sets-of-vectors"]["text"].split()[0])


def _lost(claims: Data) -> str:
    """Return on which vectors the default is behind the original, family by family."""
    found: dict[str, list[str]] = {}
    for vectors, cells in claims.cells("the-default-against-the-original-by-vectors").items():
        for family, cell in cells.items():
            if "behind" in cell:
                found.setdefault(family, []).append(f"{vectors} {cell.split()[0]}")
    return "; ".join(f"{CALLED[family]} on {', '.join(sets)}" for family, sets in found.items())


def _behind(against: dict[str, dict[str, str]]) -> str:
    """Return which methods are ahead of the default, and where."""
    found = []
    for method, cells in against.items():
        if method in RIVALS and method != "original":
            lost = [
                f"{CALLED[family]} ({cell.split()[0]})"
                for family, cell in cells.items()
                if "behind" in cell and family in CALLED
            ]
            found += [f"{RIVALS[method]} on {' and '.join(lost)}"] if lost else []
    return "; ".join(found) or "none"


def _filled(paragraph: str) -> str:
    """Return a paragraph in lines that do not break within code."""
    kept = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", "\0"), paragraph)
    return textwrap.fill(kept, 110, break_on_hyphens=False).replace("\0", " ")


def outputs() -> dict[Path, str]:
    """Return every file that is drawn or written from the data."""
    charts = {DOCS / "charts" / f"{name}.svg": draw() for name, draw in CHARTS.items()}
    written = readme(README.read_text(encoding="utf-8"))
    return charts | {DOCS / "charts.css": drawing.style_sheet(), README: written}


def measure() -> None:
    """Write docs/data/home.json: neighbors before and after, spectra and gates of GloVe 6B 50d."""
    import numpy as np

    from conceptor import AllButTheTop, ConceptorNegation, most_similar
    from conceptor.data.registry import demo_vectors

    words, X = demo_vectors()
    near = most_similar((words, X), list(WORDS), ["original", "cn"], n=6)
    tables = {
        f"neighbors/{word}": {
            "title": f"Nearest words of {word}, GloVe 6B 50d", "text": "", "notes": "",
            "columns": ["method", *map(str, range(1, 7))],
            "rows": [[m, *(one.word for one in near[m][word])] for m in ("original", "cn")],
        }
        for word in WORDS
    }  # fmt: skip
    common = X[:50_000]
    fitted = {
        "All-But-The-Top": AllButTheTop(2).fit(common),
        "CN as in the paper": ConceptorNegation(2.0, power=1, unit=False).fit(common),
        "cn, the default": ConceptorNegation(weights="zipf").fit(X),
    }
    for table, values in (
        ("spectrum", lambda each: np.log10(each.spectrum.values / each.spectrum.values.sum())),
        ("gates", lambda each: each.gate),
    ):
        rows = [
            [name, *(f"{v:.4g}" for v in values(each.solution_))] for name, each in fitted.items()
        ]
        tables[table] = {
            "title": table, "text": "", "notes": "",
            "columns": ["method", *map(str, range(1, X.shape[1] + 1))], "rows": rows,
        }  # fmt: skip
    text = json.dumps({"note": "Written by python docs/charts.py measure."} | tables, indent=1)
    (DOCS / "data" / "home.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    for path, text in outputs().items():
        path.write_text(text, encoding="utf-8")
