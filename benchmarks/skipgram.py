"""Skip-gram vectors with gensim: vectors that were not used for any choice in this project.

    python benchmarks/skipgram.py corpus.txt vectors.bin [--fasttext] [--every N]

Settings: 100 dimensions, window 5, five negative samples, two epochs, words that occur 20 times or
more; with --fasttext, character n-grams as well. With --every, every Nth line is read. With two
threads the result differs a little from run to run.
"""

from __future__ import annotations

import argparse
import re
from itertools import islice
from pathlib import Path

from gensim.models import FastText, Word2Vec


class Sentences:
    """Every Nth line as lists of lower-cased words, at most a thousand at a time."""

    def __init__(self, path: Path, every: int) -> None:
        self.path, self.every = path, every

    def __iter__(self):  # noqa: ANN204 - gensim accepts any iterable
        with self.path.open(encoding="utf-8") as lines:
            for line in islice(lines, 0, None, self.every):
                words = re.findall(r"\w+", line.lower())
                for start in range(0, len(words), 1000):
                    yield words[start : start + 1000]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("target")
    parser.add_argument("--fasttext", action="store_true")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    options = parser.parse_args()
    settings = {"vector_size": 100, "window": 5, "min_count": 20, "sg": 1, "negative": 5}
    train = FastText if options.fasttext else Word2Vec
    sentences = Sentences(options.corpus, options.every)
    model = train(sentences, workers=2, epochs=2, seed=1, **settings)
    model.wv.save_word2vec_format(options.target, binary=True)
    print(f"{len(model.wv):,} words")


if __name__ == "__main__":
    main()
