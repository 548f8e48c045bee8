"""spaCy: a vocabulary's table of vectors, a pipeline in memory, and a component.

Components such as a tagger may have been trained on the table, and changing it would spoil their
predictions. Such a pipeline gets the component `conceptor` instead, which changes only the vectors
that users see.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.fit import FitOptions, Fitted, fit_methods
from conceptor.integrations.objects import Opened, improve_rows
from conceptor.methods import Lengths
from conceptor.postprocessing import choose_method
from conceptor.vectors.vectors import Rows, Vectors, chunk_rows

try:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.vectors import Mode
    from spacy.vocab import Vocab
except ImportError:
    raise MissingExtraError("spaCy pipelines", "spacy") from None

_NAME = "conceptor"
_MAP = "map.safetensors"


def open_vocab(vocab: Vocab, language: str = "") -> Opened:
    """Open a vocabulary; its table is changed in place."""
    table = vocab.vectors
    if table.mode == Mode.floret:
        raise InvalidInputError("this spaCy vocabulary has n-grams (floret) instead of words")
    if not (table.data.size and len(table.key2row)):
        raise InvalidInputError(
            "this spaCy vocabulary has no vectors; load a pipeline that has some, such as one "
            "whose name ends in md or lg"
        )
    data = np.ascontiguousarray(_to_numpy(table.data))
    if not np.isfinite(data).all():
        raise InvalidInputError("the vectors of this spaCy vocabulary contain NaN or infinity")
    words = [vocab.strings.as_string(key) for key in table.key2row]
    places = np.array(list(table.key2row.values()))
    if places.min() < 0 or places.max() >= len(data):
        raise InvalidInputError("words of this spaCy vocabulary have no row; fetch it again")

    def read() -> Iterator[Rows]:
        step = chunk_rows(data.shape[1])
        for start in range(0, len(words), step):
            part = slice(start, start + step)
            yield Rows(words[part], data[places[part]])

    name, language = "the table of vectors", language or vocab.lang or ""
    vectors = Vectors(name, data.shape[1], read, count=len(words), language=language)
    # In a pruned table many words share a row, which has no length for each.
    is_shared = len(np.unique(places)) < len(places)

    def rebuild(fitted: Fitted) -> Vocab:
        new = fitted.map(data)  # also the rows that no word uses yet
        if not is_shared:
            new[places] = improve_rows(fitted, vectors)
        return _put(vocab, new.astype(data.dtype, copy=False))

    return Opened(vectors, rebuild, lengths=Lengths.UNIT if is_shared else None)


def _to_numpy(data: Any) -> NDArray[Any]:  # noqa: ANN401
    return np.asarray(data.get() if hasattr(data, "get") else data)  # CuPy's arrays have `get`


def _put(vocab: Vocab, data: NDArray[Any]) -> Vocab:
    """Replace the numbers of the table in the same place: in memory or on a GPU."""
    from thinc.backends import get_array_ops

    vocab.vectors.data = get_array_ops(vocab.vectors.data).asarray(data)
    return vocab


def open_pipeline(nlp: Language) -> Opened:
    """Open a pipeline; the component is added if other components were trained on the table."""
    opened = open_vocab(nlp.vocab, nlp.lang or "")
    names = trained_on_vectors(nlp.config)
    if not names:
        return replace(opened, rebuild=lambda fitted: opened.rebuild(fitted) and nlp)

    def rebuild(fitted: Fitted) -> Language:
        if _NAME not in nlp.pipe_names:
            nlp.add_pipe(_NAME, config={"method": fitted.name})
        component: Any = nlp.get_pipe(_NAME)
        component.fitted = fitted.map
        return nlp

    remark = (
        f"{', '.join(names)}: trained on the table of vectors, so it stays as it is; the component "
        f'"{_NAME}" shows the improved vectors; to change the table itself, pass nlp.vocab'
    )
    return replace(opened, rebuild=rebuild, remarks=(remark,))


def trained_on_vectors(config: Mapping[str, Any]) -> list[str]:
    """Return the components whose input includes the table of vectors.

    A listener uses the output of another component.
    """
    trained, listeners = [], []
    for name, component in config.get("components", {}).items():
        text = json.dumps(component, default=str)
        if '"include_static_vectors": true' in text or "StaticVectors" in text:
            trained.append(name)
        elif "Tok2VecListener" in text:
            listeners.append(name)
    return trained + listeners if trained else []


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
        self.fitted: AffineMap | None = None
        # Documents come back from other processes without their hooks.
        self._pipe = nlp.pipe
        nlp.pipe = self.pipe_all

    @property
    def map(self) -> AffineMap:
        """The map, fitted to the table if there is none yet."""
        if self.fitted is None:
            vectors = open_vocab(self.nlp.vocab, self.nlp.lang or "").vectors
            method = choose_method(self.method, vectors)
            fits = fit_methods(vectors, [method], FitOptions(self.weights), doubts=False)
            self.fitted = fits.methods[str(method)].map
        return self.fitted

    def __call__(self, doc: Doc) -> Doc:
        """Set the hooks for `vector`, `vector_norm` and `similarity` of a document.

        Call it on a document that was read from bytes or disk: spaCy does not save hooks.
        """
        doc.user_hooks["vector"] = lambda doc: self._vectors(doc).mean(axis=0)
        # A document remembers the norm from before it had hooks, and `similarity` divides by it.
        doc.user_hooks["vector_norm"] = lambda doc: float(np.linalg.norm(doc.vector))
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
        """Save the map in a folder."""
        Path(path).mkdir(exist_ok=True)
        self.map.save(Path(path) / _MAP)

    def from_disk(self, path: Path, *, exclude: object = ()) -> VectorComponent:
        """Load the map from a folder."""
        self.fitted = AffineMap.load(Path(path) / _MAP)
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
