"""From shards to shards in two passes over a cluster, restartable in between."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from conceptor.distributed import manifest
from conceptor.distributed.manifest import Manifest
from conceptor.distributed.moments import Weighting, complete, gather
from conceptor.distributed.shards import find_shards
from conceptor.distributed.storage import Place, publishing
from conceptor.distributed.survey import survey
from conceptor.distributed.transform import check_output, transform_shards
from conceptor.errors import InvalidInputError
from conceptor.linear_map import LinearMap
from conceptor.postprocess import describe
from conceptor.progress import silent

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from conceptor.distributed.shards import Paths
    from conceptor.estimators import SpectralPostprocessor
    from conceptor.postprocess import Report
    from conceptor.progress import Progress

MAP_NAME = "map.safetensors"


def postprocess(
    source: Paths,
    target: str | os.PathLike[str],
    estimator: SpectralPostprocessor,
    *,
    weights: str = "uniform",
    vocabulary: str | None = None,
    column: str | None = None,
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

    Parameters are those of `moments` and `transform`.
    """
    started = time.perf_counter()
    shards = find_shards(source, column, storage_options)
    folder = Place.of(str(target), storage_options)
    request = {
        "method": str(estimator),
        "weights": weights,
        "vocabulary": vocabulary,
        "column": column,
    }
    plan = Manifest(folder, "", json.loads(json.dumps(request)), manifest.listing(shards))
    weighting = Weighting.of(weights, vocabulary)
    old = check_output(plan, force=force)
    map_ = None if old is None else _saved(old)
    layouts = survey(shards, count=weighting.by_rank and map_ is None)
    remarks = []
    if map_ is None:
        gathered = gather(shards, layouts, weighting, progress)
        moments = complete(gathered._replace(failures=()))
        with threadpool_limits(1):
            map_ = estimator.fit_moments(moments).map_
        with publishing(folder / MAP_NAME) as path:
            map_.save(path)
        if gathered.failures:
            remarks.append(f"the map was estimated without a part of {gathered.failures[0].shard}")
    plan.map = manifest.digest(map_)
    report = transform_shards(map_, shards, layouts, plan, force=force, progress=progress)
    report.remarks[:0] = remarks
    report.seconds = time.perf_counter() - started
    return describe(report, estimator) if hasattr(estimator, "moments_") else report


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
