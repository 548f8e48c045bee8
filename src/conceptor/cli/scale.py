"""`postprocess` of shards, on a cluster."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.cli.file_options import Dtype, OnError

if TYPE_CHECKING:
    from conceptor.algebra.methods import LexiconRecipe, Recipe
    from conceptor.vectors.conversion import Report

Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Work on this Dask cluster, such as tcp://HOST:8786."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Work on shards in this many local processes; --memory is then what each "
        "may use.  \\[default: one for each processor]",
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of Parquet shards that holds the vectors, or a pattern for one column for "
        "each dimension. --weights column:NAME weighs rows by another.",
    ),
]


class ClusterOptions(NamedTuple):
    """Which cluster."""

    scheduler: str | None
    workers: int | None
    memory: int | None


class ShardOptions(NamedTuple):
    """What is done with shards."""

    weights: str | None
    vocabulary: str | None
    column: str | None
    save_map: str | None
    force: bool


def is_sharded(source: str, scheduler: str | None, workers: int | None, column: str | None) -> bool:
    """Tell whether a cluster was asked for: by an option, or by a directory or a pattern."""
    if scheduler is not None and workers is not None:
        raise InvalidInputError("--scheduler and --workers are two clusters; choose one")
    several = any(sign in source for sign in "*?[") and not os.path.exists(source)
    asked = scheduler is not None or workers is not None or column is not None
    return asked or several or "://" in source or os.path.isdir(source)


def refuse_file_options(
    target: str,
    format: str | None,
    dtype: Dtype,
    on_error: OnError,
    replace_spaces: str | None,
) -> None:
    """Raise for options that have no meaning for shards, which are written as they were read."""
    from conceptor.vectors.detect import has_known_suffix

    if target == "-":
        raise InvalidInputError("shards go to a directory, not to standard output")
    if has_known_suffix(Path(target)):
        raise InvalidInputError(f"{target}: shards go to a directory, and this is a file's name")
    given = {
        "--format": format is not None,
        "--dtype float16": dtype is not Dtype.float32,
        "--on-error skip": on_error is not OnError.error,
        "--replace-spaces": replace_spaces is not None,
    }
    for name, is_given in given.items():
        if is_given:
            raise InvalidInputError(f"{name} has no meaning for shards: they stay as they are")


def postprocess_shards(
    source: str,
    target: str,
    method: str | Recipe | LexiconRecipe,
    cluster: ClusterOptions,
    options: ShardOptions,
) -> Report:
    """Connect, say where the dashboard is, and do the work."""
    from conceptor.base.progress import on_terminal

    try:
        from conceptor.distributed import connect, postprocess
    except MissingExtraError as error:
        if os.path.isdir(source):
            raise InvalidInputError(
                f"{source}: a directory; name a file in it. For all files in it: {error}"
            ) from None
        raise

    # When a scheduler is lost, Dask's client logs tracebacks; our error says it in a line.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    scheduler, workers, memory = cluster
    with connect(scheduler, workers=workers, memory=memory) as client:
        typer.echo(f"conceptor: dashboard at {client.dashboard_link}", err=True)
        with on_terminal("vectors") as progress:
            return postprocess(source, target, method, **options._asdict(), progress=progress)
