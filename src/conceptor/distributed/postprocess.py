"""Post-process shards on a cluster in two passes; can be restarted at any point."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.methods import LexiconRecipe, Recipe, parse_method
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.distributed import manifest
from conceptor.distributed.content import Need
from conceptor.distributed.gathering import COLUMN, RowWeights, require_moments
from conceptor.distributed.manifest import Manifest
from conceptor.distributed.moments import gather
from conceptor.distributed.output import check_output
from conceptor.distributed.shards import find_shards
from conceptor.distributed.storage import Place, publishing
from conceptor.distributed.survey import survey
from conceptor.distributed.transform import transform_shards
from conceptor.fitting import solve
from conceptor.pipeline import describe
from conceptor.weights import SAMPLE, choose_weights

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.base.progress import Progress
    from conceptor.distributed.shards import Paths, Shard
    from conceptor.vectors.conversion import Report

MAP_NAME = "map.safetensors"


def postprocess(
    source: Paths,
    target: str | os.PathLike[str],
    method: str | Recipe | LexiconRecipe = "cn",
    *,
    weights: str | None = None,
    vocabulary: str | None = None,
    column: str | None = None,
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

    Parameters are those of `moments` and `transform`; `save_map` is a file to save the map to.
    """
    started = time.perf_counter()
    shards = find_shards(source, column, storage_options)
    folder = Place.from_path(str(target), storage_options)
    recipe = _single_recipe(method)
    request = {"method": recipe.name} | recipe.parameters
    request |= {"weights": weights or "auto", "vocabulary": vocabulary, "column": column}
    asked = {name: str(value) for name, value in request.items() if value is not None}
    plan = Manifest(folder, "", asked, manifest.describe_shards(shards))
    old = check_output(plan, force=force)
    map_ = None if old is None else _load_map(old)
    weighting = _weights(recipe, shards, weights, vocabulary)
    layouts = survey(shards, count=weighting.by_rank and map_ is None)
    solution = None
    if map_ is None:
        gathered = gather(shards, layouts, weighting, progress)
        plan.estimated_without = [failure.message for failure in gathered.failures]
        moments = [require_moments(gathered, despite_failures=True)]
        if recipe.once is not None:
            each = _weights(replace(recipe, words=recipe.once), shards, None, vocabulary)
            again = gather(shards, layouts, each, progress)
            moments.append(require_moments(again, despite_failures=True))
        solution = solve(recipe, *moments)
        map_ = solution.map
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
    report.method, report.fitted_on = recipe.name, weighting.weights.description
    if solution is None:
        return report
    if weighting.weights.caution:
        report.remarks.append(weighting.weights.caution)
    return describe(report, solution)


def _single_recipe(method: str | Recipe | LexiconRecipe) -> Recipe:
    chain = parse_method(method) if isinstance(method, str) else (method,)
    if len(chain) != 1 or not isinstance(chain[0], Recipe):
        raise InvalidInputError(
            f"{method}: only single spectral methods work on shards; choose one, such as cn"
        )
    if chain[0].swaps:
        raise InvalidInputError(f"{method} is not one map for all words, as shards need")
    return chain[0]


def _weights(
    recipe: Recipe, shards: Sequence[Shard], weights: str | None, vocabulary: str | None
) -> RowWeights:
    """Choose the row weights; a column, or ranks across all shards, only if requested."""
    words = _first_words(shards[0])
    if weights is not None and weights.startswith(COLUMN):
        chosen = RowWeights.parse(weights, vocabulary)
    elif not words and weights is None:
        chosen = RowWeights.parse("uniform", vocabulary)
    else:
        chosen = RowWeights(
            choose_weights(
                recipe.words, lambda: words, weights=weights, vocabulary=vocabulary, ranked=False
            )
        )
    return replace(chosen, weights=replace(chosen.weights, unit=recipe.unit))


def _first_words(shard: Shard) -> list[str]:
    """Return some words of a shard; an empty list if it has none or cannot be read."""
    try:
        with closing(iter(shard.content.read(0, None, Need(words=True)))) as batches:  # type: ignore[type-var]
            return list(next(batches).words[:SAMPLE])
    except (InvalidInputError, OSError, StopIteration):
        return []


def _load_map(old: Manifest) -> AffineMap:
    """Load the map that the shards in a directory were written with."""
    place = old.folder / MAP_NAME
    if place.exists():
        with place.local_copy() as path:
            map_ = AffineMap.load(path)
        if manifest.digest(map_) == old.map:
            return map_
    raise InvalidInputError(
        f"{place}: not the map recorded in {manifest.NAME}; write to another directory, or "
        "start over with force=True"
    )
