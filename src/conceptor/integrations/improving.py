"""One function for the vectors of other libraries."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from conceptor.algebra.lengths import Lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.fitting import FitOptions, fit_methods
from conceptor.integrations.registry import TABLES, find_adapter, kinds
from conceptor.methods import Method
from conceptor.postprocessing import Report, describe_doubts
from conceptor.vectors.conversion import Written
from conceptor.vectors.rows import SaidRows, parse_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.base.progress import Progress
    from conceptor.integrations.opened import Opened
    from conceptor.methods import MethodLike
    from conceptor.vectors.columns import Asked
    from conceptor.weights import Weights, WeightsLike

Kind = TypeVar("Kind")


@overload
def improve(
    x: Kind,
    method: MethodLike | None = ...,
    *,
    weights: Weights | WeightsLike | None = ...,
    n_components: int | None = ...,
    column: Asked = ...,
    rows: str | None = ...,
    texts: Sequence[str] | None = ...,
    return_report: Literal[False] = ...,
    **parameters: object,
) -> Kind: ...
@overload
def improve(
    x: Kind,
    method: MethodLike | None = ...,
    *,
    weights: Weights | WeightsLike | None = ...,
    n_components: int | None = ...,
    column: Asked = ...,
    rows: str | None = ...,
    texts: Sequence[str] | None = ...,
    return_report: Literal[True],
    **parameters: object,
) -> tuple[Kind, Report]: ...
def improve(
    x: Any,
    method: MethodLike | None = None,
    *,
    weights: Weights | WeightsLike | None = None,
    n_components: int | None = None,
    column: Asked = None,
    rows: str | None = None,
    texts: Sequence[str] | None = None,
    return_report: bool = False,
    **parameters: object,
) -> Any:
    """Improve vectors of any kind; returns the same kind of object.

    The defaults are those of the command line. The result is equal, bit for bit, to the output of
    `postprocess` for the same vectors in an `.npy`, `.safetensors` or Parquet file.

    Parameters
    ----------
    x
        gensim `KeyedVectors`, `Word2Vec` or `FastText`; `(words, array)`; a mapping of words to
        vectors; a pandas or Polars `DataFrame` or an Arrow `Table`, whose other columns are kept;
        `WordVectors`; a spaCy `Vocab` or pipeline, which is changed in place; a model2vec
        `StaticModel`; a `SentenceTransformer`; an array; or a file, which gives `WordVectors`.
    method
        A name (`cn`, `abtt:n_directions=3`), a chain (`cn+counterfit`) or a recipe. By default
        `cn`; `cn:lengths=kept` for static models, `gentle` for embeddings of texts and arrays.
    weights
        Usage weights, as for `FitOptions`. By default the counts in `x`, else ranks if the words
        are sorted by frequency.
    n_components
        Keep this many leading dimensions after the method.
    column
        The column of a frame or table that holds the vectors, if several may; or the columns of
        its dimensions, as names or patterns (`d*`), if their names do not show it.
    rows
        The kind of rows, `words` or `texts`, if their labels are misleading (`decide_rows`).
    texts
        Sentences to fit a `SentenceTransformer` to, unless it averages static vectors.
    return_report
        Also return a report. Otherwise remarks about the vectors become warnings.
    **parameters
        Parameters of the method, such as `aperture=2`, as in its name (`cn:aperture=2`).

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).standard_normal((100, 5)) + 2
    >>> words, better = improve(([f"w{i}" for i in range(100)], vectors), "abtt")
    >>> bool(np.allclose(better.mean(axis=0), 0))
    True
    """
    opened = open_object(x, texts=texts, column=column, rows=rows)
    chosen = Method.default_for(opened.vectors) if method is None else Method.of(method)
    if n_components is not None:
        chosen = chosen.with_dimensions(n_components)
    if parameters:
        chosen = chosen.with_parameters(**parameters)
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
    """Improve an object that an adapter has opened; errors call it a `kind`."""
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
    written = Written(words=found.count, dimension=fitted.n_out or opened.vectors.dimension)
    written.seconds = time.perf_counter() - started
    written.rows = str(opened.vectors.kind)
    doubts = describe_doubts(found, opened.vectors.name)
    written.remarks = [*opened.remarks, *found.cautions, *doubts]
    report = Report.of(written, found, chosen.name)
    if report.lengths == Lengths.USAGE and opened.lengths is not None:
        report.lengths = str(opened.lengths)
    return better, report


def open_object(
    x: object, *, texts: Sequence[str] | None = None, column: Asked = None, rows: str | None = None
) -> Opened:
    """Open vectors of any kind; arguments are as for `improve`."""
    adapter: Any = find_adapter(x)
    if texts is not None:
        _check_texts(x)
        return adapter(x, texts)  # type: ignore[no-any-return]
    said = parse_rows(rows)
    if isinstance(x, (str, os.PathLike)):
        return adapter(x, column, rows)  # type: ignore[no-any-return]
    if column is not None and not TABLES.intersection(kinds(x)):
        raise InvalidInputError(f"a {type(x).__name__} has no columns; leave out `column`")
    opened: Opened = adapter(x) if column is None else adapter(x, column)
    return opened if said is None else replace(opened, vectors=SaidRows(opened.vectors, said))


def _check_texts(x: object) -> None:
    if "sentence_transformers.SentenceTransformer" not in kinds(x):
        raise InvalidInputError(
            f"texts are for a SentenceTransformer, not for a {type(x).__name__}; leave them out"
        )
