"""Connect to a Dask cluster, or start one on this machine."""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker

import distributed
from distributed.comm import addressing

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError

_SECONDS_TO_CONNECT = 15.0
# A worker that has only imported its libraries takes about half of this.
_LEAST_MEMORY = 500_000_000


@contextmanager
def connect(
    scheduler: str | None = None, *, workers: int | None = None, memory: int | None = None
) -> Iterator[distributed.Client]:
    """Connect to a scheduler, or run a local cluster inside the `with` block.

    `scheduler` is an address such as ``tcp://host:8786``. Local workers are processes of one
    thread, each with `memory` bytes; by default its share of the machine's.
    """
    if scheduler is not None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _check_scheduler(scheduler)).result()
        with distributed.Client(scheduler, timeout=_SECONDS_TO_CONNECT) as client:
            _check_workers(client, scheduler)
            yield client
        return
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
            with _later_interrupts():
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


@contextmanager
def _later_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block; processes that are started in it never see it.

    Dask and its workers would print tracebacks.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # its start would let interrupts through again
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


async def _check_scheduler(address: str) -> None:
    """Raise unless a scheduler answers: a client would wait, and leave a traceback at the end."""
    try:
        scheme, place = addressing.parse_address(address)
        if scheme in ("tcp", "tls"):  # Dask would try a wrong name again until the time is over
            host, port = addressing.parse_host_port(place)
            socket.create_connection((host, port), _SECONDS_TO_CONNECT).close()
        arguments = distributed.Security().get_connection_args("client")
        answer = distributed.comm.core.connect(address, timeout=_SECONDS_TO_CONNECT, **arguments)
        (await asyncio.wait_for(answer, _SECONDS_TO_CONNECT)).abort()
    # Of any kind: Dask takes the first bytes of a server of another kind for a size in memory.
    except Exception as error:
        reason = str(error) or "it accepts connections, but does not answer"
        raise ConceptorError(
            f"no Dask scheduler responds at {address} ({reason}); check that it is running"
        ) from None


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
