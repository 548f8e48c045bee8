"""From shards to shards in two passes over a cluster, restartable in between."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from conceptor.distributed import manifest
from conceptor.distributed.gathering import Weighting, complete
from conceptor.distributed.manifest import Manifest
from conceptor.distributed.moments import gather
from conceptor.distributed.output import check_output
from conceptor.distributed.shards import find_shards
from conceptor.distributed.storage import Place, publishing
from conceptor.distributed.survey import survey
from conceptor.distributed.transform import transform_shards
from conceptor.errors import InvalidInputError
from conceptor.linear_map import LinearMap
from conceptor.postprocess import describe, fitted
from conceptor.progress import silent

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from conceptor.distributed.shards import Paths
    from conceptor.postprocess import Report
    from conceptor.progress import Progress
    from conceptor.spectral import SpectralMethod

MAP_NAME = "map.safetensors"


def postprocess(
    source: Paths,
    target: str | os.PathLike[str],
    estimator: SpectralMethod,
    *,
    weights: str = "uniform",
    vocabulary: str | None = None,
    column: str | None = None,
    save_map: str | os.PathLike[str] | None = None,
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Report:
    """Fit `estimator` on shards and write them all, mapped, to a directory.

    The map is kept in the directory as `map.safetensors`. Called again after a crash with the same
    shards and settings, this takes the map from there and goes on with the shards not yet done.
    Rows that cannot be used, NaN say, are left out of the moments, a task's worth at a time; their
    shard is not written, and an error names it after the others are done. Once it is repaired, the
    same call finishes it, with the map the other shards were written with.

    Parameters are those of `moments` and `transform`; `save_map` names a file for the map.
    """
    started = time.perf_counter()
    shards = find_shards(source, column, storage_options)
    folder = Place.of(str(target), storage_options)
    parameters = {name: value for name, value in vars(estimator).items() if name[-1] != "_"}
    request = {"method": type(estimator).__name__} | parameters
    request |= {"weights": weights, "vocabulary": vocabulary, "column": column}
    asked = {name: str(value) for name, value in request.items() if value is not None}
    plan = Manifest(folder, "", asked, manifest.listing(shards))
    weighting = Weighting.of(weights, vocabulary)
    old = check_output(plan, force=force)
    map_ = None if old is None else _saved(old)
    layouts = survey(shards, count=weighting.by_rank and map_ is None)
    if map_ is None:
        gathered = gather(shards, layouts, weighting, progress)
        plan.estimated_without = [failure.message for failure in gathered.failures]
        map_ = fitted(estimator, complete(gathered, despite_failures=True)).map_
        with publishing(folder / MAP_NAME) as path:
            map_.save(path)
    if save_map is not None:
        map_.save(save_map)
    plan.map = manifest.digest(map_)
    report = transform_shards(map_, shards, layouts, plan, force=force, progress=progress)
    seconds = time.perf_counter() - started
    report.megabytes_per_second *= report.seconds / seconds
    report.seconds = seconds
    if plan.estimated_without:
        report.remarks.append(f"the map was estimated without: {plan.estimated_without[0]}")
    return describe(report, estimator) if old is None else report


def _saved(old: Manifest) -> LinearMap:
    """Return the map that the shards in a directory were written with."""
    place = old.folder / MAP_NAME
    if place.exists():
        with place.local_copy() as path:
            map_ = LinearMap.load(path)
        if manifest.digest(map_) == old.map:
            return map_
    raise InvalidInputError(
        f"{place}: not the map that {manifest.NAME} tells of; write to another directory, or "
        "begin anew with --force"
    )
