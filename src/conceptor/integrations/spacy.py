"""spaCy: a vocabulary's table of vectors, a pipeline in memory or on disk, and a component.

Components such as a tagger may have been trained on the table, and changing it would spoil their
predictions. Such a pipeline gets the component `conceptor` instead, which changes only the vectors
that users see.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.base.files import read_object, replace_folder_atomically
from conceptor.base.folders import check_folder, copy_folder, is_for_readers
from conceptor.base.progress import Progress, silent
from conceptor.fit import FitOptions, Fitted, fit_methods
from conceptor.integrations.improving import improve_opened
from conceptor.integrations.reading import Opened, check_vectors, improve_rows, map_rows
from conceptor.integrations.sources import find_pipeline, is_pipeline
from conceptor.methods import Lengths, MethodLike
from conceptor.postprocessing import Report, choose_method
from conceptor.vectors.files import in_memory
from conceptor.vectors.vectors import RowKind, Rows, Vectors, chunk_rows

try:
    import spacy
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import load_config
    from spacy.vectors import Mode
    from spacy.vocab import Vocab
except ImportError:
    raise MissingExtraError("spaCy pipelines", "spacy") from None

# The number of words of a language that a table of n-grams is fitted on.
_FLORET_WORDS = 20_000
_LONGEST_NGRAM = 100
_NAME = "conceptor"
_MAP = "map.safetensors"
# The contents of a saved pipeline besides its components.
_FILES = ("config.cfg", "meta.json", "tokenizer", "vocab", "accuracy.json")


def open_vocab(vocab: Vocab, language: str = "") -> Opened:
    """Open a vocabulary; its table is changed in place."""
    table, language = vocab.vectors, language or vocab.lang or ""
    is_floret = table.mode == Mode.floret
    count = len(table.data) if is_floret else min(len(table.data), len(table.key2row))
    remedy = "load a pipeline that has some, such as one whose name ends in md or lg"
    check_vectors(count, table.data.shape[1], "spaCy vocabulary", remedy)
    data = np.ascontiguousarray(_to_numpy(table.data))
    if not np.isfinite(data).all():
        raise _damaged("its vectors contain NaN or infinity")
    if is_floret:
        # spaCy never writes other settings, and they would take hours.
        if not (0 < table.minn <= table.maxn <= _LONGEST_NGRAM and 1 <= table.hash_count <= 4):
            raise _damaged(f"n-grams of {table.maxn} letters with {table.hash_count} hashes")
        try:
            import wordfreq

            words = list(wordfreq.top_n_list(language, _FLORET_WORDS))
        except ImportError:
            raise MissingExtraError(
                "a table of n-grams (floret) holds no words; a word list", "wordfreq"
            ) from None
        except (LookupError, ValueError):  # not a language of wordfreq
            words = [word for word in vocab.strings if word.isalpha()]
        check_vectors(len(words), 1, "language", "add words to vocab.strings")
        return Opened(
            in_memory(words, _to_numpy(table.get_batch(words)), kind=RowKind.WORDS),
            lambda fitted: _put(vocab, map_rows(fitted, data)),
            lengths=Lengths.KEPT,
        )
    words = [vocab.strings.as_string(key) for key in table.key2row]
    places = np.array(list(table.key2row.values()))
    if places.min() < 0 or places.max() >= len(data):
        raise _damaged(f"a word has row {places.max()} of {len(data)}")

    def read() -> Iterator[Rows]:
        step = chunk_rows(data.shape[1])
        for start in range(0, len(words), step):
            part = slice(start, start + step)
            yield Rows(words[part], data[places[part]])

    name = "the table of vectors"
    vectors = Vectors(name, data.shape[1], read, count=len(words), language=language)
    # In a pruned table many words share a row, which has no length for each.
    is_shared = len(np.unique(places)) < len(places)

    def rebuild(fitted: Fitted) -> Vocab:
        new = fitted.map(data)  # also the rows that no word uses yet
        if not is_shared:
            new[places] = improve_rows(fitted, vectors)
        return _put(vocab, new.astype(data.dtype, copy=False))

    return Opened(vectors, rebuild, lengths=Lengths.UNIT if is_shared else None)


def _damaged(problem: str) -> InvalidInputError:
    return InvalidInputError(f"this spaCy vocabulary is damaged ({problem}); fetch it again")


def _to_numpy(data: Any) -> NDArray[Any]:  # noqa: ANN401
    return np.asarray(data.get() if hasattr(data, "get") else data)  # CuPy's arrays have `get`


def _put(vocab: Vocab, data: NDArray[Any]) -> Vocab:
    """Replace the numbers of the table in the same place: in memory or on a GPU."""
    from thinc.backends import get_array_ops

    vocab.vectors.data = get_array_ops(vocab.vectors.data).asarray(data)
    return vocab


def open_pipeline(nlp: Language) -> Opened:
    """Open a pipeline; its table is changed in place, or the component `conceptor` is added.

    The component is added if other components were trained on the table.
    """
    opened = open_vocab(nlp.vocab, nlp.lang or "")
    names = trained_on_vectors(nlp.config)
    if not names:
        return replace(opened, rebuild=lambda fitted: opened.rebuild(fitted) and nlp)

    def rebuild(fitted: Fitted) -> Language:
        if _NAME not in nlp.pipe_names:
            nlp.add_pipe(_NAME, config={"method": fitted.name})
        component: Any = nlp.get_pipe(_NAME)
        component.set_map(fitted.map)
        return nlp

    remark = f"{_describe(names)}; to change the table itself, pass nlp.vocab"
    return replace(opened, rebuild=rebuild, remarks=(remark,))


def _describe(names: list[str]) -> str:
    return (
        f"{', '.join(names)}: trained on the table of vectors, so it stays as it is; the component "
        f'"{_NAME}" shows the improved vectors'
    )


def trained_on_vectors(config: Mapping[str, Any]) -> list[str]:
    """Return the components whose input includes the table of vectors, directly or through another.

    A listener uses the output of another component.
    """
    trained, listeners = [], []
    for name, component in config.get("components", {}).items():
        blocks = list(_blocks(component))
        architectures = " ".join(str(block.get("@architectures", "")) for block in blocks)
        is_static = any(block.get("include_static_vectors") is True for block in blocks)
        if is_static or "StaticVectors" in architectures:
            trained.append(name)
        elif "Tok2VecListener" in architectures:
            listeners.append(name)
    return trained + listeners if trained else []


def _blocks(part: object) -> Iterator[Mapping[str, Any]]:
    """Yield a block of a configuration and all blocks inside it."""
    if isinstance(part, dict):
        yield part
        for inner in part.values():
            yield from _blocks(inner)


def open_folder(folder: Path) -> Vectors:
    """Open the vectors of a saved pipeline; only its vocabulary is loaded."""
    try:
        vocab = spacy.vocab.Vocab().from_disk(folder / "vocab")
        config = load_config(folder / "config.cfg", interpolate=False)
        return open_vocab(vocab, str(config.get("nlp", {}).get("lang", ""))).vectors
    except ConceptorError:
        raise
    except Exception as error:  # spaCy raises any kind for damaged files
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"{folder}: spaCy cannot read this pipeline ({reason})") from None


def postprocess_folder(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    *,
    force: bool = False,
    progress: Progress = silent,
    **parameters: object,
) -> Report:
    """Write a saved pipeline with improved vectors to another folder; nothing else changes.

    If components were trained on the vectors, it gets the component `conceptor` instead. Only the
    vocabulary is loaded, not the components. The folder may be a package with the pipeline inside.
    """
    source, target = find_pipeline(Path(source)) or Path(source), Path(target)
    options = options or FitOptions()
    files = [each for each in (options.weights, options.vocabulary) if isinstance(each, str | Path)]
    check_folder(target, "spaCy pipeline", parts_of, inputs=[source, *files], force=force)
    try:
        vocab = spacy.vocab.Vocab().from_disk(source / "vocab")
        config = load_config(source / "config.cfg", interpolate=False)
        opened = open_vocab(vocab, str(config.get("nlp", {}).get("lang", "")))
        names = trained_on_vectors(config)
        belongs = _belongs(config)
        meta = read_object(source / "meta.json") if (source / "meta.json").is_file() else {}
        facts = dict(meta.get("vectors") or {})
    except ConceptorError:
        raise
    except Exception as error:  # spaCy raises any kind for damaged files
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"{source}: spaCy cannot read this pipeline ({reason})") from None
    maps: list[AffineMap] = []
    if names:
        shown = replace(opened, rebuild=lambda fitted: maps.append(fitted.map))
        opened = replace(shown, remarks=(_describe(names),))
    _, report = improve_opened(opened, method, options, progress, **parameters)
    with replace_folder_atomically(target) as beside:
        copy_folder(source, beside, belongs, target)
        if names:
            settings = {"factory": _NAME, "method": report.method, "weights": None}
            config["components"][_NAME] = settings
            order = [each for each in config["nlp"]["pipeline"] if each != _NAME]
            config["nlp"]["pipeline"] = [*order, _NAME]
            config.to_disk(beside / "config.cfg", interpolate=False)
            (beside / _NAME).mkdir(exist_ok=True)
            is_floret = vocab.vectors.mode == Mode.floret
            (maps[0].linear() if is_floret else maps[0]).save(beside / _NAME / _MAP)
        else:
            vocab.vectors.to_disk(beside / "vocab")
        if meta:
            meta["vectors"] = facts | {"width": vocab.vectors.shape[1]}
            text = json.dumps(meta, indent=2, ensure_ascii=False)
            (beside / "meta.json").write_text(text, encoding="utf-8")
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
    names = {*_FILES, *config.get("components", {})}
    return lambda path: path.parts[0] in names or is_for_readers(path.name)


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
        # Documents come back from other processes without their hooks.
        self._pipe = nlp.pipe
        nlp.pipe = self.pipe_all

    @property
    def map(self) -> AffineMap:
        """The map, fitted to the table if there is none yet."""
        if self._map is None:
            vectors = open_vocab(self.nlp.vocab, self.nlp.lang or "").vectors
            method = choose_method(self.method, vectors)
            fits = fit_methods(vectors, [method], FitOptions(self.weights), doubts=False)
            self.set_map(fits.methods[str(method)].map)
        assert self._map is not None
        return self._map

    def set_map(self, map_: AffineMap) -> None:
        """Show vectors through this map; for n-grams, without its lengths."""
        is_floret = self.nlp.vocab.vectors.mode == Mode.floret
        self._map = map_.linear() if is_floret else map_

    def __call__(self, doc: Doc) -> Doc:
        """Set the hooks for `vector`, `vector_norm` and `similarity` of a document.

        Call it on a document that was read from bytes or disk: spaCy does not save hooks.
        """
        doc.user_hooks["vector"] = lambda doc: self._vectors(doc).mean(axis=0)
        doc.user_token_hooks["vector"] = lambda token: self._vectors(token.doc, [token.i])[0]
        return doc

    def pipe_all(self, texts: Any, **options: Any) -> Iterator[Any]:  # noqa: ANN401
        """Process texts like `nlp.pipe`, and set the hooks also after several processes."""
        disabled = options.get("disable", ())
        is_on = _NAME in self.nlp.pipe_names and _NAME not in disabled
        # With `as_tuples`, spaCy calls `pipe` again for the documents.
        if not is_on or options.get("as_tuples") or options.get("n_process", 1) == 1:
            yield from self._pipe(texts, **options)
            return
        for doc in self._pipe(texts, **options | {"disable": [*disabled, _NAME]}):
            yield self(doc)

    def _vectors(self, doc: Doc, tokens: Any = slice(None)) -> NDArray[Any]:  # noqa: ANN401
        """Return the vectors of tokens, at least one; those of unknown words stay at zero."""
        vocab = self.nlp.vocab
        keys = doc.to_array([doc.vocab.vectors.attr]).reshape(-1)[tokens]
        mapped = np.zeros((max(len(keys), 1), self.map.n_out), dtype=np.float32)
        if len(keys):
            rows = _to_numpy(vocab.vectors.get_batch(keys))
            places = np.flatnonzero(rows.any(axis=1))
            words = [vocab.strings[int(keys[place])] for place in places]
            mapped[places] = self.map.map_words(words, rows[places])
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

    def to_bytes(self, *, exclude: object = ()) -> bytes:
        """Return the map as bytes."""
        with TemporaryDirectory() as folder:
            self.to_disk(Path(folder))
            return (Path(folder) / _MAP).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: object = ()) -> VectorComponent:
        """Load the map from bytes."""
        with TemporaryDirectory() as folder:
            (Path(folder) / _MAP).write_bytes(data)
            return self.from_disk(Path(folder))
