"""Find what is installed, cached and available on this machine, for `conceptor doctor`."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from conceptor.base.threads import processors
from conceptor.data.registry import cache_directory, find, registry
from conceptor.kernels.stored import cache_directories

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# As in "numpy>=2.0; extra == 'test'", the form of requirements in installed packages.
_REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+)\s*(?:\[[^]]*\])?(?P<bounds>[^;]*)(?:;.*extra\s*==\s*["'](?P<extra>[\w-]+)["'])?"""
)
# Extras for developers of the package.
_DEVELOPERS = ("docs", "test")
_LOWER = re.compile(r">=\s*([\d.]+)")


@dataclass(frozen=True)
class Installation:
    """A report on the installation.

    Attributes
    ----------
    system : mapping of str to str
        Versions of this package, of Python and of the system; processors; BLAS.
    packages : mapping of str to str or None
        The version of each package this one needs.
    extras : mapping of str to sequence of str
        For each extra, its missing packages; empty if it is installed.
    caches : mapping of str to str
        Where compiled loops and downloaded files are kept.
    data : mapping of str to tuple of int
        For each kind of benchmark file, the number found, and the total.
    problems : sequence of str
        Each problem, and how to fix it.
    """

    system: Mapping[str, str]
    packages: Mapping[str, str | None]
    extras: Mapping[str, Sequence[str]]
    caches: Mapping[str, str]
    data: Mapping[str, tuple[int, int]]
    problems: Sequence[str]


def examine(data: Path | None = None) -> Installation:
    """Inspect the installation, without the network."""
    from conceptor import __version__

    core, extras = _requirements()
    versions = {name: _version(name) for name in core}
    missing = {
        extra: [name for name in names if _version(name) is None] for extra, names in extras.items()
    }
    found: dict[str, tuple[int, int]] = {}
    for file in registry().values():
        kind = file.name.partition("/")[0] if "/" in file.name else "demo"
        here, total = found.get(kind, (0, 0))
        found[kind] = here + (find(file, data) is not None), total + 1
    system = {
        "conceptor": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processors": str(processors()),
        "BLAS": _blas(),
    }
    caches = {"downloaded files": str(cache_directory())}
    places = cache_directories()
    caches["compiled loops"] = str(next((place for place in places if _writable(place)), "nowhere"))
    return Installation(system, versions, missing, caches, found, _problems(core, versions, caches))


def _requirements() -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the packages that are needed, with their bounds, and those of each extra."""
    core: dict[str, str] = {}
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("conceptor") or ():
        found = _REQUIREMENT.match(line)
        if found is None or found["name"] == "conceptor":
            continue
        if found["extra"] is None:
            core[found["name"]] = found["bounds"]
        elif found["extra"] not in _DEVELOPERS:
            extras.setdefault(found["extra"], []).append(found["name"])
    return core, dict(sorted(extras.items()))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> str:
    import numpy as np
    from threadpoolctl import threadpool_info

    np.zeros((2, 2)) @ np.zeros((2, 2))  # a lazily linked BLAS shows up only after its first use
    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    named = dict.fromkeys(
        f"{each['internal_api']} {each.get('version') or ''}".strip()
        + f", {each['num_threads']} threads"
        for each in found
    )
    return "; ".join(named) or "unknown"


def _writable(place: Path) -> bool:
    """Return whether a directory, or its nearest existing parent, is writable."""
    there = next((each for each in (place, *place.parents) if each.exists()), place)
    return os.access(there, os.W_OK)


def _problems(
    core: Mapping[str, str], versions: Mapping[str, str | None], caches: Mapping[str, str]
) -> list[str]:
    problems = []
    for name, version in versions.items():
        lower = _LOWER.search(core[name])
        if version is None:
            problems.append(f"{name} is missing; run: pip install conceptor")
        elif lower and _parts(version) < _parts(lower[1]):
            problems.append(
                f"{name} {version} is older than {lower[1]}; run: pip install -U {name}"
            )
    if caches["compiled loops"] == "nowhere":
        problems.append(
            "no directory for compiled loops is writable, so each run compiles them again; set "
            "XDG_CACHE_HOME to a directory of yours"
        )
    return problems


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
