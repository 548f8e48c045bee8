"""Open whatever a path is: a file, or a folder of shards."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conceptor.base.errors import InvalidInputError, hide_password
from conceptor.fit import FitOptions
from conceptor.methods import MethodLike
from conceptor.postprocessing import Report, choose_method
from conceptor.vectors.files import open_vectors
from conceptor.vectors.formats.static_model import find_model
from conceptor.vectors.target import has_known_suffix
from conceptor.vectors.texts import as_texts
from conceptor.vectors.vectors import OnError, Vectors


def open_source(
    source: str,
    *,
    on_error: OnError = "raise",
    column: str | None = None,
    rows: str | None = None,
    replace_spaces: str | None = None,
    texts: str | os.PathLike[str] | None = None,
) -> Vectors:
    """Open a file like `open_vectors`, or shards one after the other.

    `texts` is a file with the text of each row, one per line.
    """
    if texts is not None:
        rows = "texts"
    if not is_sharded(source):
        opened = open_vectors(
            source, on_error=on_error, column=column, rows=rows, replace_spaces=replace_spaces
        )
    elif on_error == "skip" or replace_spaces is not None:
        raise InvalidInputError(
            f"{source}: --on-error skip and --replace-spaces are for single files; repair a shard "
            "with conceptor convert first"
        )
    else:
        from conceptor.distributed.shards import find_shards, open_shards

        opened = replace(open_shards(find_shards(source, column, rows)), name=hide_password(source))
    return opened if texts is None else as_texts(opened, texts)


def is_sharded(source: str) -> bool:
    """Return whether a source is a pattern, a folder that is not a model, or an address."""
    is_pattern = any(sign in source for sign in "*?[") and not os.path.exists(source)
    is_folder = os.path.isdir(source) and find_model(Path(source)) is None
    if is_folder and (Path(source) / "vocab").is_dir():
        raise InvalidInputError(
            f"{source}: is a spaCy pipeline; in Python: conceptor.improve(spacy.load({source!r}))"
        )
    return is_pattern or is_folder or "://" in source


def postprocess_shards(
    source: str,
    target: str,
    method: MethodLike | None,
    options: FitOptions,
    *,
    column: str | None,
    rows: str | None,
    scheduler: str | None,
    workers: int | None,
    memory: int | None,
    for_files: Mapping[str, bool],
    note: Callable[[str], object],
    parameters: Mapping[str, object],
    **how: Any,  # noqa: ANN401
) -> Report:
    """Post-process shards on a Dask cluster, or in local processes.

    `for_files` has the flags that only apply to single files, and whether they are set; `note` is
    called with lines for the user.
    """
    if scheduler is not None and workers is not None:
        raise InvalidInputError("--scheduler and --workers select different clusters; choose one")
    if target == "-" or has_known_suffix(Path(target)):
        raise InvalidInputError(f"{target}: is not a directory; shards are written to a directory")
    for flag, is_set in for_files.items():
        if is_set:
            raise InvalidInputError(
                f"{flag} does not apply to shards, which keep their format; remove it, or write "
                "new shards with conceptor convert first"
            )
    from conceptor import distributed
    from conceptor.distributed.shards import find_shards, open_shards

    shards = open_shards(find_shards(source, column, rows))
    if line := shards.describe_kind():
        note(line)
    chosen = choose_method(method, shards, options, **parameters)
    # Dask's client logs tracebacks when the scheduler is lost; our error is a single line.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    with distributed.connect(scheduler, workers=workers, memory=memory) as client:
        note(f"dashboard at {client.dashboard_link}")
        return distributed.postprocess(
            source, target, chosen, options, column=column, rows=rows, **how
        )
