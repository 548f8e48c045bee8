"""Fit a method to shards and write the mapped shards: one task for each shard and pass.

A task reads or writes its shard like any other file. Results are added up in the order of the
shards, so a cluster gives the same bits as one machine, for any number of workers.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from typing import Any

import distributed

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.files import replace_atomically
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.distributed.shards import (
    Paths,
    Shard,
    find_shards,
    local_copy,
    open_file_system,
    open_shards,
    publishing,
)
from conceptor.fit import FitOptions, Gathered, fit_methods, gather
from conceptor.methods import MethodLike
from conceptor.postprocessing import Report, choose_method, convert
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.vectors import Vectors
from conceptor.weights import Weights

MAP_NAME = "map.safetensors"
RECORD = "shards.json"


def _attempt(action: Callable[..., Any], shard: Shard, *arguments: Any) -> Any:  # noqa: ANN401
    """Return the action's result, or an error that survives the way between processes."""
    try:
        return action(shard, *arguments)
    except ConceptorError as error:
        kind = InvalidInputError if isinstance(error, InvalidInputError) else ConceptorError
        return kind(str(error) if str(shard) in str(error) else f"{shard}: {error}")
    except OSError as error:
        return ConceptorError(f"{error.filename or shard}: {error.strerror or error}")


def _result(future: Any, shard: Shard) -> Any:  # noqa: ANN401
    """Return a task's result, or the error it failed with; raise if the scheduler was lost."""
    try:
        return future.result()
    except CancelledError:
        raise ConceptorError(
            "the scheduler was lost or the work was canceled; repeat the same call to continue "
            "with the remaining shards"
        ) from None
    except distributed.scheduler.KilledWorker:
        return ConceptorError(
            f"{shard}: workers repeatedly died on this task, probably out of memory; give them "
            "more memory, or check their logs"
        )
    except Exception as error:
        return ConceptorError(f"{shard}: {type(error).__name__}: {error}")
    finally:
        future.release()


def run_tasks(
    action: Callable[[Shard], Any], shards: Sequence[Shard], label: str, progress: Progress
) -> Iterator[tuple[Shard, Any]]:
    """Run an action on each shard; yield shards and results, or errors, in order."""
    attempt = partial(_attempt, action)
    results: Iterator[Any]
    try:
        client = distributed.get_client()
    except ValueError:  # there is none
        results = map(attempt, shards)
    else:
        with warnings.catch_warnings():
            # Large maps and word counts belong in the graph: there they survive any worker.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            results = map(_result, client.map(attempt, shards, pure=False), shards)
    for number, (shard, result) in enumerate(zip(shards, results, strict=True), start=1):
        progress(label, number / len(shards), 0)
        yield shard, result


def _count(shard: Shard) -> int:
    with shard.open() as vectors:
        return vectors.count or sum(len(labels) for labels, _ in vectors.chunks())


def _gather(
    shard: Shard,
    before: Mapping[str, int],
    dimension: int,
    weights: Sequence[Weights],
    usage: Weights | None,
) -> Gathered:
    with shard.open() as vectors:
        if vectors.dimension != dimension:
            raise InvalidInputError(
                f"{shard}: vectors have length {vectors.dimension}, expected {dimension}"
            )
        gathered = gather(vectors, weights, usage=usage, before=before.get(shard.name, 0))
    # By number: weights are compared by identity, and a task works on copies.
    numbered: Any = {i: gathered.moments[e] for i, e in enumerate(weights) if e in gathered.moments}
    return replace(gathered, moments=numbered)


def gather_shards(
    shards: Sequence[Shard],
    failures: dict[str, ConceptorError],
    vectors: Vectors,
    weights: Collection[Weights],
    *,
    usage: Weights | None = None,
    progress: Progress = silent,
    **_: object,
) -> Gathered:
    """Read all shards once, as `gather` does for a file; errors are noted by name of the shard."""
    chosen = list(weights)
    before: dict[str, int] = {}
    if any(each and (each.kind == "zipf" or each.top is not None) for each in (*chosen, usage)):
        rows = 0
        for shard, count in run_tasks(_count, shards, "counting", progress):
            before[shard.name] = rows
            rows += 0 if isinstance(count, ConceptorError) else count
    action = partial(
        _gather, before=before, dimension=vectors.dimension, weights=chosen, usage=usage
    )
    total = Gathered()
    for shard, result in run_tasks(action, shards, "moments", progress):
        if isinstance(result, ConceptorError):
            failures[shard.name] = result
        else:
            ours = {chosen[i]: each for i, each in result.moments.items()}
            total += replace(result, moments=ours)
    if not total.count:
        raise _join(failures)
    return total


def _join(failures: Mapping[str, ConceptorError], done: str = "") -> ConceptorError:
    """Return one error for those of several shards."""
    errors = list(failures.values())
    more = f" (and {len(errors) - 1} more shards)" if len(errors) > 1 else ""
    is_input = all(isinstance(each, InvalidInputError) for each in errors)
    return (InvalidInputError if is_input else ConceptorError)(f"{errors[0]}{more}{done}")


def _check_unchanged(shards: Sequence[Shard], states: Mapping[str, str]) -> None:
    """Raise if a shard is not in the state in which the map was estimated from it."""
    for shard in shards:
        if states.get(shard.name, shard.state) != shard.state:
            raise InvalidInputError(
                f"{shard}: changed after the map was estimated; start over with --force"
            )


def map_shard(shard: Shard, fs: Any, folder: str, map_: AffineMap) -> int:  # noqa: ANN401
    """Write a shard through a map; return its number of rows."""
    with (
        one_blas_thread(),
        shard.open() as vectors,
        publishing(fs, f"{folder}/{shard.name}") as target,
    ):
        return convert(vectors, target, map_, force=True).words


def _read_record(
    fs: Any,  # noqa: ANN401
    folder: str,
    request: dict[str, str],
    force: bool,
) -> dict[str, dict[str, Any]]:
    """Return `shards.json`: the request, shards that are done, and the states fitted to."""
    new: dict[str, dict[str, Any]] = {"request": request, "done": {}, "estimated": {}}
    path = f"{folder}/{RECORD}"
    if force:
        return new
    if not fs.exists(path):
        if fs.exists(folder) and fs.ls(folder):
            raise InvalidInputError(
                f"{folder}: exists and holds other files; name another directory, or replace it "
                "with --force"
            )
        return new
    try:
        content = json.loads(fs.cat_file(path))
        record = {name: dict(content[name]) for name in new}
        done = record["done"].values()
        if not all((type(e["state"]), type(e["words"])) == (str, int) for e in done):
            raise TypeError
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidInputError(f"{path}: damaged; start over with --force") from None
    old = record["request"]
    for name in sorted({*old, *request}):
        if old.get(name) != request.get(name):
            raise InvalidInputError(
                f"{folder}: was written with {name} {old.get(name)}, not {request.get(name)}; "
                "name another directory, or start over with --force"
            )
    return record


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
    progress: Progress = silent,
) -> Report:
    """Fit a method to shards and write the mapped shards to a directory.

    `source` is a file, a directory, a pattern, or a list of these; paths may be URLs that fsspec
    knows. Tasks run on the current `distributed.Client`, or in this process if there is none.

    The map is saved in the directory as `map.safetensors`. Called again after a crash with the
    same settings, this loads the map and continues with the remaining shards. A shard with a bad
    row (NaN, for example) is left out of the moments and not written, and after all others are
    done an error names it. Once it is fixed, the same call writes it with the same map.
    """
    started = time.perf_counter()
    options = options or FitOptions()
    shards = find_shards(source, column, rows)
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
    fs, folder = open_file_system(os.fspath(target))
    folder = folder.rstrip("/")
    record = _read_record(fs, folder, request, force)
    if not {shard.path for shard in shards}.isdisjoint(f"{folder}/{e.name}" for e in shards):
        raise InvalidInputError(f"{folder}: is the input; write to another directory")

    saved = f"{folder}/{MAP_NAME}"
    unread: dict[str, ConceptorError] = {}
    fits = None
    if record["done"] and fs.exists(saved):
        with local_copy(fs, saved) as path:
            map_ = AffineMap.load(path)
    else:
        gatherer = partial(gather_shards, shards, unread)
        fits = fit_methods(
            vectors, [chosen], options, doubts=False, gatherer=gatherer, progress=progress
        )
        map_ = fits.methods[str(chosen)].map
        with publishing(fs, saved) as path:
            map_.save(path)
        record["estimated"] = {e.name: e.state for e in shards if e.name not in unread}
        shards = find_shards(source, column, rows)
    _check_unchanged(shards, record["estimated"])
    if save_map is not None:
        map_.save(save_map)

    missing = []
    for shard in shards:
        is_same = record["done"].get(shard.name, {}).get("state") == shard.state
        if not (is_same and fs.exists(f"{folder}/{shard.name}")):
            missing.append(shard)
    _save_record(fs, folder, record)
    failures: dict[str, ConceptorError] = {}
    action = partial(map_shard, fs=fs, folder=folder, map_=map_)
    for shard, result in run_tasks(action, missing, "writing", progress):
        if isinstance(result, ConceptorError):
            failures[shard.name] = result
        else:
            record["done"][shard.name] = {"state": shard.state, "words": result}
            _save_record(fs, folder, record)
    for file in fs.find(folder):
        name = file.rpartition("/")[2]
        if name.startswith(".") and name.endswith(".partial"):  # of a worker that was killed
            fs.rm_file(file)
    if failures:
        raise _join(
            failures,
            f"; the other {len(shards) - len(failures)} of {len(shards)} shards are done: fix this "
            "and repeat the same call to finish the rest",
        )
    _check_unchanged(find_shards(source, column, rows), record["estimated"])
    seconds = time.perf_counter() - started
    words = sum(record["done"][shard.name]["words"] for shard in shards)
    megabytes = sum(shard.size for shard in shards) / 1e6
    report = Report(words, map_.n_out, seconds, megabytes / seconds, str(vectors.kind))
    report.method = str(chosen)
    if len(missing) < len(shards):
        done = len(shards) - len(missing)
        report.remarks.append(f"{done} of {len(shards)} shards were already done")
    if unread:
        error = next(iter(unread.values()))
        report.remarks.append(f"the map was estimated without: {error}")
    if fits is None:
        return report
    report.remarks += fits.cautions
    return report.describe(fits.methods[str(chosen)])


def _save_record(fs: Any, folder: str, record: object) -> None:  # noqa: ANN401
    with publishing(fs, f"{folder}/{RECORD}") as path, replace_atomically(path) as beside:
        beside.write_text(json.dumps(record, indent=1), encoding="utf-8")
