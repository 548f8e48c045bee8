from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from conceptor.explore.cache import Cache


def test_what_was_last_asked_for_is_kept():
    made = []
    cache = Cache(2)

    def ask(key):
        return cache.get(key, lambda: made.append(key) or key.upper())

    assert [ask(key) for key in "abacab"] == list("ABACAB")
    assert made == ["a", "b", "c", "b"]  # a was asked for after b, so c took the place of b


def test_those_who_ask_at_once_wait_for_one_making():
    made, go = [], Event()
    cache = Cache(2)

    def make():
        go.wait(30)
        made.append(1)
        return object()

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(cache.get, "key", make) for _ in range(8)]
        go.set()
        assert len({id(future.result(30)) for future in futures}) == 1
    assert made == [1]


def test_a_failure_is_not_kept():
    cache = Cache(2)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cache.get("key", lambda: 1 // 0)
    assert cache.get("key", lambda: 7) == 7
