"""A map over shards on a cluster: shard to shard, restartable."""

from __future__ import annotations

import shutil
import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from dask.array import Array as DaskArray
from threadpoolctl import threadpool_limits

from conceptor.arrays import result_dtype
from conceptor.distributed import manifest
from conceptor.distributed.cluster import Run, delayed, lost, outcomes
from conceptor.distributed.manifest import Manifest
from conceptor.distributed.npy import words_beside
from conceptor.distributed.shards import Shard, find_shards
from conceptor.distributed.storage import Place, publishing, tidy
from conceptor.distributed.survey import Failure, attempted, complaint, packed, survey
from conceptor.errors import ConceptorError, InvalidInputError
from conceptor.postprocess import Report
from conceptor.progress import silent

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.arrays import Array
    from conceptor.distributed.cluster import Teller
    from conceptor.distributed.content import Layout
    from conceptor.distributed.shards import Paths
    from conceptor.linear_map import LinearMap
    from conceptor.progress import Progress

_SECONDS_BETWEEN_RECORDS = 5.0


@overload
def transform(map_: LinearMap, source: DaskArray) -> DaskArray: ...
@overload
def transform(
    map_: LinearMap,
    source: Paths,
    target: str | os.PathLike[str],
    *,
    column: str | None = ...,
    force: bool = ...,
    storage_options: Mapping[str, Any] | None = ...,
    progress: Progress = ...,
) -> Report: ...
def transform(
    map_: LinearMap,
    source: DaskArray | Paths,
    target: str | os.PathLike[str] | None = None,
    *,
    column: str | None = None,
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Report | DaskArray:
    """Write shards, mapped, to a directory under the same names; of a Dask array, return another.

    Each shard appears whole. `manifest.json` in the directory says what was done with which map.
    Called again after a crash, this goes on with the shards that are not done. A shard with a bad
    row fails, the others are written all the same; once it is repaired, another call finishes it.

    Parameters
    ----------
    map_
        What to apply.
    source, column, storage_options, progress
        As for `moments`.
    target
        The directory, on any file system that fsspec knows.
    force
        Begin anew even if the directory holds shards of another map or input.

    Raises
    ------
    InvalidInputError
        Where the directory belongs to another map or input; or, after all other shards have been
        done, for the first that could not be.
    """
    if isinstance(source, DaskArray):
        return _mapped_array(map_, source)
    if target is None:
        raise InvalidInputError("shards are written to a directory: name it as `target`")
    shards = find_shards(source, column, storage_options)
    folder = Place.of(str(target), storage_options)
    plan = Manifest(folder, manifest.digest(map_), None, manifest.listing(shards))
    check_output(plan, force=force)
    return transform_shards(map_, shards, survey(shards), plan, force=force, progress=progress)


def check_output(plan: Manifest, *, force: bool) -> Manifest | None:
    """Return the manifest of earlier work that `plan` continues; raise if it must not."""
    for name, shard in plan.shards.items():
        if str(plan.folder / name) == shard["source"]:
            raise InvalidInputError(f"{plan.folder}: holds the input; write to another directory")
    if force:
        return None
    old = Manifest.read(plan.folder)
    there = _outputs(plan)
    if old is None:
        if there:
            raise InvalidInputError(
                f"{plan.folder / next(iter(there))}: exists, and no {manifest.NAME} tells whence; "
                "write to another directory, or replace it with --force"
            )
        return None
    for name, shard in old.shards.items():
        size = there.get(name)
        if size is None or shard.get("done", size) != size:
            shard.pop("done", None)
        else:
            shard["done"] = size
    old.check_same(plan)
    return old


def transform_shards(
    map_: LinearMap,
    shards: Sequence[Shard],
    layouts: Sequence[Layout | Failure],
    plan: Manifest,
    *,
    force: bool,
    progress: Progress,
) -> Report:
    """Do what is not yet done of a plan, keeping its record."""
    started = time.perf_counter()
    dimension = _dimension(map_, shards, layouts)
    _bind(plan, force=force)
    failures = [each for each in layouts if isinstance(each, Failure)]
    sound = {
        shard.name: (shard, layout)
        for shard, layout in zip(shards, layouts, strict=True)
        if not isinstance(layout, Failure)
    }
    for name, (_, layout) in sound.items():
        plan.shards[name]["rows"] = layout.rows
    todo = [sound[name] for name in sound if "done" not in plan.shards[name]]
    failures += _carry_out(map_, todo, plan, progress)
    for failure in failures:
        plan.shards[failure.shard]["failed"] = failure.message
    plan.write()
    tidy({(plan.folder / name).parent.path for name in plan.shards}, plan.folder.fs)
    if failures:
        done = sum("done" in shard for shard in plan.shards.values())
        kind = InvalidInputError if failures[0].invalid else ConceptorError
        raise kind(
            f"{complaint(failures)}; the other {done} of {len(shards)} shards are done: once this "
            "is put right, the same call finishes the rest"
        )
    seconds = time.perf_counter() - started
    report = Report(dimension=dimension or map_.n_in, seconds=seconds)
    report.words = sum(shard["rows"] for shard in plan.shards.values())
    report.megabytes_per_second = sum(shard.size for shard, _ in todo) / 1e6 / seconds
    if len(todo) < len(shards):
        report.remarks.append(f"{len(shards) - len(todo)} of {len(shards)} shards were done before")
    return report


def _dimension(
    map_: LinearMap, shards: Sequence[Shard], layouts: Sequence[Layout | Failure]
) -> int | None:
    for shard, layout in zip(shards, layouts, strict=True):
        if not isinstance(layout, Failure) and layout.dimension is not None:
            if layout.dimension != map_.n_in:
                raise InvalidInputError(
                    f"{shard.place}: vectors of {layout.dimension} numbers; the map is for "
                    f"{map_.n_in}-dimensional ones"
                )
            return layout.dimension
    return None


def _bind(plan: Manifest, *, force: bool) -> None:
    """Bind the directory to the plan, keeping what is done of it and nothing else.

    Outputs go before the manifest does: a crash in between leaves the old manifest with shards
    not done, which is the truth.
    """
    old = check_output(plan, force=force)
    for name, shard in (old.shards if old else {}).items():
        if "done" in shard:
            plan.shards[name] |= {"done": shard["done"], "rows": shard.get("rows")}
    for name in _outputs(plan):
        if "done" not in plan.shards[name]:
            plan.folder.fs.rm((plan.folder / name).path)
    if old is not None:
        plan.request = plan.request or old.request
        plan.estimated_without = old.estimated_without
    plan.write()


def _outputs(plan: Manifest) -> dict[str, int]:
    """Return the planned shards that are in the directory, with their sizes."""
    fs, root = plan.folder.fs, plan.folder.path
    fs.invalidate_cache()
    if not fs.exists(root):
        return {}
    if not fs.isdir(root):
        raise InvalidInputError(f"{plan.folder}: is a file; shards are written to a directory")
    found = {
        str(PurePosixPath(path).relative_to(root)): int(info["size"])
        for path, info in fs.find(root, detail=True).items()
    }
    return {name: found[name] for name in plan.shards if name in found}


class _Done(NamedTuple):
    shard: str
    size: int
    rows: int | None


def _carry_out(
    map_: LinearMap,
    todo: Sequence[tuple[Shard, Layout]],
    plan: Manifest,
    progress: Progress,
) -> list[Failure]:
    """Have workers write shards; record them as they come."""
    packs = packed(todo, lambda item: item[0].size)
    rows = [_row_count(pack) for pack in packs]
    run = Run("writing", rows, progress)
    shared = delayed(map_, pure=False, traverse=False)
    tasks = [
        delayed(_rewrite, pure=False)(
            [shard for shard, _ in pack], shared, plan.folder, plan.map, run.teller(unit)
        )
        for unit, pack in enumerate(packs)
    ]
    failures = []
    recorded = time.monotonic()
    for unit, results in outcomes(tasks, run):
        if isinstance(results, BaseException):
            said = lost(results)
            results = [
                Failure(shard.name, f"{shard.place}: {said}", invalid=False)
                for shard, _ in packs[unit]
            ]
        for result in results:
            if isinstance(result, Failure):
                failures.append(result)
                continue
            plan.shards[result.shard]["done"] = result.size
            if result.rows is not None:
                plan.shards[result.shard]["rows"] = result.rows
        if time.monotonic() - recorded > _SECONDS_BETWEEN_RECORDS:
            plan.write()
            recorded = time.monotonic()
    return sorted(failures)


def _row_count(pack: Iterable[tuple[Shard, Layout]]) -> int | None:
    counts = [layout.rows for _, layout in pack]
    return None if None in counts else sum(filter(None, counts))


def _rewrite(
    shards: Sequence[Shard], map_: LinearMap, folder: Place, digest: str, teller: Teller
) -> list[_Done | Failure]:
    """Write a few shards, one after another; a task."""
    with threadpool_limits(1):
        return [attempted(_rewrite_one, shard, map_, folder, digest, teller) for shard in shards]


def _rewrite_one(
    shard: Shard, map_: LinearMap, folder: Place, digest: str, teller: Teller
) -> _Done:
    place = folder / shard.name
    if place.exists():  # by a worker that died before it could say so
        return _Done(shard.name, place.state()[0], None)

    def confirm() -> None:
        manifest.check_bound(folder, digest)
        shard.check_unchanged()

    words = words_beside(shard.place)
    if words is not None:
        with words.local_copy() as copy, publishing(place.parent / words.name) as path:
            shutil.copyfile(copy, path)
    with publishing(place, confirm) as path:
        rows = shard.content.rewrite(map_, path, teller)
    teller.shard_done(rows)
    return _Done(shard.name, place.state()[0], rows)


def _mapped_array(map_: LinearMap, array: DaskArray) -> DaskArray:
    """Return the lazily mapped array."""
    if array.ndim != 2 or array.shape[1] != map_.n_in:
        raise InvalidInputError(
            f"the map is for rows of {map_.n_in} numbers; the array's shape is {array.shape}"
        )
    dtype = result_dtype(array.dtype)

    def mapped_block(block: Array) -> Array:
        return map_(block) if len(block) else np.empty((0, map_.n_out), dtype=dtype)

    lazy: DaskArray = array.rechunk({1: -1}).map_blocks(
        mapped_block,
        dtype=dtype,
        chunks=(array.chunks[0], (map_.n_out,)),
        meta=np.empty((0, map_.n_out), dtype=dtype),
    )
    return lazy
