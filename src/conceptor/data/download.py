"""Download one file over HTTP: complete and verified, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from conceptor.base.errors import ConceptorError

CONNECT_SECONDS = 3.0
READ_SECONDS = 30.0
ATTEMPTS = 2


class DownloadError(ConceptorError):
    """A file could not be downloaded; the message is a clause with the reason."""


class ConnectionFailedError(DownloadError):
    """The host cannot be reached or hangs up, so do not ask it for another file."""


def download(
    url: str, target: Path, sha256: str, make_bar: Callable[[], object] | None = None
) -> None:
    """Download `url` to `target` if its bytes have this SHA-256.

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
        try:
            pooch.retrieve(url, f"sha256:{sha256}", target.name, target.parent, None, downloader)
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
