"""gensim: `KeyedVectors`, and models that contain them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.fit import Fitted
from conceptor.integrations.reading import Opened, check_vectors, improve_rows, map_rows
from conceptor.methods import Lengths
from conceptor.vectors.files import as_vectors

# The attributes that a model multiplies with its vectors in training.
_OUTPUT_LAYERS = ("syn1neg", "syn1")


def open_keyed_vectors(kv: Any) -> Opened:  # noqa: ANN401
    """Open vectors by key."""
    rows, columns = kv.vectors.shape
    check_vectors(rows, columns, type(kv).__name__, "add or load some first")
    vectors = as_vectors(kv)
    return Opened(vectors, lambda fitted: _with_vectors(kv, improve_rows(fitted, vectors)))


def open_fasttext_vectors(kv: Any) -> Opened:  # noqa: ANN401
    """Open vectors that are averages of n-grams; a map applies to the n-grams as well."""

    def rebuild(fitted: Fitted) -> Any:  # noqa: ANN401
        new = _with_vectors(kv, kv.vectors)
        new.vectors_vocab = map_rows(fitted, kv.vectors_vocab)
        new.vectors_ngrams = map_rows(fitted, kv.vectors_ngrams)
        new.vector_size = new.vectors_vocab.shape[1]
        new.adjust_vectors()
        return new

    return replace(open_keyed_vectors(kv), rebuild=rebuild, lengths=Lengths.KEPT)


def open_model(model: Any) -> Opened:  # noqa: ANN401
    """Open `Word2Vec` or `FastText`; the vectors are in `wv`.

    The weights that are multiplied with them in training go through the inverse of the map.
    """
    is_fasttext = hasattr(model.wv, "vectors_ngrams")
    opened = (open_fasttext_vectors if is_fasttext else open_keyed_vectors)(model.wv)

    def rebuild(fitted: Fitted) -> Any:  # noqa: ANN401
        new = copy.copy(model)
        new.wv = opened.rebuild(fitted)
        new.vector_size = new.layer1_size = new.wv.vector_size
        for name in _OUTPUT_LAYERS:
            layer = getattr(model, name, None)
            if layer is not None:
                setattr(new, name, fitted.map.dual()(layer))
        return new

    return replace(opened, rebuild=rebuild)


def _with_vectors(kv: Any, vectors: NDArray[Any]) -> Any:  # noqa: ANN401
    """Return a copy that shares no mutable part with the original."""
    new = copy.copy(kv)
    new.index_to_key, new.key_to_index = list(kv.index_to_key), dict(kv.key_to_index)
    new.expandos = {name: np.copy(values) for name, values in kv.expandos.items()}
    new.vectors, new.vector_size, new.norms = vectors, vectors.shape[1], None
    return new
