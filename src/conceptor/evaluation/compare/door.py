"""One function for words and texts: the kind of rows determines the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.progress import silent
from conceptor.evaluation.compare.texts import compare_texts
from conceptor.evaluation.compare.words import compare as compare_words
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.evaluation.task import Missing
from conceptor.integrations.reading import open_rows
from conceptor.methods import DEFAULT_METHODS
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.base.progress import Progress
    from conceptor.evaluation import Battery
    from conceptor.evaluation.compare.texts import TextComparison
    from conceptor.evaluation.compare.words import Comparison
    from conceptor.fitting import FitOptions
    from conceptor.methods import MethodsLike
    from conceptor.vectors.columns import Asked
    from conceptor.vectors.vectors import Vectors


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

    Parameters
    ----------
    vectors : path, array, data frame, open source, WordVectors, (labels, array), ...
        A plain array has rows of texts.
    methods : names, or recipes by name
        From `original` and `conceptor.methods`; `a+b` applies b after a. By default the usual ones
        for the kind of rows.
    column, rows : optional
        The column of a table that holds the vectors; whether rows are `words` or `texts` (by
        default, the labels decide).
    tasks, missing, examples
        For words: see `conceptor.evaluation.compare.words.compare`.
    texts, pairs, queries, relevant, sizes, dtypes
        For texts: see `conceptor.evaluation.compare.texts.compare_texts`.
    options : FitOptions, optional
        Options for fitting the methods.
    name, resamples, seed, progress
        Name of the vectors in the result; the paired bootstrap; called while reading.

    Returns
    -------
    Comparison or TextComparison

    Examples
    --------
    >>> from conceptor import compare
    >>> compare("glove.6B.300d.txt", ["original", "cn"])  # doctest: +SKIP
    >>> compare("emb.parquet", pairs="pairs.tsv").summary  # doctest: +SKIP
    """
    opened = open_rows(vectors, texts, column=column, rows=rows)
    if opened.kind is RowKind.TEXTS:
        _refuse(opened, "words", {"tasks": tasks, "examples": examples or None})
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
    _refuse(opened, "texts", {**labels, "sizes": sizes, "dtypes": dtypes})
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


def _refuse(vectors: Vectors, kind: str, given: Mapping[str, object]) -> None:
    """Raise for arguments that apply to another kind of rows."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInputError(
                f"{vectors.name}: its rows are {vectors.kind}, and ",
                Setting(name),
                f" is for {kind}",
            )
