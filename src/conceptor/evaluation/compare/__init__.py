"""Comparing methods: the kind of rows, words or texts, determines the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.base.progress import Progress, silent
from conceptor.evaluation.compare.texts import TextComparison, compare_texts
from conceptor.evaluation.compare.words import Comparison
from conceptor.evaluation.compare.words import compare as compare_words
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.evaluation.task import Missing
from conceptor.integrations.reading import open_rows
from conceptor.methods import DEFAULT_METHODS, MethodsLike
from conceptor.vectors.rows import refuse_settings
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conceptor.evaluation import Battery
    from conceptor.fitting import FitOptions
    from conceptor.vectors.columns import Asked

__all__ = ["Comparison", "TextComparison", "compare"]


def compare(
    vectors: object,
    methods: MethodsLike | None = None,
    tasks: Iterable[str] | Battery | None = None,
    options: FitOptions | None = None,
    *,
    texts: object = None,
    column: Asked = None,
    rows: str | None = None,
    pairs: object = None,
    queries: object = None,
    relevant: object = None,
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] | None = None,
    name: str | None = None,
    missing: Missing | str = Missing.SKIP,
    resamples: int = RESAMPLES,
    seed: int = 0,
    examples: int = 0,
    progress: Progress = silent,
) -> Comparison | TextComparison:
    """Fit methods to vectors and measure each on the same items, words or texts.

    Words are scored on benchmarks. Rows of texts are scored on your own pairs or queries; without
    them, on measures that need no labels: neighbours kept, hubness, shared directions.

    The scored vectors are those that `postprocess` writes for the same method and options.

    Parameters
    ----------
    vectors : path, array, data frame, open source, WordVectors, (labels, array), ...
        A plain array has rows of texts.
    methods : names, or recipes by name
        From `original` and `conceptor.methods`; `a+b` applies b after a. By default the usual ones
        for the kind of rows. Chains and lexicon methods take further passes over the vectors.
    options : FitOptions, optional
        Word weights, the vocabulary to fit on, and the lexicon.
    column, rows : optional
        The column of a table that holds the vectors; whether rows are `words` or `texts` (by
        default, the labels decide).
    tasks : names from `conceptor.evaluation.FAMILIES`, or a Battery
        For words, as in `conceptor.evaluate`. A battery loaded once can serve many comparisons.
    missing, examples
        For words: how out-of-vocabulary words are handled, and the number of example words whose
        neighbours are shown, for the first and last method.
    texts : path or iterable of str, optional
        The text of each row, one per line of a file; by default the labels of the rows.
    pairs : path, paths, or triples of two rows and a score, optional
        Scored pairs; a row is named by its text, by its number from 1 as a string, or by its index.
    queries, relevant : optional
        Vectors of queries (path, array or Vectors), and the rows that are relevant to each: a path,
        a mapping, or a sequence of rows for each query.
    sizes : sequence of int, optional
        For texts: numbers of dimensions; by default all, half and a quarter of them.
    dtypes : sequence of `float32`, `float16`, `int8`, `binary`, optional
        For texts: number types; by default float32 and int8 at each size, and bits at full size.
    name, resamples, seed, progress
        Name of the vectors in the result; the paired bootstrap (0 resamples for no intervals; the
        seed also draws the sample of texts); called while reading.

    Returns
    -------
    Comparison or TextComparison

    Notes
    -----
    Words take two passes over the vectors: one gathers moments and the benchmarks' words, the other
    searches all rows. For texts, neighbours are those of 1,000 random rows among all rows, and the
    other figures use 4,000 random rows. Memory does not depend on the number of rows.

    Examples
    --------
    >>> from conceptor import compare
    >>> compare("glove.6B.300d.txt", ["original", "cn"])  # doctest: +SKIP
    >>> compare("emb.parquet", pairs="pairs.tsv").summary  # doctest: +SKIP
    """
    opened = open_rows(vectors, texts, column=column, rows=rows)
    if opened.kind is RowKind.TEXTS:
        refuse_settings(opened, "words", tasks=tasks, examples=examples or None)
        return compare_texts(
            opened,
            methods,
            options,
            pairs=pairs,
            queries=queries,
            relevant=relevant,
            sizes=sizes,
            dtypes=dtypes,
            name=name,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
    labels = {"pairs": pairs, "queries": queries, "relevant": relevant}
    refuse_settings(opened, "texts", **labels, sizes=sizes, dtypes=dtypes)
    return compare_words(
        opened,
        DEFAULT_METHODS if methods is None else methods,
        tasks,
        options,
        name=name,
        missing=missing,
        resamples=resamples,
        seed=seed,
        examples=examples,
        progress=progress,
    )
