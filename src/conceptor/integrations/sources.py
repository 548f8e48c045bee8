"""Post-process whatever a path is: a file, a folder of shards, a spaCy pipeline."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.progress import Progress, silent
from conceptor.fit import FitOptions
from conceptor.integrations.hub import save_folder
from conceptor.methods import MethodLike
from conceptor.postprocessing import Report, choose_method, postprocess
from conceptor.vectors.files import open_vectors
from conceptor.vectors.formats.static_model import find_model
from conceptor.vectors.target import has_known_suffix
from conceptor.vectors.vectors import OnError, Rows, Vectors


def open_source(
    source: str,
    *,
    on_error: OnError = "raise",
    column: str | None = None,
    rows: str | None = None,
    replace_spaces: str | None = None,
) -> Vectors:
    """Open a file like `open_vectors`, shards one after the other, or a spaCy pipeline."""
    pipeline = find_pipeline(Path(source)) if os.path.isdir(source) else None
    if pipeline is None and not _is_sharded(source):
        return open_vectors(
            source, on_error=on_error, column=column, rows=rows, replace_spaces=replace_spaces
        )
    if on_error == "skip" or replace_spaces is not None:
        raise InvalidInputError(
            f"{source}: --on-error skip and --replace-spaces are for single files; remove them"
        )
    if pipeline is not None:
        if column is not None:
            raise InvalidInputError(f"{source}: a spaCy pipeline has no columns; remove --column")
        from conceptor.integrations.spacy import open_folder

        return replace(open_folder(pipeline), name=source).with_kind(rows)
    from conceptor.distributed.shards import find_shards, open_shards

    shards = find_shards(source, column, rows)

    def read() -> Iterator[Rows]:
        for shard in shards:
            with shard.open() as vectors:
                yield from vectors.read()

    return replace(open_shards(shards), name=source, read=read)


def _is_sharded(source: str) -> bool:
    """Return whether a source is a pattern, a folder that is not a model, or an address."""
    is_pattern = any(sign in source for sign in "*?[") and not os.path.exists(source)
    is_folder = os.path.isdir(source) and find_model(Path(source)) is None
    return is_pattern or is_folder or "://" in source


def postprocess_source(
    source: str,
    target: str,
    method: MethodLike | None,
    options: FitOptions,
    *,
    save_map: str | None = None,
    memory: int | None = None,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    on_error: OnError = "raise",
    column: str | None = None,
    rows: str | None = None,
    replace_spaces: str | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress = silent,
    note: Callable[[str], object] = lambda _: None,
    caution: Callable[[str], object] | None = None,
    **parameters: object,
) -> Report:
    """Post-process a file like `postprocess`, shards on a cluster, or a spaCy pipeline.

    `scheduler` is the address of a Dask cluster, and `workers` how many processes to start here;
    both are for shards. `note` is called with lines for the user.
    """
    how: dict[str, Any] = {"force": force, "progress": progress}
    changes: dict[str, object] = {
        "--format": format,
        f"--dtype {dtype}": None if dtype == "float32" else dtype,
        "--on-error skip": on_error if on_error == "skip" else None,
        "--replace-spaces": replace_spaces,
    }
    cluster: dict[str, object] = {"--scheduler": scheduler, "--workers": workers}
    if None not in cluster.values():
        raise InvalidInputError("--scheduler and --workers select different clusters; choose one")
    pipeline = find_pipeline(Path(source)) if os.path.isdir(source) else None
    if pipeline is not None:
        from conceptor.integrations.spacy import postprocess_folder

        others = {"--save-map": save_map, "--column": column, "--rows": rows, **cluster}
        _refuse("spaCy pipelines", target, changes | others)
        return postprocess_folder(pipeline, target, method, options, **(how | parameters))
    if _is_sharded(source) or scheduler or workers:
        _refuse("shards", target, changes)
        try:
            from conceptor import distributed
            from conceptor.distributed.shards import find_shards, open_shards
        except MissingExtraError as error:
            if os.path.isdir(source):
                raise InvalidInputError(
                    f"{source}: is a directory; name a single file. To process all files in it: "
                    f"{error}"
                ) from None
            raise
        shards = open_shards(find_shards(source, column, rows))
        if line := shards.describe_kind():
            note(line)
        chosen = choose_method(method, shards, options, **parameters)
        how |= {"column": column, "rows": rows, "save_map": save_map}
        # Dask's client logs tracebacks when the scheduler is lost; our error is a single line.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        with distributed.connect(scheduler, workers=workers, memory=memory) as client:
            note(f"dashboard at {client.dashboard_link}")
            return distributed.postprocess(source, target, chosen, options, **how)
    opened = open_vectors(
        source, on_error=on_error, column=column, rows=rows, replace_spaces=replace_spaces
    )
    if line := opened.describe_kind():
        note(line)
    how |= {"caution": caution} | parameters
    if format == "hub":  # a folder for the Hugging Face hub, not a file format
        if save_map is not None:
            raise InvalidInputError("--format hub saves the map in OUT; remove --save-map")
        return save_folder(opened, target, method, options, dtype=dtype or "float32", **how)
    how |= {"save_map": save_map, "memory": memory, "format": format, "dtype": dtype}
    return postprocess(opened, target, method, options, **how)


def _refuse(kind: str, target: str, settings: dict[str, object]) -> None:
    """Raise for settings that do not apply to inputs of this kind, which keep their format."""
    if target == "-":
        raise InvalidInputError(f"OUT is standard output; {kind} are written to a directory")
    if has_known_suffix(Path(target)):
        raise InvalidInputError(f"{target}: is a file name; {kind} are written to a directory")
    for flag, value in settings.items():
        if value is not None:
            raise InvalidInputError(
                f"{flag} does not apply to {kind}, which keep their format; remove it"
            )


def is_pipeline(folder: Path) -> bool:
    """Return whether a folder is a saved spaCy pipeline."""
    return (folder / "config.cfg").is_file() and (folder / "vocab").is_dir()


def find_pipeline(folder: Path) -> Path | None:
    """Return the saved spaCy pipeline in a folder; None if there is none.

    It is the folder itself, or inside it: a package has it in `name/name-version`, and the package
    may be in a subfolder, next to its metadata.
    """
    if is_pipeline(folder):
        return folder
    inside = [*folder.glob("*/config.cfg"), *folder.glob("*/*/config.cfg")]
    pipelines = sorted(each.parent for each in inside if is_pipeline(each.parent))
    if len(pipelines) > 1:
        names = ", ".join(str(each.relative_to(folder)) for each in pipelines)
        raise InvalidInputError(f"{folder}: contains several spaCy pipelines, {names}; name one")
    return pipelines[0] if pipelines else None
