"""One file over HTTP: whole and verified, or not at all."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

from conceptor.base.errors import ConceptorError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Bar", "DownloadError", "download"]

CONNECT_SECONDS = 3.0
READ_SECONDS = 30.0
ATTEMPTS = 2
# How long a host that could not be reached is not asked again.
PATIENCE_SECONDS = 30.0


class DownloadError(ConceptorError):
    """A file could not be downloaded; the message is a clause that says why."""


class Bar(Protocol):
    """What a progress bar must do: pooch's (and tqdm's) contract."""

    total: int

    def update(self, amount: int) -> None:
        """Add this many bytes."""

    def reset(self) -> None:
        """Start again from nothing."""

    def close(self) -> None:
        """End the bar."""


def download(
    url: str, target: Path, sha256: str, make_bar: Callable[[], Bar] | None = None
) -> None:
    """Download `url` to `target` if its bytes have this SHA-256.

    pooch writes beside the target, checks the hash and only then renames: neither a broken
    connection nor a killed process leaves anything under the target's name, and two processes
    that fetch one file at once both end with a whole one. A broken connection or a server error
    is tried once more, from the beginning.
    """
    import pooch
    import requests

    host = url.split("/", 3)[2]
    if not _reachable(host, url):
        raise DownloadError(
            f"{host} cannot be reached; connect to the network, then run: conceptor data fetch"
        )
    pooch.get_logger().setLevel("ERROR")
    for attempt in range(1, ATTEMPTS + 1):
        downloader = pooch.HTTPDownloader(
            progressbar=make_bar() if make_bar else False, timeout=(CONNECT_SECONDS, READ_SECONDS)
        )
        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{sha256}",
                fname=target.name,
                path=target.parent,
                downloader=downloader,
            )
        except requests.HTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            if status < 500 or attempt == ATTEMPTS:
                raise DownloadError(f"{url} answers HTTP {status}") from error
        except requests.RequestException as error:
            if attempt == ATTEMPTS:
                _give_up(host)
                name = type(error).__name__
                raise DownloadError(
                    f"the connection to {host} broke ({name}); try again"
                ) from error
        except ValueError as error:
            raise DownloadError(
                f"what {url} sends is refused, its SHA-256 is not the pinned one"
            ) from error
        except OSError as error:
            raise DownloadError(f"{target} cannot be written ({error.strerror})") from error
        else:
            return


_reached: set[str] = set()
_unreachable_since: dict[str, float] = {}


def _reachable(host: str, url: str) -> bool:
    """Whether any answer comes from `host` within a few seconds; a failure is remembered a while.

    Looking up a name can hang far longer than any timeout of the HTTP library where the network is
    down, so the question is asked in a thread that is not waited for.
    """
    if host in _reached:
        return True
    failed = _unreachable_since.get(host)
    if failed is not None and time.monotonic() - failed < PATIENCE_SECONDS:
        return False
    answers: list[bool] = []
    asking = threading.Thread(target=_ask, args=(url, answers), daemon=True)
    asking.start()
    asking.join(2 * CONNECT_SECONDS)
    if any(answers):
        _reached.add(host)
        return True
    _give_up(host)
    return False


def _give_up(host: str) -> None:
    """Ask this host no more for a while, so that many files do not each wait for it."""
    _reached.discard(host)
    _unreachable_since[host] = time.monotonic()


def _ask(url: str, answers: list[bool]) -> None:
    import requests

    try:
        requests.head(url, timeout=CONNECT_SECONDS)
    except requests.RequestException:
        answers.append(False)
    else:
        answers.append(True)
