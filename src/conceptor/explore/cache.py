"""A small cache for expensive results: each is computed once, and the last few are kept."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Made = TypeVar("Made")


class Cache(Generic[Made]):
    """The most recent results, by key; concurrent callers share one computation."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, Future[Made]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the result for this key; compute it if it is missing, and drop the oldest."""
        with self._lock:
            future = self._kept.get(key)
            is_new = future is None
            if future is None:
                future = self._kept[key] = Future()
            self._kept.move_to_end(key)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        if is_new:
            try:
                future.set_result(make())
            except BaseException as error:
                self.forget(key)
                future.set_exception(error)
        return future.result()

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            found = self._kept.get(key)
            return found is not None and found.done()

    def forget(self, key: Hashable) -> None:
        """Drop a result, so that the next caller computes it again."""
        with self._lock:
            self._kept.pop(key, None)
