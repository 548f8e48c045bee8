"""Where tasks run: the current Dask client or this process's threads; and who hears of them."""

from __future__ import annotations

import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import distributed
from dask.base import compute
from dask.delayed import Delayed, delayed

from conceptor.base.errors import ConceptorError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conceptor.base.progress import Progress

_TOPIC = "conceptor"
_SECONDS_BETWEEN_NEWS = 1.0
_SECONDS_TO_CONNECT = 15.0


@contextmanager
def connected(
    scheduler: str | None = None, *, workers: int | None = None, memory: int | None = None
) -> Iterator[distributed.Client]:
    """Connect to a scheduler, or start a cluster of processes on this machine for a while.

    Parameters
    ----------
    scheduler
        Address of a running scheduler, such as ``tcp://host:8786``.
    workers
        Without one: how many processes to start, each with one thread.
    memory
        Bytes each of them may use; by default its share of the machine's.
    """
    if scheduler is not None:
        try:
            # Not the default one yet: a client that fails to connect would stay behind as such.
            client = distributed.Client(
                scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise ConceptorError(
                f"no Dask scheduler answers at {scheduler} ({error}); is it running there?"
            ) from None
        with client, client.as_current():
            yield client
        return
    if workers is not None and workers < 1:
        raise InvalidInputError(f"a cluster has at least one worker, not {workers}")
    # The dashboard takes any free port: the usual one may belong to another cluster.
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit="auto" if memory is None else memory,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def current_client() -> distributed.Client | None:
    """Return the client tasks go to, if there is one."""
    try:
        return distributed.get_client()
    except ValueError:
        return None


class Teller:
    """Tells from within a task how far it is, once a second at most."""

    def __init__(self, run: str, unit: int) -> None:
        self._run, self._unit = run, unit
        self._before = 0
        self._last = time.monotonic()

    def __call__(self, rows: int) -> None:
        """Take the rows done of the shard at hand."""
        if time.monotonic() - self._last > _SECONDS_BETWEEN_NEWS:
            self._tell(self._before + rows)

    def shard_done(self, rows: int) -> None:
        """Take all the rows of the shard at hand; another may follow."""
        self._before += rows
        self._tell(self._before)

    def _tell(self, rows: int) -> None:
        self._last = time.monotonic()
        try:
            worker = distributed.get_worker()
        except ValueError:  # a thread of this process, no worker
            return
        worker.log_event(_TOPIC, {"run": self._run, "unit": self._unit, "rows": rows})


class Tally:
    """How far a set of tasks is: rows done by each unit, however often it was begun anew.

    Parameters
    ----------
    label, progress
        What is called, by which name.
    rows
        How many rows each unit has, where that is known.
    """

    def __init__(self, label: str, rows: Sequence[int | None], progress: Progress) -> None:
        self.id = uuid4().hex
        self._label, self._progress = label, progress
        self._total = None if None in rows else sum(filter(None, rows))
        self._rows: dict[int, int] = {}

    def teller(self, unit: int) -> Teller:
        """Return what the task of a unit reports to."""
        return Teller(self.id, unit)

    def heard(self, event: Any) -> None:  # noqa: ANN401
        """Take an event from a worker."""
        _, news = event
        if isinstance(news, dict) and news.get("run") == self.id:
            unit = news["unit"]
            self._rows[unit] = max(news["rows"], self._rows.get(unit, 0))
            rows = sum(self._rows.values())
            self._progress(self._label, rows / self._total if self._total else None, rows)

    @contextmanager
    def followed(self) -> Iterator[distributed.Client | None]:
        """Yield the current client, listening to its workers."""
        client = current_client()
        if client is None:
            yield None
            return
        client.subscribe_topic(_TOPIC, self.heard)
        try:
            yield client
        finally:
            client.unsubscribe_topic(_TOPIC)


def outcomes(tasks: Sequence[Delayed], tally: Tally) -> Iterator[tuple[int, Any]]:
    """Yield each task's position and result as it finishes; a lost task's result is its error."""
    with tally.followed() as client:
        if client is None:
            yield from enumerate(compute(*tasks))
            return
        with warnings.catch_warnings():
            # A map of a thousand dimensions or counts of a million words are meant to be there:
            # in the graph they survive any worker.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            futures = client.compute(list(tasks))
        position = {future.key: i for i, future in enumerate(futures)}
        for future in distributed.as_completed(futures):
            if future.cancelled():
                raise ConceptorError(
                    "the scheduler was lost, or someone cancelled the work; once it is there "
                    "again, the same call goes on with what is not done"
                )
            error = future.exception()
            yield position[future.key], future.result() if error is None else error
            future.release()


def lost(error: BaseException) -> str:
    """Say what became of a task that no worker could finish."""
    if isinstance(error, distributed.scheduler.KilledWorker):
        return (
            "workers died over it again and again, probably out of memory; give them more, "
            "or look into their logs"
        )
    return f"{type(error).__name__}: {error}"


__all__ = [
    "Delayed",
    "Tally",
    "Teller",
    "connected",
    "current_client",
    "delayed",
    "lost",
    "outcomes",
]
