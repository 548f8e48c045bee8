"""What shards hold, looked at on the cluster, and how the work on them is cut into tasks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import silent
from conceptor.distributed.cluster import Tally, delayed, lost, outcomes
from conceptor.distributed.word_files import WordFileContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conceptor.distributed.content import Layout
    from conceptor.distributed.shards import Shard

# A task handles about this many bytes: seconds of work against a millisecond of scheduling.
TASK_BYTES = 128 << 20
_SHARDS_LOOKED_AT = 32

Item = TypeVar("Item")
Result = TypeVar("Result")
Others = ParamSpec("Others")


class Failure(NamedTuple):
    """Why a shard could not be used; `invalid` where its content is to blame."""

    shard: str
    message: str
    invalid: bool = True


def attempted(
    action: Callable[Concatenate[Shard, Others], Result],
    shard: Shard,
    *others: Others.args,
    **options: Others.kwargs,
) -> Result | Failure:
    """Return the action's result, or why it failed in words, which travel better than errors."""
    try:
        return action(shard, *others, **options)
    except ConceptorError as error:
        said = str(error)
        named = said if str(shard.place) in said else f"{shard.place}: {said}"
        return Failure(shard.name, named, isinstance(error, InvalidInputError))
    except OSError as error:
        return Failure(shard.name, f"{shard.place}: {error.strerror or error}", invalid=False)


def survey(
    shards: Sequence[Shard], *, count: bool = False, dimension: int | None = None
) -> list[Layout | Failure]:
    """Look at all shards; `count` the rows also where this takes a pass over the shard.

    Shards have failed if their vectors are not of `dimension`, by default that of most shards.
    """
    step = 1 if count else _SHARDS_LOOKED_AT
    groups = [shards[i : i + step] for i in range(0, len(shards), step)]
    run = Tally("listing", [None] * len(groups), silent)
    found: dict[int, list[Layout | Failure]] = {}
    for i, result in outcomes([delayed(_look, pure=False)(g, count) for g in groups], run):
        if isinstance(result, BaseException):
            result = [Failure(shard.name, lost(result), invalid=False) for shard in groups[i]]
        found[i] = result
    layouts = [layout for i in range(len(groups)) for layout in found[i]]
    return _agreeing(shards, layouts, dimension)


def _look(shards: Iterable[Shard], count: bool) -> list[Layout | Failure]:
    return [attempted(_layout, shard, count) for shard in shards]


def _layout(shard: Shard, count: bool) -> Layout:
    content = shard.content
    layout = content.layout()
    if count and isinstance(content, WordFileContent):
        rows = content.count()
        layout = layout._replace(rows=rows, cuts=(0, rows))
    return layout


def _agreeing(
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
            f"{shard.place}: vectors of {layout.dimension} numbers instead of {wanted}",
        )
        if not isinstance(layout, Failure) and layout.dimension not in (None, wanted)
        else layout
        for shard, layout in zip(shards, layouts, strict=True)
    ]


def rows_in(counts: Iterable[int | None]) -> int | None:
    """Add up rows, if all are known."""
    known = list(counts)
    return None if None in known else sum(filter(None, known))


def packed(items: Iterable[Item], size: Callable[[Item], int]) -> list[tuple[Item, ...]]:
    """Put consecutive items together while they make no more than a task."""
    packs: list[list[Item]] = []
    room = 0
    for item in items:
        if not packs or size(item) > room:
            packs.append([])
            room = TASK_BYTES
        packs[-1].append(item)
        room -= size(item)
    return [tuple(pack) for pack in packs]


def complaint(failures: Sequence[Failure]) -> str:
    """Name the first failure, and how many more there are."""
    more = f" (and {len(failures) - 1} more shards)" if len(failures) > 1 else ""
    return f"{failures[0].message}{more}"
