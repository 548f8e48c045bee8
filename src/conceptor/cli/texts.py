"""Options and work of `compare` for rows of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.inputs import read_methods, split_list
from conceptor.cli.output import warn, with_flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.cli.groups import BenchmarkOptions, ShowOptions
    from conceptor.fitting import FitOptions
    from conceptor.vectors.vectors import Vectors


@dataclass(frozen=True)
class LabelOptions:
    """The labels and sizes for comparing rows of texts."""

    queries: opt.Queries = None
    relevant: opt.Relevant = None
    sizes: opt.Sizes = None
    dtypes: opt.Dtypes = None


def compare_rows(
    vectors: Vectors,
    name: str,
    methods: str | None,
    options: FitOptions,
    benchmarks: BenchmarkOptions,
    labels: LabelOptions,
    show: ShowOptions,
) -> None:
    """Compare rows of texts, and show the result."""
    from conceptor.evaluation.compare.texts import compare_texts
    from conceptor.report.texts import text_result

    show.check([*vectors.files(), *benchmarks.files, labels.queries, labels.relevant])
    resamples, seed = benchmarks.bootstrap
    with on_terminal() as progress:
        found = compare_texts(
            vectors,
            None if methods is None else read_methods(methods),
            options,
            pairs=benchmarks.files or None,
            queries=labels.queries,
            relevant=labels.relevant,
            sizes=None if labels.sizes is None else _read_sizes(labels.sizes),
            dtypes=None if labels.dtypes is None else split_list(labels.dtypes),
            name=name,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
        found.comparison.resample(progress)
    warn(f"{name}: {each}" for each in found.cautions)
    show.show(text_result(found, with_flags))


def _read_sizes(text: str) -> Sequence[int]:
    found = split_list(text)
    if wrong := [each for each in found if not (each.isascii() and each.isdigit())]:
        raise InvalidInputError(
            f"--sizes has {wrong[0]!r}; it must list whole numbers of dimensions"
        )
    return [int(each) for each in found]
