"""Process several blocks at once: results in order, only a few blocks in memory."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

Item = TypeVar("Item")
Result = TypeVar("Result")


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, Any, None]:
    """Yield `function(item)` in order, computed by `threads` threads that run a little ahead.

    At most `threads + 1` items are in flight. The first exception stops everything.
    """
    with ThreadPoolExecutor(max_workers=threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def prefetch(items: Iterable[Item]) -> Generator[Item, Any, None]:
    """Fetch the next item in a thread while the caller works on this one."""
    iterator = iter(items)
    end = object()
    with ThreadPoolExecutor(max_workers=1) as pool:
        coming = pool.submit(next, iterator, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, iterator, end)
            yield item  # type: ignore[misc]
