"""Skip-gram vectors with gensim: vectors that were not used for any choice in this project.

    python benchmarks/skipgram.py corpus.txt vectors.bin [--fasttext]

Settings: 100 dimensions, window 5, five negative samples, two epochs, words that occur 20 times or
more; with --fasttext, character n-grams as well. With two threads the result differs a little from
run to run.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gensim.models import FastText, Word2Vec


class Sentences:
    """Lines as lists of lower-cased words, at most a thousand at a time."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def __iter__(self):  # noqa: ANN204 - gensim accepts any iterable
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                words = re.findall(r"\w+", line.lower())
                for start in range(0, len(words), 1000):
                    yield words[start : start + 1000]


def main(corpus: str, target: str, kind: str = "") -> None:
    settings = {"vector_size": 100, "window": 5, "min_count": 20, "sg": 1, "negative": 5}
    train = FastText if kind == "--fasttext" else Word2Vec
    model = train(Sentences(corpus), workers=2, epochs=2, seed=1, **settings)
    model.wv.save_word2vec_format(target, binary=True)
    print(f"{len(model.wv):,} words")


if __name__ == "__main__":
    main(*sys.argv[1:])
