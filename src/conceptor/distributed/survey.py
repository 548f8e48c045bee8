"""Survey shards on the cluster, and divide the work into tasks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

from dask.delayed import delayed

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import silent
from conceptor.distributed.cluster import Tally, describe_error, run_tasks
from conceptor.distributed.content import Need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conceptor.distributed.content import Layout
    from conceptor.distributed.shards import Shard

# A task handles about this many bytes: seconds of work for a millisecond of scheduling.
TASK_BYTES = 128 << 20
_SHARDS_PER_TASK = 32

Item = TypeVar("Item")
Result = TypeVar("Result")
Others = ParamSpec("Others")


class Failure(NamedTuple):
    """Why a shard could not be used; `invalid` if its content is at fault."""

    shard: str
    message: str
    invalid: bool = True


def attempt(
    action: Callable[Concatenate[Shard, Others], Result],
    shard: Shard,
    *others: Others.args,
    **options: Others.kwargs,
) -> Result | Failure:
    """Return the action's result, or a Failure: text travels between processes, errors may not."""
    try:
        return action(shard, *others, **options)
    except ConceptorError as error:
        message = str(error)
        if str(shard.place) not in message:
            message = f"{shard.place}: {message}"
        return Failure(shard.name, message, isinstance(error, InvalidInputError))
    except OSError as error:
        where = error.filename or shard.place
        return Failure(shard.name, f"{where}: {error.strerror or error}", invalid=False)


def survey(
    shards: Sequence[Shard], *, count: bool = False, dimension: int | None = None
) -> list[Layout | Failure]:
    """Return each shard's layout; with `count`, count rows even if that takes a full pass.

    A shard fails if its vectors do not have `dimension`, by default that of most shards.
    """
    step = 1 if count else _SHARDS_PER_TASK
    groups = [shards[i : i + step] for i in range(0, len(shards), step)]
    tally = Tally("listing", [None] * len(groups), silent)
    tasks = [delayed(_survey_group, pure=False)(group, count) for group in groups]
    found: dict[int, Sequence[Layout | Failure]] = {}
    for i, result in run_tasks(tasks, tally):
        found[i] = fail_all(groups[i], result) if isinstance(result, BaseException) else result
    layouts = [layout for i in range(len(groups)) for layout in found[i]]
    return _check_dimensions(shards, layouts, dimension)


def fail_all(shards: Iterable[Shard], error: BaseException) -> list[Failure]:
    """Return a failure for each shard of a task that no worker could finish."""
    why = describe_error(error)
    return [Failure(shard.name, f"{shard.place}: {why}", invalid=False) for shard in shards]


def _survey_group(shards: Iterable[Shard], count: bool) -> list[Layout | Failure]:
    return [attempt(_layout, shard, count) for shard in shards]


def _layout(shard: Shard, count: bool) -> Layout:
    content = shard.content
    layout = content.layout()
    if count and layout.rows is None:
        rows = sum(len(part.vectors) for part in content.read(0, None, Need()))
        layout = layout._replace(rows=rows, cuts=(0, rows))
    return layout


def _check_dimensions(
    shards: Sequence[Shard], layouts: Sequence[Layout | Failure], dimension: int | None
) -> list[Layout | Failure]:
    found = Counter(
        layout.dimension
        for layout in layouts
        if not isinstance(layout, Failure) and layout.dimension is not None
    )
    wanted = dimension or max(found, key=found.__getitem__, default=None)
    return [
        Failure(
            shard.name,
            f"{shard.place}: vectors have length {layout.dimension}, expected {wanted}",
        )
        if not isinstance(layout, Failure) and layout.dimension not in (None, wanted)
        else layout
        for shard, layout in zip(shards, layouts, strict=True)
    ]


def sum_rows(counts: Iterable[int | None]) -> int | None:
    """Add up row counts; None if any is unknown."""
    known = list(counts)
    return None if None in known else sum(filter(None, known))


def group_by_size(items: Iterable[Item], size: Callable[[Item], int]) -> list[tuple[Item, ...]]:
    """Group consecutive items, each group no larger than a task unless it is a single item."""
    groups: list[list[Item]] = []
    room = 0
    for item in items:
        if not groups or size(item) > room:
            groups.append([])
            room = TASK_BYTES
        groups[-1].append(item)
        room -= size(item)
    return [tuple(group) for group in groups]


def summarize(failures: Sequence[Failure]) -> str:
    """Return the first failure's message and how many more there are."""
    more = f" (and {len(failures) - 1} more shards)" if len(failures) > 1 else ""
    return f"{failures[0].message}{more}"
