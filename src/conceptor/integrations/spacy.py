"""spaCy: a vocabulary's table of vectors, a pipeline in memory or on disk, and a component.

Components such as a tagger may have been trained on the table. Changing it changes their
predictions, so a remark warns about it. The component `conceptor` changes only the vectors that
users see.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.lengths import Lengths
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import name_in_errors, read_object, replace_folder_atomically
from conceptor.base.folders import check_folder, copy_folder, is_for_readers
from conceptor.base.progress import silent
from conceptor.fitting import FitOptions
from conceptor.integrations.improving import improve_opened
from conceptor.integrations.opened import Opened, check_vectors, improve_rows, map_rows
from conceptor.integrations.spacy_folders import find_pipeline, is_pipeline
from conceptor.vectors.source import BLOCK_BYTES
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowKind, Vectors

try:
    import spacy
    from spacy.language import Language
    from spacy.util import load_config
    from spacy.vectors import Mode
except ImportError:
    raise MissingExtraError("spaCy pipelines", "spacy") from None

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray
    from spacy.tokens import Doc, Token
    from spacy.vocab import Vocab

    from conceptor.base.progress import Progress
    from conceptor.fitting import Fitted
    from conceptor.methods import MethodLike
    from conceptor.postprocessing import Report

# The number of words of a language that a table of n-grams is fitted on.
_FLORET_WORDS = 20_000
_LONGEST_NGRAM = 100
_MAP = "map.safetensors"
# The contents of a saved pipeline besides its components.
_FILES = ("config.cfg", "meta.json", "tokenizer", "vocab", "accuracy.json")


class TableVectors(Vectors):
    """The words of a table and their vectors; in a pruned table, many words share a row."""

    name = "the table of vectors"
    dimension = 0
    language = ""

    def __init__(
        self, words: list[str], data: NDArray[Any], places: NDArray[np.intp], language: str
    ) -> None:
        self.words, self._data, self._places = words, data, places
        self.dimension, self.language = data.shape[1], language

    @property
    def count(self) -> int:
        """The number of words."""
        return len(self.words)

    def chunks(self) -> Iterator[tuple[list[str], NDArray[Any]]]:
        """Yield words and rows in table order: frequent words first if it is sorted."""
        step = max(1, BLOCK_BYTES // (4 * self.dimension))
        for start in range(0, len(self.words), step):
            part = slice(start, start + step)
            yield self.words[part], self._data[self._places[part]]


def open_vocab(vocab: Vocab, language: str = "") -> Opened:
    """Open a vocabulary; its table is changed in place."""
    table = vocab.vectors
    if table.data.ndim != 2 or table.data.dtype.kind not in "fiu":
        raise InvalidInputError(
            f"the vectors of this spaCy vocabulary are an array of {table.data.dtype} of shape "
            f"{table.data.shape}; expected a matrix of numbers"
        )
    rows, columns = table.shape if table.size else (0, 0)
    remedy = "load a pipeline that has some, such as one whose name ends in md or lg"
    check_vectors(rows, columns, "spaCy vocabulary", remedy)
    language = language or vocab.lang or ""
    data = np.ascontiguousarray(_to_numpy(table.data))
    if not np.isfinite(data).all():
        raise InvalidInputError("the vectors of this vocabulary contain NaN or infinity")
    if table.mode == Mode.floret:
        _check_ngrams(table)
        words = _words_of_language(vocab, language)
        composed = WordVectors(words, _to_numpy(table.get_batch(words)), kind=RowKind.WORDS)
        return Opened(
            composed,
            lambda fitted: _put(vocab, map_rows(fitted, data)),
            needs_map=True,
            lengths=Lengths.KEPT,
        )
    words = _words_of_rows(vocab)
    check_vectors(len(words), columns, "spaCy vocabulary", remedy)
    places = np.array(list(table.key2row.values()))
    if places.min() < 0 or places.max() >= rows:
        raise InvalidInputError(
            f"a word of this spaCy vocabulary has row {places.max()} of {rows}; fetch it again"
        )
    vectors = TableVectors(words, data, places, language)
    is_shared = len(np.unique(places)) < len(places)

    def rebuild(fitted: Fitted) -> Vocab:
        if is_shared:  # a row of several words has no length for each
            return _put(vocab, fitted.map(data))
        moved = improve_rows(fitted, vectors)
        new = np.zeros((rows, moved.shape[1]), dtype=data.dtype)
        if fitted.is_map and len(places) < rows:  # rows that no word uses yet
            new[:] = fitted.map(data)
        new[places] = moved
        return _put(vocab, new)

    return Opened(
        vectors, rebuild, needs_map=is_shared, lengths=Lengths.UNIT if is_shared else None
    )


def _words_of_rows(vocab: Vocab) -> list[str]:
    """Return the word of each row that has one; raise for a row whose key is damaged."""
    for key in (keys := vocab.vectors.key2row):
        is_hash = isinstance(key, int) and 0 <= key < 1 << 64
        if not is_hash or key not in vocab.strings:
            raise InvalidInputError(
                f"a row of this spaCy vocabulary belongs to no word (its key is {key!r}); fetch "
                "it again"
            )
    return [vocab.strings[key] for key in keys]


def open_pipeline(nlp: Language) -> Opened:
    """Open a pipeline; its vocabulary's table is changed in place."""
    opened = _open_trained(nlp.vocab, nlp.lang or "", nlp.config)
    return replace(opened, rebuild=lambda fitted: opened.rebuild(fitted) and nlp)


def _open_trained(vocab: Vocab, language: str, config: Mapping[str, Any]) -> Opened:
    """Open a vocabulary that components may have been trained on."""
    opened = open_vocab(vocab, language)
    trained, width = trained_on_vectors(config), vocab.vectors.shape[1]
    if not trained:
        return opened

    def rebuild(fitted: Fitted) -> object:
        if fitted.n_out not in (None, width):
            raise InvalidInputError(
                f"{', '.join(trained)}: trained on vectors of {width} dimensions, not "
                f"{fitted.n_out}; keep the number of dimensions, or remove these components"
            )
        return opened.rebuild(fitted)

    remark = (
        f"{', '.join(trained)}: trained on the original vectors, so predictions may change; "
        'train again, or add the component "conceptor" instead, which does not change the '
        "table"
    )
    return replace(opened, rebuild=rebuild, remarks=(remark,))


def postprocess_folder(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    *,
    force: bool = False,
    progress: Progress = silent,
) -> Report:
    """Write a saved pipeline with improved vectors to another folder; nothing else changes.

    Only the vocabulary is loaded, not the components. The folder may be a package that contains
    the pipeline.
    """
    source, target = find_pipeline(Path(source)) or Path(source), Path(target)
    given = options or FitOptions()
    read = [each for each in (given.weights, given.vocabulary) if isinstance(each, str | Path)]
    check_folder(target, "spaCy pipeline", parts_of, inputs=[source, *read], force=force)
    try:
        vocab = spacy.vocab.Vocab().from_disk(source / "vocab")
        config = load_config(source / "config.cfg", interpolate=False)
        language = str(config.get("nlp", {}).get("lang", ""))
        belongs = _belongs(config)
    except Exception as error:  # spaCy raises any kind for damaged files
        said = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"{source}: spaCy cannot read this pipeline ({said})") from None
    meta = _read_meta(source / "meta.json")
    opened = _open_trained(vocab, language, config)
    _, report = improve_opened(opened, method, options, "pipeline", progress)
    with replace_folder_atomically(target) as beside:
        copy_folder(source, beside, belongs, target)
        with name_in_errors(target):
            vocab.vectors.to_disk(beside / "vocab")
            if meta is not None:
                meta.setdefault("vectors", {})["width"] = vocab.vectors.shape[1]
                said = json.dumps(meta, indent=2, ensure_ascii=False)
                (beside / "meta.json").write_text(said, encoding="utf-8")
    return report


def parts_of(folder: Path) -> Callable[[Path], bool] | None:
    """Return the files of a saved pipeline in its folder; None if it is not a pipeline."""
    if not is_pipeline(folder):
        return None
    try:
        return _belongs(load_config(folder / "config.cfg", interpolate=False))
    except Exception:  # spaCy raises any kind for damaged files
        return None


def _belongs(config: Mapping[str, Any]) -> Callable[[Path], bool]:
    known = {*_FILES, *config.get("components", {})}
    return lambda path: path.parts[0] in known or is_for_readers(path.name)


def _read_meta(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    meta = read_object(path)
    if not isinstance(meta.get("vectors", {}), dict):
        raise InvalidInputError(f"{path}: its vectors are not an object; fetch it again")
    return meta


def trained_on_vectors(config: Mapping[str, Any]) -> list[str]:
    """Return the components whose input includes the table of vectors, directly or through another.

    A listener uses the output of another component.
    """
    components: Mapping[str, Any] = config.get("components", {})
    found = [name for name, part in components.items() if _has(part, _takes_vectors)]
    if found:
        listening = [name for name, part in components.items() if _has(part, _listens)]
        found += [name for name in listening if name not in found]
    return found


def _takes_vectors(part: Mapping[str, Any]) -> bool:
    return part.get("include_static_vectors") is True or "StaticVectors" in str(
        part.get("@architectures", "")
    )


def _listens(part: Mapping[str, Any]) -> bool:
    return "Tok2VecListener" in str(part.get("@architectures", ""))


def _has(part: object, wanted: Callable[[Mapping[str, Any]], bool]) -> bool:
    if not isinstance(part, dict):
        return False
    return wanted(part) or any(_has(inner, wanted) for inner in part.values())


def _words_of_language(vocab: Vocab, language: str) -> list[str]:
    """Return frequent words of a language, to fit a table of n-grams, which has no words."""
    if find_spec("wordfreq") is None:
        raise MissingExtraError(
            "a table of n-grams (floret) holds no words; a word list", "wordfreq"
        )
    import wordfreq

    with suppress(LookupError, ValueError):
        return list(wordfreq.top_n_list(language, _FLORET_WORDS))
    words = [word for word in vocab.strings if word.isalpha()]
    if not words:
        raise InvalidInputError(
            f"a table of n-grams (floret) holds no words, and there is no word list for the "
            f"language {language!r}; add words to vocab.strings"
        )
    return words


def _check_ngrams(table: Any) -> None:  # noqa: ANN401
    """Raise for settings that spaCy never writes and that would take hours."""
    if not (0 < table.minn <= table.maxn <= _LONGEST_NGRAM and 1 <= table.hash_count <= 4):
        raise InvalidInputError(
            f"this table of n-grams (floret) claims {table.minn} to {table.maxn} letters and "
            f"{table.hash_count} hashes; it is damaged, so fetch it again"
        )


def _keys(doc: Doc) -> NDArray[Any]:
    """Return the attribute that tokens are looked up by in the table."""
    found: NDArray[Any] = doc.to_array([doc.vocab.vectors.attr])
    return found.reshape(-1)


def _to_numpy(data: Any) -> NDArray[Any]:  # noqa: ANN401
    return np.asarray(data.get() if hasattr(data, "get") else data)  # CuPy's arrays have `get`


def _put(vocab: Vocab, data: NDArray[Any]) -> Vocab:
    """Replace the numbers of the table in the same place: in memory or on a GPU."""
    from thinc.backends import get_array_ops

    vocab.vectors.data = get_array_ops(vocab.vectors.data).asarray(data)
    return vocab


def make_component(nlp: Language, name: str, method: str, weights: str | None) -> VectorComponent:
    """Make the component for a pipeline's configuration."""
    return VectorComponent(nlp, method, weights)


Language.factory("conceptor", default_config={"method": "cn", "weights": None}, func=make_component)


class VectorComponent:
    """Shows improved vectors on documents, spans and tokens; the table does not change.

    So the predictions of components trained on the table stay the same. The map is fitted to the
    table when it is first needed, and saved with the pipeline.
    """

    def __init__(self, nlp: Language, method: str = "cn", weights: str | None = None) -> None:
        self.nlp, self.method, self.weights = nlp, method, weights
        self._map: AffineMap | None = None

    @property
    def map(self) -> AffineMap:
        """The map, fitted to the table if there is none yet."""
        if self._map is None:
            opened = open_vocab(self.nlp.vocab, self.nlp.lang or "")
            is_floret = self.nlp.vocab.vectors.mode == Mode.floret
            fit = replace(opened, rebuild=lambda fitted: fitted.map, needs_map=True, remarks=())
            found, _ = improve_opened(fit, self.method, FitOptions(self.weights), "component")
            assert isinstance(found, AffineMap)
            self._map = found.linear() if is_floret else found
        return self._map

    def __call__(self, doc: Doc) -> Doc:
        """Set the hooks for `vector`, `vector_norm` and `similarity` of a document."""
        doc.user_hooks["vector"] = lambda doc: self._vectors(_keys(doc)).mean(axis=0)
        doc.user_token_hooks["vector"] = self._token_vector
        return doc

    def _token_vector(self, token: Token) -> NDArray[Any]:
        row: NDArray[Any] = self._vectors(_keys(token.doc)[token.i : token.i + 1])[0]
        return row

    def _vectors(self, keys: NDArray[Any]) -> NDArray[Any]:
        """Return the vectors of some words, at least one; those of unknown words stay at zero."""
        mapped = np.zeros((max(len(keys), 1), self.map.n_out), dtype=np.float32)
        if len(keys):
            rows = _to_numpy(self.nlp.vocab.vectors.get_batch(keys))
            known = np.flatnonzero(rows.any(axis=1))
            words = [self.nlp.vocab.strings[int(keys[row])] for row in known]
            mapped[known] = self.map.map_words(words, rows[known])
        return mapped

    def to_disk(self, path: Path, *, exclude: object = ()) -> None:
        """Save the map."""
        path = Path(path)
        path.mkdir(exist_ok=True)
        self.map.save(path / _MAP)

    def from_disk(self, path: Path, *, exclude: object = ()) -> VectorComponent:
        """Load the map."""
        self._map = AffineMap.load(Path(path) / _MAP)
        return self
