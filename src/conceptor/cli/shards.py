"""`postprocess` on shards, on a cluster."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.cli import options as opt

if TYPE_CHECKING:
    from conceptor.distributed.vectors import ShardedVectors
    from conceptor.methods import Method
    from conceptor.postprocessing import Report


def is_sharded(source: str, scheduler: str | None, workers: int | None, column: str | None) -> bool:
    """Return whether to use a cluster: because of an option, a directory or a pattern."""
    if scheduler is not None and workers is not None:
        raise InvalidInputError("--scheduler and --workers are two different clusters; choose one")
    several = any(sign in source for sign in "*?[") and not os.path.exists(source)
    asked = scheduler is not None or workers is not None or column is not None
    return asked or several or "://" in source or _is_folder_of_shards(source)


def _is_folder_of_shards(source: str) -> bool:
    from conceptor.vectors.formats.registry import recognise_folder

    return os.path.isdir(source) and recognise_folder(Path(source)) is None


def is_spacy_pipeline(source: str) -> bool:
    """Return whether a folder is a saved spaCy pipeline."""
    folder = Path(source)
    return (folder / "config.cfg").is_file() and (folder / "vocab").is_dir()


def refuse_file_options(
    target: str,
    format: str | None,
    dtype: opt.DtypeChoice | None,
    on_error: opt.OnErrorChoice,
    replace_spaces: str | None,
    kind: str = "shards",
) -> None:
    """Raise for options that do not apply to folders of some kind, which keep their format."""
    from conceptor.vectors.formats.registry import has_known_suffix

    if target == "-":
        raise InvalidInputError(f"OUT is standard output; {kind} are written to a directory")
    if has_known_suffix(Path(target)):
        raise InvalidInputError(f"{target}: is a file name; {kind} are written to a directory")
    given = {
        "--format": format is not None,
        f"--dtype {dtype.value if dtype else ''}": dtype not in (None, opt.DtypeChoice.float32),
        "--on-error skip": on_error is not opt.OnErrorChoice.error,
        "--replace-spaces": replace_spaces is not None,
    }
    for name, is_given in given.items():
        if is_given:
            raise InvalidInputError(
                f"{name} does not apply to {kind}, which keep their format; remove it"
            )


def refuse_shard_options(
    kind: str, save_map: str | None, scheduler: str | None, workers: int | None, column: str | None
) -> None:
    """Raise for options of shards, which do not apply to folders of another kind."""
    given = {
        "--save-map": save_map,
        "--scheduler": scheduler,
        "--workers": workers,
        "--column": column,
    }
    for name, value in given.items():
        if value is not None:
            raise InvalidInputError(f"{name} does not apply to {kind}; remove it")


def open_shards(source: str, column: str | None) -> ShardedVectors:
    """Return what shards say about themselves; raise if Dask is missing."""
    try:
        from conceptor.distributed.shards import find_shards
        from conceptor.distributed.vectors import ShardedVectors
    except MissingExtraError as error:
        if os.path.isdir(source):
            raise InvalidInputError(
                f"{source}: is a directory; name a single file. To process all its files: {error}"
            ) from None
        raise
    return ShardedVectors(find_shards(source, column))


def postprocess_shards(
    source: str,
    target: str,
    method: Method,
    scheduler: str | None,
    workers: int | None,
    memory: int | None,
    **options: Any,  # noqa: ANN401 - as `conceptor.distributed.postprocess` takes them
) -> Report:
    """Connect, print the address of the dashboard, and run."""
    from conceptor.base.progress import on_terminal
    from conceptor.distributed import connect, postprocess

    # When a scheduler is lost, Dask's client logs tracebacks; our error is a single line.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    with connect(scheduler, workers=workers, memory=memory) as client:
        typer.echo(f"conceptor: dashboard at {client.dashboard_link}", err=True)
        with on_terminal("vectors") as progress:
            return postprocess(source, target, method, **options, progress=progress)
