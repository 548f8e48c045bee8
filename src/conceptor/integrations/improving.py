"""One call for vectors as other libraries hold them."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from conceptor.algebra.lengths import Lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.fitting import FitOptions, fit_methods
from conceptor.integrations.registry import find_adapter, kinds
from conceptor.methods import Method
from conceptor.postprocessing import describe_doubts, describe_method
from conceptor.vectors.conversion import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.base.progress import Progress
    from conceptor.integrations.opened import Opened
    from conceptor.methods import MethodLike
    from conceptor.weights import Weights, WeightsLike

Kind = TypeVar("Kind")


@overload
def improve(
    x: Kind,
    method: MethodLike | None = ...,
    *,
    weights: Weights | WeightsLike | None = ...,
    n_components: int | None = ...,
    texts: Sequence[str] | None = ...,
    return_report: Literal[False] = ...,
) -> Kind: ...
@overload
def improve(
    x: Kind,
    method: MethodLike | None = ...,
    *,
    weights: Weights | WeightsLike | None = ...,
    n_components: int | None = ...,
    texts: Sequence[str] | None = ...,
    return_report: Literal[True],
) -> tuple[Kind, Report]: ...
def improve(
    x: Any,
    method: MethodLike | None = None,
    *,
    weights: Weights | WeightsLike | None = None,
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
        `cn`; `cn:lengths=kept` for static models, `gentle` for embeddings of texts and arrays.
    weights
        How often words are used, as for `FitOptions`. By default by counts that `x` holds, else by
        rank if the words are sorted by frequency.
    n_components
        Keep this many dimensions: the leading ones of what the method leaves.
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
    chosen = Method.default_for(opened.vectors) if method is None else Method.of(method)
    if n_components is not None:
        chosen = chosen.with_dimensions(n_components)
    better, report = improve_opened(opened, chosen, FitOptions(weights), type(x).__name__)
    if return_report:
        return better, report
    for remark in report.remarks:
        warnings.warn(remark, stacklevel=2)
    return better


def improve_opened(
    opened: Opened,
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    kind: str = "object",
    progress: Progress = silent,
) -> tuple[object, Report]:
    """Improve what an adapter has opened; errors call it a `kind`."""
    started = time.perf_counter()
    chosen = Method.default_for(opened.vectors) if method is None else Method.of(method)
    chosen.check_changes()
    if options is not None and options.weights is not None:
        chosen.check_weighs()
    if opened.needs_map:
        why = f"several words share the vectors of this {kind}"
        chosen.require_map(why, of_words=opened.lengths is None)
    found = fit_methods(opened.vectors, [chosen], options, progress=progress)
    fitted = found.methods[chosen.name]
    better = opened.rebuild(fitted)
    report = Report(words=found.count, dimension=fitted.n_out or opened.vectors.dimension)
    report.seconds = time.perf_counter() - started
    doubts = describe_doubts(found, opened.vectors.name)
    report.remarks = [*opened.remarks, *found.cautions, *doubts]
    describe_method(report, found, chosen.name)
    if report.lengths == Lengths.USAGE and opened.lengths is not None:
        report.lengths = str(opened.lengths)
    return better, report


def _open_with_texts(adapter: Any, x: object, texts: Sequence[str]) -> Any:  # noqa: ANN401
    if "sentence_transformers.SentenceTransformer" not in kinds(x):
        raise InvalidInputError(
            f"texts are for a SentenceTransformer, not for a {type(x).__name__}; leave them out"
        )
    return adapter(x, texts)
