"""Post-process shards on a cluster in two passes; can be restarted at any point."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.lengths import Lengths
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.progress import silent
from conceptor.distributed import manifest
from conceptor.distributed.gathering import COLUMN, require_moments, weigh_by_column
from conceptor.distributed.manifest import Manifest, check_output
from conceptor.distributed.moments import gather
from conceptor.distributed.shards import find_shards
from conceptor.distributed.storage import Place, publishing
from conceptor.distributed.survey import survey
from conceptor.distributed.transform import transform_shards
from conceptor.distributed.vectors import ShardedVectors
from conceptor.fitting import FitOptions, Gathered, Request, fit_methods
from conceptor.methods import Method
from conceptor.postprocessing import Report
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.recipes import Recipe
    from conceptor.base.progress import Progress
    from conceptor.distributed.shards import Paths, Shard
    from conceptor.methods import MethodLike
    from conceptor.vectors.vectors import Vectors

MAP_NAME = "map.safetensors"


def postprocess(
    source: Paths,
    target: str | os.PathLike[str],
    method: MethodLike | None = None,
    *,
    weights: str | None = None,
    vocabulary: str | None = None,
    column: str | None = None,
    rows: str | None = None,
    save_map: str | os.PathLike[str] | None = None,
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Report:
    """Fit a method to shards and write the mapped shards to a directory.

    The map is saved in the directory as `map.safetensors`. Called again after a crash with the
    same shards and settings, this loads the map and continues with the remaining shards. A piece
    of a shard with a bad row (NaN, for example) is left out of the moments; its shard is not
    written, and after all others are done an error names it. Once it is fixed, the same call
    writes it with the same map as the other shards.

    Parameters are those of `moments` and `transform`; `save_map` is a file to save the map to, and
    `rows` is as for `open_vectors`.
    """
    started = time.perf_counter()
    shards = find_shards(source, column, storage_options)
    folder = Place.from_path(str(target), storage_options)
    vectors = ShardedVectors(shards, rows)
    recipe = _single_recipe(Method.default_for(vectors) if method is None else Method.of(method))
    asked: dict[str, object] = {"weights": weights or "auto", "vocabulary": vocabulary}
    asked |= {"column": column, "rows": rows}
    plan = Manifest(folder, "", _request(recipe, asked), manifest.describe_shards(shards))
    old = check_output(plan, force=force)
    map_ = None if old is None else _load_map(old)
    by_column = weights is not None and weights.startswith(COLUMN)
    chosen = weigh_by_column(str(weights), vocabulary) if by_column else weights
    options = FitOptions(chosen, vocabulary)
    weighting = options.weights_for(recipe.words, vectors, unit=recipe.unit)
    reader = _ShardReader(shards, count=weighting.by_rank and map_ is None)
    solution = None
    if map_ is None:
        found = fit_methods(
            vectors, [recipe], options, doubts=False, gatherer=reader.gather, progress=progress
        )
        (fitted,) = found.methods.values()
        plan.estimated_without, solution = reader.failures, fitted.solution
        map_ = fitted.map
        with publishing(folder / MAP_NAME) as path:
            map_.save(path)
    if save_map is not None:
        map_.save(save_map)
    plan.map = manifest.digest(map_)
    written = transform_shards(map_, shards, reader.layouts, plan, force=force, progress=progress)
    report = Report.of(written, name=str(Method.of(recipe)))
    seconds = time.perf_counter() - started
    report.megabytes_per_second *= report.seconds / seconds
    report.seconds = seconds
    report.rows = str(vectors.kind)
    if plan.estimated_without:
        report.remarks.append(f"the map was estimated without: {plan.estimated_without[0]}")
    report.fitted_on = weighting.description
    report.lengths = _lengths(recipe, map_)
    if solution is None:
        return report
    if weighting.caution:
        report.remarks.append(weighting.caution)
    return report.describe(solution)


class _ShardReader:
    """Gathers moments of shards on the cluster; notes which shards could not be read."""

    def __init__(self, shards: Sequence[Shard], *, count: bool) -> None:
        self._shards, self.failures = shards, list[str]()
        self.layouts = survey(shards, count=count)

    def gather(self, vectors: Vectors, request: Request, progress: Progress) -> Gathered:
        """Return the moments of all shards under each of some weights, and frequent words."""
        found = {}
        count, frequent = 0, None
        for each in request.weights:
            by_usage = each is request.usage
            part = gather(self._shards, self.layouts, each, progress, frequent=by_usage)
            frequent = part.frequent if by_usage else frequent
            self.failures = [failure.message for failure in part.failures]
            found[each] = require_moments(part, despite_failures=True)
            count = max(count, found[each].count)
        none = WordVectors([], np.zeros((0, vectors.dimension)))
        return Gathered(found, none, count, frequent)


def _lengths(recipe: Recipe, map_: AffineMap) -> str:
    """Return how lengths were set."""
    if map_.lengths is not None:
        return Lengths.USAGE
    return Lengths.UNIT if recipe.unit else Lengths.KEPT


def _request(recipe: Recipe, options: Mapping[str, object]) -> dict[str, str]:
    """Return the settings that a directory's shards were requested with."""
    asked = {"method": recipe.name, **recipe.parameters, **options}
    return {name: str(value) for name, value in asked.items() if value is not None}


def _single_recipe(method: Method) -> Recipe:
    method.check_changes()
    method.require_map("shards need one")
    if method.recipe is None:
        raise InvalidInputError(
            f"{method}: only single spectral methods work on shards; choose one, such as cn"
        )
    return method.recipe


def _load_map(old: Manifest) -> AffineMap:
    """Load the map that the shards in a directory were written with."""
    place = old.folder / MAP_NAME
    if place.exists():
        with place.local_copy() as path:
            map_ = AffineMap.load(path)
        if manifest.digest(map_) == old.map:
            return map_
    raise InvalidInputError(
        f"{place}: not the map recorded in {manifest.NAME}; write to another directory, or start "
        "over with ",
        Setting("force", True),
    )
