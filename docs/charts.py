"""Draw the charts of the docs from docs/data, and write the README's figures.

    python docs/charts.py

A test sees that charts and README are those of the data.
"""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import drawing  # noqa: E402
import numpy as np  # noqa: E402
from drawing import Dot  # noqa: E402

from conceptor import Conceptor  # noqa: E402

README = DOCS.parent / "README.md"
FIGURES = ("<!-- figures: python docs/charts.py -->", "<!-- end of figures -->")
EXAMPLES = DOCS.parent / "src" / "conceptor" / "explore" / "examples.json"
WORDS = ("mainly", "allow", "protect")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
RIVALS = {
    "original": "original", "abtt:n_directions=2": "All-But-The-Top, 2",
    "abtt": "All-But-The-Top, n/100", "cn-paper": "CN as in the paper",
    "pvn": "PVN", "whitening": "whitening", "zipf-whitening": "Zipfian whitening",
    "hsr": "half-sibling regression",
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
    return Dot(*(numbers(cell)[:3] or [math.nan]))


def by_family(cells: dict[str, str]) -> dict[str, Dot]:
    return {family: dot(cell) for family, cell in cells.items() if numbers(cell)}


def gains(table: dict[str, list[str]], methods: list[str]) -> dict[str, Dot]:
    """Return what methods gain, from the last rows of a table of `compare`."""
    if "± (95%)" in table:
        pairs = zip(methods, table["gain"], table["± (95%)"], strict=False)
        both = {method: numbers(f"{gain} {half}") for method, gain, half in pairs if gain}
        return {
            method: Dot(gain, gain - half, gain + half) for method, (gain, half) in both.items()
        }
    # Older data has the ends of the interval in two rows.
    found = zip(methods, table["gain"], table["95% from"], table["95% to"], strict=False)
    return {
        method: Dot(*(numbers(cell)[0] for cell in cells)) for method, *cells in found if cells[0]
    }


KINDS = {"unit": "directions alone: unit vectors", "usage": "with SIF lengths for all"}
AGAINST = "the-default-against-each-rival-mean-over-these-vectors"
ONE = "gain in points, with its 95% interval"


def home() -> str:
    evidence = Data("evidence")
    families = by_family(evidence.cells(f"{AGAINST}/all-benchmarks")["original"])
    del families["mean of families"]
    shapes = [
        drawing._text(0, 14, f"What changes, mean over {_count(evidence)} sets of vectors", "title")
    ]
    panel = drawing._panel("", families, [], (140, 4, 272), zero=True, named=True)
    shapes += panel
    bottom = 28 + drawing.ROW * len(families)
    shapes.append(drawing._text(276, bottom + 36, ONE, "faint", "middle"))
    return drawing.svg(420, bottom + 46, "Gains and losses by family", shapes)


def home_neighbors() -> str:
    shapes = [drawing._text(0, 14, "Nearest words of GloVe: what goes, what comes", "title")]
    words = json.loads(EXAMPLES.read_text(encoding="utf-8"))["words"]
    for place, word in enumerate(WORDS):
        y = 38 + place * 60
        shapes.append(drawing._text(0, y, word))
        for line, change in enumerate(("lost", "new"), start=1):
            listed = ", ".join(near for near, _ in words[word][change][:4])
            shapes.append(drawing._text(12, y + 18 * line, change, "faint"))
            shapes.append(drawing._text(60, y + 18 * line, listed))
    return drawing.svg(410, 48 + 60 * len(WORDS), "Neighbors lost and found", shapes)


def default_by_vectors() -> str:
    cells = Data("evidence").cells("the-default-against-the-original-by-vectors")
    families = next(iter(cells.values()))
    panels = {family: {v: dot(row[family]) for v, row in cells.items()} for family in families}
    return drawing.dots(panels, "The default against the original", ONE, columns=3, width=800)


def default_rivals() -> str:
    evidence = Data("evidence")
    panels = {}
    for kind, title in KINDS.items():
        panels[title] = {
            shown: {
                part: dot(cells[f"{name}:lengths={kind}"]["mean of families"])
                for part in ("all benchmarks", "held-out benchmarks")
                for cells in [evidence.cells(f"{AGAINST}/{part.replace(' ', '-')}")]
            }
            for name, shown in RIVALS.items()
        }
    axis = "cn − other method, mean of families, in points"
    return drawing.dots(panels, "The default against other methods", axis, columns=2, width=800)


def directions() -> str:
    cells = Data("evidence").cells("directions-and-lengths")
    rows = {
        family: {
            shown: dot(cells[row][family])
            for row, shown in {
                "directions alone, unit lengths": "directions, unit vectors",
                "SIF lengths alone − original": "SIF lengths alone",
                "cn − SIF lengths alone": "directions, with SIF lengths",
                "cn − original": "both: the default",
            }.items()
        }
        for family in next(iter(cells.values()))
        if "mean" not in family
    }
    return drawing.dots({"": rows}, "What directions and lengths gain", ONE, width=760)


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
        ("concept-categorization-purity-100", "categorization"),
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


DIALOGUE = "default-training"


def dialogue() -> str:
    data = Data("dialogue")
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


def algebra() -> str:
    """Draw what two conceptors and their combinations do to the unit circle."""
    C = Conceptor.from_matrix(np.array([[0.86, 0.16], [0.16, 0.30]]))
    B = Conceptor.from_matrix(np.array([[0.34, -0.20], [-0.20, 0.80]]))
    panels = {"C and B": None, "NOT C": ~C, "C AND B": C & B, "C OR B": C | B}
    angles = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    shapes, radius, gap = [], 78, 22
    for place, (title, result) in enumerate(panels.items()):
        x = 12 + radius + place % 2 * (2 * radius + gap)
        y = 30 + radius + place // 2 * (2 * radius + 44)

        def outline(matrix: np.ndarray, kind: str, x: float = x, y: float = y) -> str:
            points = (radius * matrix @ circle).T * (1, -1) + (x, y)
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            return f'<polygon class="series {kind}" points="{path}"/>'

        shapes.append(drawing._text(x, y - radius - 14, title, "title", "middle"))
        shapes.append(outline(np.eye(2), "grid"))
        shapes += [outline(C.matrix, "s1"), outline(B.matrix, "s3")]
        if result is not None:
            shapes.append(outline(result.matrix, "s4 result"))
    legend = (("C", "m-s1"), ("B", "m-s3"), ("result", "m-s4"), ("I, the circle", "faint"))
    for place, (name, kind) in enumerate(legend):
        x, y = 20 + (0, 50, 100, 190)[place], 4 * radius + 104
        mark = f'<circle class="{kind}" cx="{x}" cy="{y - 4}" r="4"/>'
        shapes += [mark if kind != "faint" else "", drawing._text(x + 12, y, name, "faint")]
    width = 12 + 2 * (2 * radius + gap)
    return drawing.svg(width, 4 * radius + 116, "NOT, AND and OR of two conceptors", shapes)


def attach() -> str:
    panels: dict[str, dict[str, Dot]] = {}
    for name, cells in Data("attach").cells("ndcg").items():
        if name.startswith("transformer for") or name.endswith(", + BM25"):
            continue
        for title in ("Cranfield (225)", "CISI (76)", "CACM (52)", "mean"):
            found = re.search(r"\((.*)\)", cells[title])
            if found:
                panels.setdefault(title, {})[name] = dot(found[1])
    axis = "difference in nDCG@10 from the transformer, with its 95% interval"
    return drawing.dots(panels, "Queries without the model", axis, columns=2, width=840)


CHARTS = {
    "home": home, "home-neighbors": home_neighbors, "default-by-vectors": default_by_vectors,
    "default-rivals": default_rivals,
    "directions": directions,
    "apertures": apertures, "encoders": encoders, "paper": paper,
    "inspect": record, "static-models": static_models, "texts": texts, "search": search,
    "debiasing": debiasing, "dialogue": dialogue, "lexicon": lexicon, "ppmi": ppmi,
    "smaller": smaller, "thresholds": thresholds, "prior": prior, "spectrum": spectrum,
    "attach": attach, "algebra": algebra,
}  # fmt: skip


def readme(text: str) -> str:
    """Return the README with the figures of the data."""
    evidence = Data("evidence")
    lines = [["", "before → after", "gain", "over plain SIF"], ["---", *["---:"] * 3]]
    for family, cells in evidence.cells("before-and-after").items():
        *_, sif, scores, gain = cells.values()
        lines.append([family, scores, gain, sif])
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    note = (
        f"Scores × 100 on average over {_count(evidence)} sets of vectors, with 95% intervals "
        "([the study](docs/studies/words.md)). *Plain SIF* changes only the lengths of frequent "
        "words; the rest comes from directions."
    )
    begin, end = FIGURES
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{table}\n\n{_filled(note)}\n\n{end}{rest.split(end)[1]}"


def _count(evidence: Data) -> str:
    """Return over how many sets of vectors the means are."""
    text = evidence.tables["before-and-after"]["text"]
    return re.findall(r"over (\d+) sets", text)[0]


def _filled(paragraph: str) -> str:
    """Return a paragraph in lines that do not break within code."""
    kept = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", "\0"), paragraph)
    return textwrap.fill(kept, 110, break_on_hyphens=False).replace("\0", " ")


def outputs() -> dict[Path, str]:
    """Return every file that is drawn or written from the data."""
    charts = {DOCS / "charts" / f"{name}.svg": draw() for name, draw in CHARTS.items()}
    written = readme(README.read_text(encoding="utf-8"))
    return charts | {DOCS / "charts.css": drawing.style_sheet(), README: written}


if __name__ == "__main__":
    for path, text in outputs().items():
        path.write_text(text, encoding="utf-8")
