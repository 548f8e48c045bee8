"""model2vec: static models, which encode a sentence as the average of its token vectors."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.integrations.reading import Opened, check_vectors, open_tokens

if TYPE_CHECKING:
    from model2vec import StaticModel


def open_static_model(model: StaticModel) -> Opened:
    """Open a model's table of tokens.

    In a vocabulary-quantised model tokens share rows and have weights; afterwards each has a row.
    """
    table: NDArray[Any] = model.embedding
    if model.token_mapping is not None:
        table = table[model.token_mapping]
    if table.dtype.kind != "f":  # int8; its scale does not matter
        table = table.astype(np.float32)
    if model.weights is not None:
        table = table * np.asarray(model.weights, dtype=table.dtype)[:, np.newaxis]
    check_vectors(len(table), table.shape[1], "StaticModel", "load or distill one first")

    def rebuild(rows: NDArray[Any]) -> StaticModel:
        new = copy.copy(model)
        new.embedding = rows.astype(table.dtype, copy=False)
        new.weights = new.token_mapping = None
        new.config = copy.copy(model.config)
        return new

    return open_tokens(model.tokenizer, table, rebuild)
