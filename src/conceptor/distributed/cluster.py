"""Where tasks run: on the current Dask client, or on threads of this process."""

from __future__ import annotations

import asyncio
import importlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import distributed
from dask.base import compute

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from dask.delayed import Delayed


_SECONDS_TO_CONNECT = 15.0
# A worker that has only imported its libraries takes about half of this.
_LEAST_MEMORY = 500_000_000


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
            _check_workers(client, scheduler)
            yield client
        return
    if workers is not None and workers < 1:
        raise InvalidInputError(f"workers is {workers}; it must be at least 1")
    if memory is not None and memory < _LEAST_MEMORY:
        raise InvalidInputError(
            f"the memory of each worker is {memory / 1e6:,.0f} MB; it must be at least "
            f"{_LEAST_MEMORY / 1e6:,.0f} MB"
        )
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


def _check_workers(client: distributed.Client, scheduler: str) -> None:
    """Raise if no worker joins soon, or if a worker cannot import this library."""
    try:
        client.wait_for_workers(1, timeout=_SECONDS_TO_CONNECT)
        probe = client.submit(importlib.import_module, "conceptor", pure=False)
        error = probe.exception(timeout=_SECONDS_TO_CONNECT)
    except TimeoutError:
        raise ConceptorError(
            f"no Dask worker of {scheduler} responds; check that workers are running"
        ) from None
    if error is not None:
        raise ConceptorError(
            f"the workers of {scheduler} cannot import conceptor ({error}); install it there"
        )


def run_tasks(tasks: Sequence[Delayed]) -> Iterator[tuple[int, Any]]:
    """Run tasks; yield each one's index and its result, or the exception it failed with."""
    try:
        client = distributed.get_client()
    except ValueError:
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
                "the scheduler was lost or the work was canceled; repeat the same call to continue "
                "with the remaining shards"
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
