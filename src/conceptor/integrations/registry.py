"""Find the adapter for an object; other packages add adapters as entry points.

A kind is `package.Class`: the first part of the module that defines a class, and the class's name.
An object's class comes first, then its base classes. A package adds an adapter with

    [project.entry-points."conceptor.adapters"]
    "package.Class" = "package.module:open_class"

where `open_class(x)` returns a `conceptor.integrations.opened.Opened`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError
from conceptor.base.registry import load_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from conceptor.integrations.opened import Opened

    Adapter = Callable[..., Opened]

GROUP = "conceptor.adapters"
# The module and function for each kind.
ADAPTERS = {
    "conceptor.WordVectors": "tables:open_word_vectors",
    "builtins.tuple": "tables:open_pair",
    "builtins.dict": "tables:open_dict",
    "builtins.str": "tables:open_path",
    "pathlib.PurePath": "tables:open_path",
    "numpy.ndarray": "tables:open_array",
    "gensim.KeyedVectors": "gensim:open_keyed_vectors",
    "gensim.FastTextKeyedVectors": "gensim:open_fasttext_vectors",
    "gensim.Word2Vec": "gensim:open_model",
    "pandas.DataFrame": "pandas:open_frame",
    "polars.DataFrame": "polars:open_frame",
    "pyarrow.Table": "arrow:open_arrow_table",
    "spacy.Vocab": "spacy:open_vocab",
    "spacy.Language": "spacy:open_pipeline",
    "model2vec.StaticModel": "model2vec:open_static_model",
    "sentence_transformers.SentenceTransformer": "sentence_transformers:open_sentence_transformer",
}
# The kinds whose adapters take the name of a column.
TABLES = frozenset({"pandas.DataFrame", "polars.DataFrame", "pyarrow.Table"})
_SAVE_FIRST = (
    'its vectors cannot be changed in memory; save it with save_model("model.bin"), then '
    'conceptor.postprocess("model.bin", "better.bin")'
)
_REFUSED = {
    "fasttext._FastText": f"a model of the fasttext library: {_SAVE_FIRST}",
    "fasttext_pybind.fasttext": f"a model of the fasttext library: {_SAVE_FIRST}",
    "floret._floret": "a model of the floret library: train a spaCy pipeline on its vectors, and "
    "pass the pipeline",
}


def find_adapter(x: object) -> Adapter:
    """Return the function that opens an object; raise for an unknown kind."""
    for kind in kinds(x):
        if kind in ADAPTERS:
            module, _, name = ADAPTERS[kind].partition(":")
            found: Any = getattr(import_module(f"conceptor.integrations.{module}"), name)
            return found  # type: ignore[no-any-return]
        if kind in _REFUSED:
            raise InvalidInputError(_REFUSED[kind])
        if kind != "builtins.object":
            for adapter in load_entries(GROUP, kind):
                return adapter  # type: ignore[no-any-return]
    known = ", ".join(sorted(ADAPTERS))
    raise InvalidInputError(f"improve does not support {type(x).__name__}; it takes {known}")


def kinds(x: object) -> list[str]:
    """Return the kinds of an object, the most specific first."""
    return [f"{c.__module__.partition('.')[0]}.{c.__qualname__}" for c in type(x).__mro__]
