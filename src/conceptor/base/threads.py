"""Process several blocks at once, in order; limits of this machine and of threads of BLAS."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def memory_bytes() -> int:
    """Return how much memory this process may use."""
    limits = [8 << 30]
    with suppress(AttributeError, OSError, ValueError):  # not on Windows
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError, ValueError):  # no such limit here
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits)


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, in all threads of this process, until the last block is left.

    Of overlapping `threadpool_limits`, the second would restore the limit of the first.
    """
    global _blas_limit, _blas_users
    from threadpoolctl import threadpool_limits

    with _blas_lock:
        if not _blas_users:
            _blas_limit = threadpool_limits(1)
            release_blas()
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if not _blas_users:
                _blas_limit.restore_original_limits()
                release_blas()


def release_blas() -> None:
    """Let other threads set the number too: threadpoolctl 3.8 allows only one thread."""
    import threadpoolctl

    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release()


def interruptible(function: Callable[..., Result], *arguments: Any) -> Result:  # noqa: ANN401
    """Call a function in another thread, so that Ctrl-C need not wait for its end."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result()


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], ahead: int = 1
) -> Generator[Result, Any, None]:
    """Yield `function(item)` in order, computed by one thread for each processor.

    At most `ahead` more items than that are in flight. The first exception stops everything.
    """
    threads = processors()
    with ThreadPoolExecutor(max_workers=threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= threads + ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
