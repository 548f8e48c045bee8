"""One call for vectors as other libraries hold them."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from conceptor.algebra.methods import Recipe, Words, with_dimensions
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.fitting import FitOptions
from conceptor.integrations.registry import find_adapter, kinds
from conceptor.pipeline import describe_method, fit_doubting, method_chain, moves_single_words
from conceptor.vectors.conversion import Report

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.methods import LexiconRecipe
    from conceptor.base.progress import Progress
    from conceptor.integrations.opened import Opened
    from conceptor.weights import Weights

Kind = TypeVar("Kind")


@overload
def improve(
    x: Kind,
    method: str | Recipe | LexiconRecipe | None = ...,
    *,
    weights: Weights | str | os.PathLike[str] | Mapping[str, float] | None = ...,
    n_components: int | None = ...,
    texts: Sequence[str] | None = ...,
    return_report: Literal[False] = ...,
) -> Kind: ...
@overload
def improve(
    x: Kind,
    method: str | Recipe | LexiconRecipe | None = ...,
    *,
    weights: Weights | str | os.PathLike[str] | Mapping[str, float] | None = ...,
    n_components: int | None = ...,
    texts: Sequence[str] | None = ...,
    return_report: Literal[True],
) -> tuple[Kind, Report]: ...
def improve(
    x: Any,
    method: str | Recipe | LexiconRecipe | None = None,
    *,
    weights: Weights | str | os.PathLike[str] | Mapping[str, float] | None = None,
    n_components: int | None = None,
    texts: Sequence[str] | None = None,
    return_report: bool = False,
) -> Any:
    """Improve vectors, however they are held; the same kind comes back as went in.

    With the defaults of the command line, and bit for bit what `postprocess` writes for the same
    vectors in an `.npy`, `.safetensors` or Parquet file.

    Parameters
    ----------
    x
        gensim `KeyedVectors`, `Word2Vec` or `FastText`; `(words, array)`; a mapping of words to
        vectors; a pandas or Polars `DataFrame` or an Arrow `Table` with a word for each row;
        `WordVectors`; a spaCy `Vocab` or pipeline, which is changed in place; a model2vec
        `StaticModel`; a `SentenceTransformer`; an array; or a file, which gives `WordVectors`.
    method
        A name (`cn`, `abtt:n_directions=3`), a chain (`cn+counterfit`) or a recipe. By default
        `cn`; `cn:unit=false` for static models, `gentle` for embeddings of texts and arrays.
    weights
        How often words are used, as for `FitOptions`. By default by counts that `x` holds, else by
        rank if the words are sorted by frequency.
    n_components
        Keep so many dimensions: the leading ones of what the method leaves.
    texts
        Sentences to fit a `SentenceTransformer` to, unless it averages static vectors.
    return_report
        Return what was done as well. Otherwise what is odd about the vectors is a warning.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).standard_normal((100, 5)) + 2
    >>> words, better = improve(([f"w{i}" for i in range(100)], vectors), "abtt")
    >>> bool(np.allclose(better.mean(axis=0), 0))
    True
    """
    adapter = find_adapter(x)
    opened = adapter(x) if texts is None else _open_with_texts(adapter, x, texts)
    chosen = method or opened.method
    if n_components is not None:
        chosen = _with_components(chosen, n_components)
    better, report = improve_opened(opened, chosen, FitOptions(weights), type(x).__name__)
    if return_report:
        return better, report
    for remark in report.remarks:
        warnings.warn(remark, stacklevel=2)
    return better


def improve_opened(
    opened: Opened,
    method: str | Recipe | LexiconRecipe,
    options: FitOptions | None = None,
    kind: str = "object",
    progress: Progress = silent,
) -> tuple[object, Report]:
    """Improve what an adapter has opened; errors call it a `kind`."""
    started = time.perf_counter()
    name, chain = method_chain(method)
    options = options or FitOptions()
    usage = [step for step in chain if isinstance(step, Recipe) and step.words is Words.USAGE]
    if options.weights is None and usage:
        options = replace(options, weights=opened.weights)
    elif options.weights is not None and not usage:
        raise InvalidInputError(
            f"weights do not apply to {name}, which counts each word once; leave them out, or use "
            "cn or zipf-whitening"
        )
    if opened.needs_map and moves_single_words(chain):
        raise InvalidInputError(
            f"{name} moves single words, and several share the vectors of this {kind}; use a "
            "method that is a map of all vectors, such as cn"
        )
    found, doubts = fit_doubting(opened.vectors, name, chain, options, progress)
    fitted = found.methods[name]
    better = opened.rebuild(fitted)
    report = Report(words=found.count, dimension=fitted.n_out or opened.vectors.dimension)
    report.seconds = time.perf_counter() - started
    report.remarks = [*opened.remarks, *found.cautions, *doubts]
    return better, describe_method(report, found, name)


def _open_with_texts(adapter: Any, x: object, texts: Sequence[str]) -> Any:  # noqa: ANN401
    if "sentence_transformers.SentenceTransformer" not in kinds(x):
        raise InvalidInputError(
            f"texts are for a SentenceTransformer, not for a {type(x).__name__}; leave them out"
        )
    return adapter(x, texts)


def _with_components(method: Any, n_components: int) -> Any:  # noqa: ANN401
    """Give a method so many dimensions."""
    if isinstance(method, str):
        return with_dimensions(method, n_components)
    return method.with_parameters(n_components=n_components)
