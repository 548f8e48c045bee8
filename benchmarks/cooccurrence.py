"""Speed of counting: this library against other tools.

    python benchmarks/cooccurrence.py [corpus.txt]

Without a corpus, the news stories in gensim's wheel are repeated to two million tokens (which
favours no tool: there are few distinct pairs). All run in this process, one after another; compare
the ratios. Two steps are timed, because the other tools do only one:

- vocabulary: from a text file to words and their counts;
- pairs: from a text file to weighted co-occurrences within five tokens of each other.

scikit-learn has no windowed counting; the usual substitute is sparse one-hot products of the
shifted token sequence. gensim's WordOccurrenceAccumulator counts windows that hold both words (for
topic coherence). Both are given the vocabulary beforehand, which is not timed. Hyperwords is
described as scripts that write every pair to a file and count with `sort | uniq -c`; its row is a
dictionary of pairs in memory, which is faster. The last two get less text.
"""

from __future__ import annotations

import argparse
import itertools
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.paper.ppmi import cooccurrence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WINDOW = 5
MIN_COUNT = 5
TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
SLOW_TOKENS = 300_000


def lines_of(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from lines


def tokens_of(path: Path) -> Iterator[list[str]]:
    for line in lines_of(path):
        yield TOKEN.findall(line.lower())


def vocabulary_sklearn(path: Path) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    counted = CountVectorizer(token_pattern=TOKEN.pattern).fit_transform(lines_of(path))
    counted.sum(axis=0)


def vocabulary_gensim(path: Path) -> None:
    from gensim.corpora import Dictionary

    Dictionary(tokens_of(path), prune_at=None)


def vocabulary_python(path: Path) -> None:
    Counter(itertools.chain.from_iterable(tokens_of(path)))


def pairs_here(path: Path, threads: int | None = None) -> None:
    cooccurrence(path, window=WINDOW, min_count=MIN_COUNT, threads=threads)


def pairs_sparse(path: Path, words: list[str]) -> None:
    from scipy import sparse

    known = {word: number for number, word in enumerate(words)}
    numbers = [known.get(t, -1) for line in tokens_of(path) for t in [*line, *[""] * WINDOW]]
    numbers = np.array(numbers)
    here = numbers >= 0
    places = np.flatnonzero(here)
    one_hot = sparse.csr_array(
        (np.ones(len(places)), (places, numbers[here])), shape=(len(numbers), len(known))
    )
    total = sparse.csr_array((len(known), len(known)))
    for k in range(1, WINDOW + 1):
        total += (WINDOW - k + 1) / WINDOW * (one_hot[:-k].T @ one_hot[k:])
    total + total.T


def pairs_gensim(path: Path, words: list[str]) -> None:
    from gensim.corpora import Dictionary
    from gensim.topic_coherence.text_analysis import WordOccurrenceAccumulator

    dictionary = Dictionary([words])
    accumulator = WordOccurrenceAccumulator(set(dictionary), dictionary)
    accumulator.accumulate(tokens_of(path), 2 * WINDOW + 1)


def pairs_python(path: Path) -> None:
    pairs: Counter[tuple[str, str]] = Counter()
    for line in tokens_of(path):
        for i, word in enumerate(line):
            for k, other in enumerate(line[i + 1 : i + 1 + WINDOW]):
                pairs[word, other] += WINDOW - k


def timed(function: Callable[[Path], object], path: Path, repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        function(path)
        best = min(best, time.perf_counter() - started)
    return best


def cut(path: Path, target: Path, tokens: int) -> int:
    """Write the first lines of a file, up to a number of tokens; return how many."""
    written = 0
    with target.open("w", encoding="utf-8") as out:
        for line in lines_of(path):
            out.write(line)
            written += len(TOKEN.findall(line))
            if written >= tokens:
                break
    return written


def default_corpus(target: Path, tokens: int) -> None:
    import gensim

    story = Path(gensim.__file__).parent / "test/test_data/lee_background.cor"
    text = story.read_text(encoding="utf-8")
    target.write_text(text * (1 + tokens // len(TOKEN.findall(text))), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        corpus = options.corpus
        if corpus is None:
            corpus = Path(name) / "whole.txt"
            default_corpus(corpus, options.tokens)
        path, short = Path(name) / "text.txt", Path(name) / "short.txt"
        tokens = cut(corpus, path, options.tokens)
        few = cut(corpus, short, SLOW_TOKENS)
        common = cooccurrence(short, min_count=MIN_COUNT).words  # compiles, too
        words = cooccurrence(path, min_count=MIN_COUNT).words
        rows = [
            ("vocabulary", "scikit-learn CountVectorizer", vocabulary_sklearn, path, tokens),
            ("vocabulary", "gensim Dictionary", vocabulary_gensim, path, tokens),
            ("vocabulary", "collections.Counter", vocabulary_python, path, tokens),
            ("pairs", "conceptor", pairs_here, path, tokens),
            ("pairs", "conceptor, one thread", lambda p: pairs_here(p, 1), path, tokens),
            ("pairs", "scipy, sparse one-hot", lambda p: pairs_sparse(p, words), path, tokens),
            ("pairs", "Counter of pairs (Hyperwords)", pairs_python, short, few),
            ("pairs", "gensim accumulator", lambda p: pairs_gensim(p, common), short, few),
        ]
        print("| step | tool | tokens | seconds | million tokens a minute |")
        print("| --- | --- | ---: | ---: | ---: |")
        for step, tool, function, text, count in rows:
            repeats = options.repeats if text is path else 1
            seconds = timed(function, text, repeats)
            speed = count / seconds * 60 / 1e6
            print(f"| {step} | {tool} | {count:,} | {seconds:.2f} | {speed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
