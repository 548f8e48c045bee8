"""One function for the vectors of other libraries."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

from conceptor.base.progress import Progress, silent
from conceptor.fit import FitOptions, fit_methods
from conceptor.integrations.reading import Opened, open_object
from conceptor.methods import Lengths, MethodLike
from conceptor.postprocessing import Report, choose_method, sum_up
from conceptor.vectors.formats.format import Columns
from conceptor.weights import Weights, WeightsLike

__all__ = ["improve"]


def improve(
    x: Any,  # noqa: ANN401
    method: MethodLike | None = None,
    *,
    weights: Weights | WeightsLike | None = None,
    column: Columns = None,
    rows: str | None = None,
    texts: Sequence[str] | None = None,
    return_report: bool = False,
    **parameters: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
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
        A name (`cn`, `abtt:n_directions=3`) or a `Method`. By default `cn`; `cn:lengths=kept` for
        static models, `gentle` for embeddings of texts and arrays.
    weights
        Usage weights, as for `FitOptions`. By default the counts in `x`, else ranks if the words
        are sorted by frequency.
    column
        The column of a frame or table that holds the vectors, if several may; or the columns of
        its dimensions, as names or patterns (`d*`), if their names do not show it.
    rows
        The kind of rows, `words` or `texts`, if their labels are misleading.
    texts
        Sentences to fit a `SentenceTransformer` to, unless it averages static vectors.
    return_report
        Also return a report. Otherwise remarks about the vectors become warnings.
    **parameters
        Parameters of the method, such as `aperture=2`, as in its name (`cn:aperture=2`);
        `n_components=128` keeps that many leading dimensions after any method.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).standard_normal((100, 5)) + 2
    >>> words, better = improve(([f"w{i}" for i in range(100)], vectors), "abtt")
    >>> bool(np.allclose(better.mean(axis=0), 0))
    True
    """
    opened = open_object(x, texts=texts, column=column, rows=rows)
    better, report = improve_opened(opened, method, FitOptions(weights), **parameters)
    if return_report:
        return better, report
    for remark in report.remarks:
        warnings.warn(remark, stacklevel=2)
    return better


def improve_opened(
    opened: Opened,
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    progress: Progress = silent,
    **parameters: object,
) -> tuple[object, Report]:
    """Improve an object that an adapter has opened."""
    started = time.perf_counter()
    vectors = opened.vectors
    chosen = choose_method(method, vectors, options, **parameters)
    fits = fit_methods(vectors, [chosen], options, progress=progress)
    fitted = fits.methods[str(chosen)]
    better = opened.rebuild(fitted)
    report = sum_up(vectors, started, fits.count, fitted.map.n_out, fitted)
    report.remarks += [*opened.remarks, *fits.cautions]
    if fitted.doubt:
        doubt = f"{vectors.name}: {fitted.name} {fitted.doubt}; measure it with compare"
        report.remarks.append(doubt)
    if report.lengths == Lengths.USAGE and opened.lengths is not None:
        report.lengths = str(opened.lengths)
    return better, report
