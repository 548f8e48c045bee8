"""Limits for slow and greedy clients: time to send a request's head, connections per client.

uvicorn waits forever for the head of a request, and counts such connections like any others: one
client that holds a thousand of them open would lock everybody else out.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    import asyncio

# Seconds from a connection, or the first byte after an answer, to the end of the head.
HEAD_SECONDS = 10.0
# Maximum connections per client; a browser opens six.
MOST_CONNECTIONS = 100
_open: Counter[str] = Counter()


class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """uvicorn's protocol, with these limits."""

    _place: str | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401
        """Count the connection; refuse it if there are too many."""
        super().connection_made(transport)
        self._place = client_of(transport.get_extra_info("peername"))
        _open[self._place] += 1
        if _open[self._place] > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Continue reading; stop the clock if the head is complete, else start it."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._timer is None:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        if self._place is not None:
            _open[self._place] -= 1
            if not _open[self._place]:
                del _open[self._place]
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def client_of(peer: Any) -> str:  # noqa: ANN401
    """Return a client's identity: its address, or its IPv6 network, which one client may own."""
    host = str(peer[0]) if peer else ""
    with suppress(ValueError):
        if ipaddress.ip_address(host).version == 6:
            return str(ipaddress.ip_network((host, 64), strict=False))
    return host
