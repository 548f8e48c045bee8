"""Download one file over HTTP: complete and verified, or not at all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from conceptor.base.errors import ConceptorError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONNECT_SECONDS = 3.0
READ_SECONDS = 30.0
ATTEMPTS = 2
# The time limit of a file: this long, plus a second for this many bytes.
GRACE_SECONDS = 60.0
SLOWEST = 20_000


class DownloadError(ConceptorError):
    """A file could not be downloaded; the message is a clause with the reason."""


class ConnectionFailedError(DownloadError):
    """The host cannot be reached or hangs up, so do not ask it for another file."""


class _LimitedFile:
    """A file that refuses more than `size` bytes, or any bytes after its time limit."""

    def __init__(self, file: BinaryIO, url: str, size: int) -> None:
        self._file = file
        self._url = url
        self._size = self._left = size
        self._seconds = GRACE_SECONDS + size / SLOWEST
        self._end = time.monotonic() + self._seconds

    def write(self, data: bytes) -> int:
        """Write to the file."""
        self._left -= len(data)
        if self._left < 0:
            raise DownloadError(f"{self._url} sent more than the {self._size} bytes expected")
        if time.monotonic() > self._end:
            raise ConnectionFailedError(f"{self._url} took longer than {self._seconds:.0f} s")
        return self._file.write(data)

    def flush(self) -> None:
        """Pass it on."""
        self._file.flush()


def download(
    url: str,
    target: Path,
    sha256: str,
    make_bar: Callable[[], object] | None = None,
    size: int = 1 << 40,
) -> None:
    """Download `url` to `target` if its bytes have this SHA-256; `size` is the limit on its bytes.

    pooch writes beside the target, checks the hash and only then renames: neither a broken
    connection nor a killed process leaves anything under the target's name, and two processes
    that fetch the same file at once both get a complete one. After a broken connection
    or a server error it starts over once.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    host = urlsplit(url).netloc
    for attempt in range(1, ATTEMPTS + 1):
        downloader = pooch.HTTPDownloader(
            progressbar=make_bar() if make_bar else False, timeout=(CONNECT_SECONDS, READ_SECONDS)
        )

        def fetch(url: str, path: str, pool: object, get: Any = downloader) -> None:  # noqa: ANN401
            with open(path, "wb") as file:
                get(url, _LimitedFile(file, url, size), pool)

        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{sha256}",
                fname=target.name,
                path=target.parent,
                downloader=fetch,
            )
        except requests.HTTPError as error:
            status = getattr(error.response, "status_code", 0)
            if status < 500 or attempt == ATTEMPTS:
                raise DownloadError(f"{url} answered HTTP {status}") from error
        except requests.ConnectionError as error:
            raise ConnectionFailedError(
                f"{host} cannot be reached ({type(error).__name__}); connect to the network, then "
                "run: conceptor data fetch"
            ) from error
        except requests.RequestException as error:
            if attempt == ATTEMPTS:
                raise ConnectionFailedError(
                    f"the connection to {host} broke ({type(error).__name__}); try again"
                ) from error
        except ValueError as error:
            raise DownloadError(f"{url} sent a file with the wrong SHA-256") from error
        except OSError as error:
            raise DownloadError(f"{target} cannot be written ({error.strerror})") from error
        else:
            return
