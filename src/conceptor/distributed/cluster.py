"""Where tasks run (the current Dask client, or threads here) and how they report progress."""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import distributed
from dask.base import compute

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dask.delayed import Delayed

    from conceptor.base.progress import Progress

_TOPIC = "conceptor"
_SECONDS_BETWEEN_REPORTS = 1.0
_SECONDS_TO_CONNECT = 15.0


@contextmanager
def connect(
    scheduler: str | None = None, *, workers: int | None = None, memory: int | None = None
) -> Iterator[distributed.Client]:
    """Connect to a scheduler, or run a local cluster of processes inside the `with` block.

    Parameters
    ----------
    scheduler
        Address of a running scheduler, such as ``tcp://host:8786``.
    workers
        Number of local processes to start if no scheduler is given, each with one thread.
    memory
        Memory limit of each local process in bytes; by default its share of the machine's.
    """
    if scheduler is not None:
        try:
            # Not the default yet: a client that fails to connect would remain the default.
            client = distributed.Client(
                scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise ConceptorError(
                f"no Dask scheduler responds at {scheduler} ({error}); check that it is running"
            ) from None
        with client, client.as_current():
            yield client
        return
    if workers is not None and workers < 1:
        raise InvalidInputError(f"workers is {workers}; it must be at least 1")
    try:
        # Anyone who can reach a scheduler can run code in its workers, so connections are secured.
        security = distributed.Security.temporary()
    except ImportError:
        raise MissingExtraError("encrypting a local cluster", "dask") from None
    with ExitStack() as stack:
        try:
            # The dashboard takes any free port: the default may belong to another cluster.
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit="auto" if memory is None else memory,
                dashboard_address="127.0.0.1:0",
                security=security,
                silence_logs=logging.CRITICAL,
            )
            stack.enter_context(cluster)
            client = stack.enter_context(distributed.Client(cluster))
        except (OSError, RuntimeError, asyncio.CancelledError) as error:
            raise ConceptorError(
                f"the local workers could not be started ({type(error).__name__}: {error}); try "
                "fewer, or with more memory"
            ) from error
        yield client


class Reporter:
    """Reports a task's progress from inside it, at most once per second."""

    def __init__(self, run: str, unit: int) -> None:
        self._run, self._unit = run, unit
        self._before = 0
        self._last = time.monotonic()

    def __call__(self, rows: int) -> None:
        """Report how many rows of the current shard are done."""
        if time.monotonic() - self._last > _SECONDS_BETWEEN_REPORTS:
            self._send(self._before + rows)

    def finish_shard(self, rows: int) -> None:
        """Count the current shard as done; another may follow."""
        self._before += rows
        self._send(self._before)

    def _send(self, rows: int) -> None:
        self._last = time.monotonic()
        try:
            worker = distributed.get_worker()
        except ValueError:  # a thread of this process, not a worker
            return
        worker.log_event(_TOPIC, {"run": self._run, "unit": self._unit, "rows": rows})


class Tally:
    """Progress of a set of tasks: rows done by each, even if a task is restarted.

    Parameters
    ----------
    label, progress
        The progress callback, and the label to pass to it.
    rows
        Number of rows of each task, None if unknown.
    """

    def __init__(self, label: str, rows: Sequence[int | None], progress: Progress) -> None:
        self.id = uuid4().hex
        self._label, self._progress = label, progress
        self._total = None if None in rows else sum(filter(None, rows))
        self._rows: dict[int, int] = {}

    def reporter(self, unit: int) -> Reporter:
        """Return the reporter for one task."""
        return Reporter(self.id, unit)

    def receive(self, event: Any) -> None:  # noqa: ANN401
        """Handle an event from a worker."""
        _, report = event
        if isinstance(report, dict) and report.get("run") == self.id:
            unit = report["unit"]
            self._rows[unit] = max(report["rows"], self._rows.get(unit, 0))
            rows = sum(self._rows.values())
            self._progress(self._label, rows / self._total if self._total else None, rows)

    @contextmanager
    def listen(self) -> Iterator[distributed.Client | None]:
        """Yield the current client while listening to its workers."""
        try:
            client = distributed.get_client()
        except ValueError:
            client = None
        if client is None:
            yield None
            return
        client.subscribe_topic(_TOPIC, self.receive)
        try:
            yield client
        finally:
            client.unsubscribe_topic(_TOPIC)


def run_tasks(tasks: Sequence[Delayed], tally: Tally) -> Iterator[tuple[int, Any]]:
    """Run tasks; yield each one's index and its result, or the exception it failed with."""
    with tally.listen() as client:
        if client is None:
            yield from enumerate(compute(*tasks))
            return
        with warnings.catch_warnings():
            # Large maps and word counts belong in the graph: there they survive any worker.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            futures = client.compute(list(tasks))
        position = {future.key: i for i, future in enumerate(futures)}
        for future in distributed.as_completed(futures):
            if future.cancelled():
                raise ConceptorError(
                    "the scheduler was lost or the work was cancelled; repeat the same call to "
                    "continue with the remaining shards"
                )
            error = future.exception()
            yield position[future.key], future.result() if error is None else error
            future.release()


def describe_error(error: BaseException) -> str:
    """Explain why a task failed."""
    if isinstance(error, distributed.scheduler.KilledWorker):
        return (
            "workers repeatedly died on this task, probably out of memory; give them more "
            "memory, or check their logs"
        )
    return f"{type(error).__name__}: {error}"
