"""Apply a map to shards on a cluster; can be restarted."""

from __future__ import annotations

import hashlib
import shutil
import time
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from dask.array import Array as DaskArray
from dask.delayed import delayed

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread
from conceptor.distributed import manifest
from conceptor.distributed.arrays import map_array
from conceptor.distributed.cluster import Tally, run_tasks
from conceptor.distributed.content import words_beside
from conceptor.distributed.manifest import Manifest, bind, check_output
from conceptor.distributed.shards import Shard, find_shards
from conceptor.distributed.storage import Place, publishing, tidy
from conceptor.distributed.survey import (
    Failure,
    attempt,
    fail_all,
    group_by_size,
    sum_rows,
    summarize,
    survey,
)
from conceptor.vectors.conversion import Written

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress
    from conceptor.distributed.cluster import Reporter
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
) -> Written: ...
def transform(
    map_: AffineMap,
    source: DaskArray | Paths,
    target: str | os.PathLike[str] | None = None,
    *,
    column: str | None = None,
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Written | DaskArray:
    """Write mapped shards to a directory under the same names; map a Dask array lazily.

    Each shard appears whole. `manifest.json` in the directory records which shards were written
    with which map. Called again after a crash, this continues with the remaining shards. A shard
    with a bad row fails while the others are still written; once it is fixed, another call
    finishes it.

    Parameters
    ----------
    map_
        The map to apply.
    source, column, storage_options, progress
        As for `moments`.
    target
        The output directory, on any file system that fsspec supports.
    force
        Start over even if the directory holds shards of another map or input.

    Raises
    ------
    InvalidInputError
        If the directory belongs to another map or input; or, after all other shards are done, for
        the first shard that failed.
    """
    if isinstance(source, DaskArray):
        return map_array(map_, source)
    if target is None:
        raise InvalidInputError("no target directory for the shards; pass one as `target`")
    shards = find_shards(source, column, storage_options)
    folder = Place.from_path(str(target), storage_options)
    plan = Manifest(folder, manifest.digest(map_), None, manifest.describe_shards(shards))
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
) -> Written:
    """Write the shards of a plan that are not yet done, and keep its manifest up to date."""
    started = time.perf_counter()
    failures = [each for each in layouts if isinstance(each, Failure)]
    if len(failures) == len(shards):
        raise _make_error(failures, summarize(failures))
    bind(plan, force=force)
    sound = {
        shard.name: (shard, layout)
        for shard, layout in zip(shards, layouts, strict=True)
        if not isinstance(layout, Failure)
    }
    for name, (_, layout) in sound.items():
        if layout.rows is not None:
            plan.shards[name]["rows"] = layout.rows
    before = {name for name, shard in plan.shards.items() if "done" in shard}
    new, written = _write_shards(map_, list(sound.values()), plan, progress)
    failures += new
    kept = len(before - written)
    for failure in failures:
        plan.shards[failure.shard]["failed"] = failure.message
    plan.write()
    tidy({(plan.folder / name).parent.path for name in plan.shards}, plan.folder.fs)
    if failures:
        done = sum("done" in shard for shard in plan.shards.values())
        raise _make_error(
            failures,
            f"{summarize(failures)}; the other {done} of {len(shards)} shards are done: fix this "
            "and repeat the same call to finish the rest",
        )
    seconds = time.perf_counter() - started
    report = Written(dimension=map_.n_out, seconds=seconds)
    rows = [shard.get("rows") for shard in plan.shards.values()]
    report.words = sum(filter(None, rows))
    report.megabytes_per_second = (
        sum(shard.size for shard in shards if shard.name in written) / 1e6 / seconds
    )
    if kept:
        report.remarks.append(f"{kept} of {len(shards)} shards were already done")
    if before & written:
        report.remarks.append(
            f"{len(before & written)} shards were damaged since they were written, and were "
            f"written again: {min(before & written)}"
        )
    if None in rows:
        report.remarks.append(f"the words of {rows.count(None)} of those were not counted")
    return report


def _make_error(failures: Sequence[Failure], message: str) -> ConceptorError:
    """Return an InvalidInputError if the first failure is the input's fault."""
    return InvalidInputError(message) if failures[0].invalid else ConceptorError(message)


class _WrittenShard(NamedTuple):
    """A shard's output; `rows` is None if it already existed."""

    shard: str
    size: int
    rows: int | None
    checksum: str


def _write_shards(
    map_: AffineMap,
    todo: Sequence[tuple[Shard, Layout]],
    plan: Manifest,
    progress: Progress,
) -> tuple[list[Failure], set[str]]:
    """Write shards on the workers, or check existing ones; record each as it completes.

    Returns the failures and which shards were written.
    """
    groups = group_by_size(todo, lambda item: item[0].size)
    rows = [sum_rows(layout.rows for _, layout in group) for group in groups]
    tally = Tally("writing", rows, progress)
    shared = delayed(map_, pure=False, traverse=False)
    tasks = [
        delayed(_rewrite, pure=False)(
            [shard for shard, _ in group],
            shared,
            plan.folder,
            plan.map,
            tally.reporter(unit),
            {shard.name: plan.shards[shard.name].get("sha256") for shard, _ in group},
        )
        for unit, group in enumerate(groups)
    ]
    failures: list[Failure] = []
    written: set[str] = set()
    recorded = time.monotonic()
    for unit, results in run_tasks(tasks, tally):
        if isinstance(results, BaseException):
            results = fail_all((shard for shard, _ in groups[unit]), results)
        for result in results:
            if isinstance(result, Failure):
                failures.append(result)
                continue
            plan.shards[result.shard] |= {"done": result.size, "sha256": result.checksum}
            if result.rows is not None:
                plan.shards[result.shard]["rows"] = result.rows
                written.add(result.shard)
        if time.monotonic() - recorded > _SECONDS_BETWEEN_RECORDS:
            plan.write()
            recorded = time.monotonic()
    return sorted(failures), written


def _rewrite(
    shards: Sequence[Shard],
    map_: AffineMap,
    folder: Place,
    digest: str,
    reporter: Reporter,
    checksums: Mapping[str, str | None] | None = None,
) -> list[_WrittenShard | Failure]:
    """Write a few shards, one after another (runs as a task)."""
    with one_blas_thread():
        return [
            attempt(
                _rewrite_one,
                shard,
                map_,
                folder,
                digest,
                reporter,
                (checksums or {}).get(shard.name),
            )
            for shard in shards
        ]


def _rewrite_one(
    shard: Shard,
    map_: AffineMap,
    folder: Place,
    digest: str,
    reporter: Reporter,
    checksum: str | None,
) -> _WrittenShard:
    """Write a shard, unless it exists with its recorded checksum, if one was recorded."""
    place = folder / shard.name
    if place.exists():
        found = place.checksum()
        if checksum in (None, found):
            return _WrittenShard(shard.name, place.state()[0], None, found)

    def check() -> None:
        manifest.check_bound(folder, digest)
        shard.check_unchanged()

    words = words_beside(shard.place)
    if words is not None:
        with words.local_copy() as copy, publishing(place.parent / words.name) as path:
            shutil.copyfile(copy, path)
    with publishing(place, check) as path:
        rows = shard.content.rewrite(map_, path, reporter)
        with path.open("rb") as file:
            made = hashlib.file_digest(file, "sha256").hexdigest()
    reporter.finish_shard(rows)
    return _WrittenShard(shard.name, place.state()[0], rows, made)
