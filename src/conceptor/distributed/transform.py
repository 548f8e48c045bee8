"""A map over shards on a cluster: shard to shard, restartable."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from dask.array import Array as DaskArray
from threadpoolctl import threadpool_limits

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import silent
from conceptor.distributed import manifest
from conceptor.distributed.arrays import mapped_array
from conceptor.distributed.cluster import Tally, delayed, lost, outcomes
from conceptor.distributed.manifest import Manifest
from conceptor.distributed.npy import words_beside
from conceptor.distributed.output import bind, check_output
from conceptor.distributed.shards import Shard, find_shards
from conceptor.distributed.storage import Place, publishing, tidy
from conceptor.distributed.survey import Failure, attempted, complaint, packed, rows_in, survey
from conceptor.vectors.conversion import Report

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress
    from conceptor.distributed.cluster import Teller
    from conceptor.distributed.content import Layout
    from conceptor.distributed.shards import Paths

_SECONDS_BETWEEN_RECORDS = 5.0


@overload
def transform(map_: AffineMap, source: DaskArray) -> DaskArray: ...
@overload
def transform(
    map_: AffineMap,
    source: Paths,
    target: str | os.PathLike[str],
    *,
    column: str | None = ...,
    force: bool = ...,
    storage_options: Mapping[str, Any] | None = ...,
    progress: Progress = ...,
) -> Report: ...
def transform(
    map_: AffineMap,
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
        return mapped_array(map_, source)
    if target is None:
        raise InvalidInputError("shards are written to a directory: name it as `target`")
    shards = find_shards(source, column, storage_options)
    folder = Place.from_path(str(target), storage_options)
    plan = Manifest(folder, manifest.digest(map_), None, manifest.listing(shards))
    check_output(plan, force=force)
    layouts = survey(shards, dimension=map_.n_in)
    return transform_shards(map_, shards, layouts, plan, force=force, progress=progress)


def transform_shards(
    map_: AffineMap,
    shards: Sequence[Shard],
    layouts: Sequence[Layout | Failure],
    plan: Manifest,
    *,
    force: bool,
    progress: Progress,
) -> Report:
    """Do what is not yet done of a plan, keeping its record."""
    started = time.perf_counter()
    failures = [each for each in layouts if isinstance(each, Failure)]
    if len(failures) == len(shards):
        raise _error(failures, complaint(failures))
    bind(plan, force=force)
    sound = {
        shard.name: (shard, layout)
        for shard, layout in zip(shards, layouts, strict=True)
        if not isinstance(layout, Failure)
    }
    for name, (_, layout) in sound.items():
        if layout.rows is not None:
            plan.shards[name]["rows"] = layout.rows
    todo = [sound[name] for name in sound if "done" not in plan.shards[name]]
    failures += _carry_out(map_, todo, plan, progress)
    for failure in failures:
        plan.shards[failure.shard]["failed"] = failure.message
    plan.write()
    tidy({(plan.folder / name).parent.path for name in plan.shards}, plan.folder.fs)
    if failures:
        done = sum("done" in shard for shard in plan.shards.values())
        raise _error(
            failures,
            f"{complaint(failures)}; the other {done} of {len(shards)} shards are done: once this "
            "is put right, the same call finishes the rest",
        )
    seconds = time.perf_counter() - started
    report = Report(dimension=map_.n_in, seconds=seconds)
    rows = [shard.get("rows") for shard in plan.shards.values()]
    report.words = sum(filter(None, rows))
    report.megabytes_per_second = sum(shard.size for shard, _ in todo) / 1e6 / seconds
    if len(todo) < len(shards):
        report.remarks.append(f"{len(shards) - len(todo)} of {len(shards)} shards were done before")
    if None in rows:
        report.remarks.append(f"{rows.count(None)} of those were not counted")
    return report


def _error(failures: Sequence[Failure], message: str) -> ConceptorError:
    """Blame the input if it is to blame for the first failure."""
    return InvalidInputError(message) if failures[0].invalid else ConceptorError(message)


class _Done(NamedTuple):
    shard: str
    size: int
    rows: int | None


def _carry_out(
    map_: AffineMap,
    todo: Sequence[tuple[Shard, Layout]],
    plan: Manifest,
    progress: Progress,
) -> list[Failure]:
    """Have workers write shards; record them as they come."""
    packs = packed(todo, lambda item: item[0].size)
    rows = [rows_in(layout.rows for _, layout in pack) for pack in packs]
    tally = Tally("writing", rows, progress)
    shared = delayed(map_, pure=False, traverse=False)
    tasks = [
        delayed(_rewrite, pure=False)(
            [shard for shard, _ in pack], shared, plan.folder, plan.map, tally.teller(unit)
        )
        for unit, pack in enumerate(packs)
    ]
    failures = []
    recorded = time.monotonic()
    for unit, results in outcomes(tasks, tally):
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


def _rewrite(
    shards: Sequence[Shard], map_: AffineMap, folder: Place, digest: str, teller: Teller
) -> list[_Done | Failure]:
    """Write a few shards, one after another; a task."""
    with threadpool_limits(1):
        return [attempted(_rewrite_one, shard, map_, folder, digest, teller) for shard in shards]


def _rewrite_one(
    shard: Shard, map_: AffineMap, folder: Place, digest: str, teller: Teller
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
