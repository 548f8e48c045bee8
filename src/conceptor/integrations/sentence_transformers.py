"""sentence-transformers: a map as the last modules of a model, or inside a static model."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import NDArray
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, StaticEmbedding

from conceptor.base.errors import InvalidInputError
from conceptor.fit import Fitted
from conceptor.integrations.objects import Opened, open_tokens
from conceptor.vectors.files import in_memory

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def open_sentence_transformer(
    model: SentenceTransformer, texts: Sequence[str] | None = None
) -> Opened:
    """Open a model: its table of tokens if it is static, else its vectors of some texts."""
    if texts is not None:
        return _open_with_texts(model, texts)
    static: Any = model[0]
    if not isinstance(static, StaticEmbedding):
        raise InvalidInputError(
            "a SentenceTransformer is fitted to texts; pass hundreds of texts like those it will "
            "encode, as in improve(model, texts=sentences)"
        )
    table = static.embedding.weight.detach().cpu().float().numpy()

    def rebuild(rows: NDArray[Any]) -> SentenceTransformer:
        others = [type(module).__name__ for module in list(model)[1:]]
        if rows.shape[1] != table.shape[1] and set(others) > {"Normalize"}:
            raise InvalidInputError(
                f"{', '.join(others)}: expects vectors of {table.shape[1]} dimensions, not "
                f"{rows.shape[1]}; keep the number of dimensions"
            )
        weights = torch.from_numpy(rows).to(static.embedding.weight)
        new = StaticEmbedding(copy.copy(static.tokenizer), embedding_weights=weights)
        return _with_modules(model, [new, *list(model)[1:]])

    return open_tokens(static.tokenizer, table, rebuild)


def _open_with_texts(model: SentenceTransformer, texts: Sequence[str]) -> Opened:
    """Open a model by its vectors of some texts, which count equally."""
    if isinstance(texts, str) or len(texts) < 2:
        raise InvalidInputError("texts must be a sequence of hundreds of sentences")
    if model.truncate_dim is not None:
        raise InvalidInputError(
            f"this SentenceTransformer truncates to {model.truncate_dim} dimensions; set "
            "truncate_dim to None, and pass n_components instead"
        )
    vectors = model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)

    def rebuild(fitted: Fitted) -> SentenceTransformer:
        modules: list[Any] = list(model)
        has_unit_length = isinstance(modules[-1], Normalize)
        if fitted.map.unit and not has_unit_length:
            modules.append(Normalize())
        weight, bias = fitted.map.as_linear()
        dense = Dense(
            fitted.map.n_in,
            fitted.map.n_out,
            bias=bool(bias.any()),
            activation_function=torch.nn.Identity(),
            init_weight=torch.tensor(weight, dtype=torch.float32),
            init_bias=torch.tensor(bias, dtype=torch.float32),
        )
        modules.append(dense.to(model.device, next(model.parameters()).dtype))
        return _with_modules(model, [*modules, Normalize()] if has_unit_length else modules)

    return Opened(in_memory(None, vectors.astype("float32", copy=False)), rebuild)


def _with_modules(model: SentenceTransformer, modules: Sequence[Any]) -> SentenceTransformer:
    """Return a copy with other modules and the same settings."""
    new = copy.copy(model)
    names = [*model._modules, *map(str, range(len(model), len(modules)))]
    new._modules = dict(zip(names, modules, strict=True))
    return new
