"""Moments of shards, maps applied to shards, and both: one task for each shard.

A task reads or writes its shard like any other file. Results are added up in the order of the
shards, so a cluster gives the same bits as one machine, for any number of workers.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from dask.delayed import delayed

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.files import replace_atomically
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.distributed.cluster import describe_error, run_tasks
from conceptor.distributed.shards import (
    Paths,
    Shard,
    find_shards,
    local_copy,
    open_shards,
    open_store,
    publishing,
)
from conceptor.fit import FitOptions, Gathered, fit_methods, gather
from conceptor.methods import MethodLike
from conceptor.postprocessing import Report, choose_method, convert
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.vectors import Vectors
from conceptor.weights import Weights, parse_weights

__all__ = ["moments", "postprocess", "transform"]

MAP_NAME = "map.safetensors"
RECORD = "shards.json"


@dataclass(frozen=True)
class Failure:
    """Why a shard could not be used; `invalid` if its content is at fault."""

    message: str
    invalid: bool = True
    shard: str = ""


def _attempt(action: Callable[..., Any], shard: Shard, *arguments: Any) -> Any:  # noqa: ANN401
    """Return the action's result, or a Failure: text travels between processes, errors may not."""
    try:
        return action(shard, *arguments)
    except ConceptorError as error:
        message = str(error) if str(shard) in str(error) else f"{shard}: {error}"
        return Failure(message, isinstance(error, InvalidInputError))
    except OSError as error:
        return Failure(f"{error.filename or shard}: {error.strerror or error}", invalid=False)


def _run(
    action: Callable[..., Any],
    shards: Sequence[Shard],
    label: str,
    progress: Progress,
    *columns: Sequence[Any],
) -> Iterator[tuple[Shard, Any]]:
    """Run an action on each shard; yield shards and results (or Failures) in order.

    `columns` hold further arguments, one for each shard.
    """
    tasks = [
        delayed(_attempt, pure=False)(action, shard, *more)
        for shard, *more in zip(shards, *columns, strict=True)
    ]
    waiting: dict[int, Any] = {}
    done = 0
    for number, (i, result) in enumerate(run_tasks(tasks), start=1):
        if isinstance(result, BaseException):
            result = Failure(f"{shards[i]}: {describe_error(result)}", invalid=False)
        waiting[i] = result
        while done in waiting:
            result = waiting.pop(done)
            yield shards[done], result
            done += 1
        progress(label, number / len(shards), 0)


def _count(shard: Shard) -> int:
    with shard.open() as vectors:
        return vectors.count or sum(len(labels) for labels, _ in vectors.chunks())


def _gather(
    shard: Shard, dimension: int, weights: Sequence[Weights], usage: Weights | None, before: int
) -> Gathered:
    with shard.open() as vectors:
        if vectors.dimension != dimension:
            raise InvalidInputError(
                f"{shard}: vectors have length {vectors.dimension}, expected {dimension}"
            )
        gathered = gather(vectors, weights, usage=usage, before=before)
    # By number: weights are compared by identity, and a task works on copies.
    numbered: Any = {i: gathered.moments[e] for i, e in enumerate(weights) if e in gathered.moments}
    return replace(gathered, moments=numbered)


def gather_shards(
    shards: Sequence[Shard],
    failures: list[Failure],
    vectors: Vectors,
    weights: Collection[Weights],
    *,
    usage: Weights | None = None,
    progress: Progress = silent,
    **_: object,
) -> Gathered:
    """Read all shards once, as `gather` does for a file; shards that fail are noted, not read."""
    before = [0] * len(shards)
    ranked = [each for each in (*weights, usage) if each is not None]
    if any(each.kind == "zipf" or each.top is not None for each in ranked):
        counts = [result for _, result in _run(_count, shards, "counting", progress)]
        sizes = [0 if isinstance(count, Failure) else count for count in counts]
        before = [0, *np.cumsum(sizes)[:-1].tolist()]
    every = [list(weights)] * len(shards)
    arguments = ([vectors.dimension] * len(shards), every, [usage] * len(shards), before)
    total: Gathered | None = None
    for shard, result in _run(_gather, shards, "moments", progress, *arguments):
        if isinstance(result, Failure):
            failures.append(replace(result, shard=shard.name))
        else:
            ours = {every[0][i]: each for i, each in result.moments.items()}
            result = replace(result, moments=ours)
            total = result if total is None else total + result
    if total is None:
        raise _as_error(failures)
    return total


def _as_error(failures: Sequence[Failure], done: str = "") -> ConceptorError:
    more = f" (and {len(failures) - 1} more shards)" if len(failures) > 1 else ""
    kind = InvalidInputError if all(each.invalid for each in failures) else ConceptorError
    return kind(f"{failures[0].message}{more}{done}")


def moments(
    source: Paths,
    *,
    weights: object = "uniform",
    vocabulary: object = None,
    column: Columns = None,
    unit: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Moments:
    """Return the moments of shards.

    Parameters
    ----------
    source
        A file, a directory, a pattern, or a list of these; also URLs that fsspec knows.
    weights
        `uniform`, `zipf` (by rank through all shards), a file of counts, or a mapping.
    vocabulary
        Which words take part: `top:N`, a file, or words.
    column
        The column of the vectors, if there are several.
    unit
        Bring vectors to length 1 first, as `cn` does.
    storage_options
        Options of the file system, for fsspec.
    """
    shards = find_shards(source, column, None, storage_options)
    chosen = replace(parse_weights(weights, vocabulary), unit=unit)  # type: ignore[arg-type]
    failures: list[Failure] = []
    gathered = gather_shards(shards, failures, open_shards(shards), [chosen], progress=progress)
    if failures:
        raise _as_error(failures)
    return gathered.of(chosen)


def transform(
    map_: AffineMap,
    source: Paths,
    target: str | os.PathLike[str],
    *,
    column: Columns = None,
    rows: str | None = None,
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Report:
    """Apply a map to shards and write them to a directory.

    Called again after a crash with the same map, this continues with the shards that are missing
    or have changed. A shard with a bad row is not written; the error names it once all others are.
    """
    shards = find_shards(source, column, rows, storage_options)
    record = _Record.open(target, storage_options, {"map": _digest(map_)}, force=force)
    return _transform(map_, shards, record, progress)


@dataclass
class _Record:
    """Which shards of a directory are done, and the request that they belong to."""

    fs: Any
    folder: str
    request: dict[str, str]
    done: dict[str, Any]
    # The state of each shard that the map was estimated on.
    estimated: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        options: Mapping[str, Any] | None,
        request: dict[str, str],
        *,
        force: bool,
    ) -> _Record:
        """Read the record of a directory; raise if it belongs to another request."""
        fs, folder = open_store(os.fspath(target), options)
        record = cls(fs, folder, request, {})
        path = record.path(RECORD)
        if force or not fs.exists(path):
            if not force and fs.exists(folder) and fs.ls(folder):
                raise InvalidInputError(
                    f"{target}: exists and holds other files; name another directory, or replace "
                    "it with --force"
                )
            return record
        try:
            content = json.loads(fs.cat_file(path))
            old, record.done = dict(content["request"]), dict(content["done"])
            record.estimated = dict(content.get("estimated", {}))
            kinds = {"state": str, "words": int, "size": int}
            for entry in record.done.values():
                if not all(type(entry[name]) is kind for name, kind in kinds.items()):
                    raise TypeError
        except (ValueError, LookupError, TypeError):
            raise InvalidInputError(
                f"{target}/{RECORD}: damaged; start over with --force"
            ) from None
        for name in sorted({*old, *request}):
            if old.get(name) != request.get(name):
                raise InvalidInputError(
                    f"{target}: was written with {name} {old.get(name)}, not {request.get(name)}; "
                    "name another directory, or start over with --force"
                )
        return record

    def path(self, name: str) -> str:
        """Return the path of a file in the directory."""
        return f"{self.folder.rstrip('/')}/{name}"

    def finish(self, shard: Shard, result: Mapping[str, int]) -> None:
        """Note that a shard is done."""
        self.done[shard.name] = {"state": shard.state, **result}
        self.save()

    def save(self) -> None:
        """Write the record, atomically."""
        content = json.dumps(
            {"request": self.request, "done": self.done, "estimated": self.estimated}, indent=1
        )
        with publishing(self.fs, self.path(RECORD)) as path, replace_atomically(path) as beside:
            beside.write_text(content, encoding="utf-8")

    def is_done(self, shard: Shard) -> bool:
        """Return whether a shard was written and has not changed since."""
        entry = self.done.get(shard.name, {})
        return bool(entry.get("state") == shard.state and self.fs.exists(self.path(shard.name)))


def _map_shard(shard: Shard, fs: Any, path: str, map_: AffineMap) -> dict[str, int]:  # noqa: ANN401
    with one_blas_thread(), shard.open() as vectors, publishing(fs, path) as target:
        report = convert(vectors, target, map_, force=True)
        return {"words": report.words, "size": vectors.size}


def _transform(
    map_: AffineMap, shards: Sequence[Shard], record: _Record, progress: Progress
) -> Report:
    started = time.perf_counter()
    if {shard.path for shard in shards} & {record.path(shard.name) for shard in shards}:
        raise InvalidInputError(f"{record.folder}: is the input; write to another directory")
    record.save()
    missing = [shard for shard in shards if not record.is_done(shard)]
    paths = [record.path(shard.name) for shard in missing]
    everywhere = ([record.fs] * len(missing), paths, [map_] * len(missing))
    failures = []
    for shard, result in _run(_map_shard, missing, "writing", progress, *everywhere):
        if isinstance(result, Failure):
            failures.append(result)
        else:
            record.finish(shard, result)
    for path in record.fs.find(record.folder):
        name = path.rpartition("/")[2]
        if name.startswith(".") and name.endswith(".partial"):  # of a worker that was killed
            record.fs.rm_file(path)
    if failures:
        good = len(shards) - len(failures)
        raise _as_error(
            failures,
            f"; the other {good} of {len(shards)} shards are done: fix this and repeat the same "
            "call to finish the rest",
        )
    seconds = time.perf_counter() - started
    entries = [record.done[shard.name] for shard in shards]
    words, size = (sum(entry[name] for entry in entries) for name in ("words", "size"))
    report = Report(words, map_.n_out, seconds, size / 1e6 / seconds)
    if len(missing) < len(shards):
        done = len(shards) - len(missing)
        report.remarks.append(f"{done} of {len(shards)} shards were already done")
    return report


def _digest(map_: AffineMap) -> str:
    """Return a hash of the map's numbers and its lengths of words."""
    digest = hashlib.sha256(f"{map_.n_in} {map_.n_out} {map_.unit}".encode())
    for part in map_.tensors.values():
        digest.update(part.tobytes())
    return digest.hexdigest()[:16]


def postprocess(
    source: Paths,
    target: str | os.PathLike[str],
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    *,
    column: Columns = None,
    rows: str | None = None,
    save_map: str | os.PathLike[str] | None = None,
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Report:
    """Fit a method to shards and write the mapped shards to a directory.

    The map is saved in the directory as `map.safetensors`. Called again after a crash with the
    same settings, this loads the map and continues with the remaining shards. A shard with a bad
    row (NaN, for example) is left out of the moments and not written, and after all others are
    done an error names it. Once it is fixed, the same call writes it with the same map.

    Parameters are those of `moments`, `transform` and `conceptor.postprocess`.
    """
    started = time.perf_counter()
    options = options or FitOptions()
    shards = find_shards(source, column, rows, storage_options)
    vectors = open_shards(shards)
    chosen = choose_method(method, vectors)
    settings = {
        "method": chosen,
        "weights": options.weights,
        "vocabulary": options.vocabulary,
        "column": column,
        "rows": rows,
        "shards": len(shards),
    }
    request = {name: str(value) for name, value in settings.items() if value is not None}
    record = _Record.open(target, storage_options, request, force=force)
    saved = record.path(MAP_NAME)
    failures: list[Failure] = []
    fits = None
    if record.done and record.fs.exists(saved):
        with local_copy(record.fs, saved) as path:
            map_ = AffineMap.load(path)
    else:
        fits = fit_methods(
            vectors,
            [chosen],
            options,
            doubts=False,
            gatherer=partial(gather_shards, shards, failures),
            progress=progress,
        )
        map_ = fits.methods[str(chosen)].map
        with publishing(record.fs, saved) as path:
            map_.save(path)
        bad = {failure.shard for failure in failures}
        record.estimated = {each.name: each.state for each in shards if each.name not in bad}
        shards = find_shards(source, column, rows, storage_options)
    for shard in shards:
        if record.estimated.get(shard.name, shard.state) != shard.state:
            raise InvalidInputError(
                f"{shard}: changed after the map was estimated; start over with --force"
            )
    if save_map is not None:
        map_.save(save_map)
    report = _transform(map_, shards, record, progress)
    seconds = time.perf_counter() - started
    report.megabytes_per_second *= report.seconds / seconds
    report.seconds, report.rows, report.method = seconds, str(vectors.kind), str(chosen)
    if failures:
        report.remarks.append(f"the map was estimated without: {failures[0].message}")
    if fits is None:
        return report
    report.remarks += fits.cautions
    return report.describe(fits.methods[str(chosen)])
