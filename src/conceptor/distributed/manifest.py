"""The record of an output directory: which shards were written with which map.

A shard is done when its output exists (outputs appear whole) and has the recorded checksum, if one
was recorded. The manifest ties the directory to one map and one input, so that results never mix,
and records progress.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from conceptor import __version__
from conceptor.base.errors import InvalidInputError, Message, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.distributed.shards import Shard
    from conceptor.distributed.storage import Place

NAME = "manifest.json"
_FORMAT = "conceptor.shards/1"
_HEAD_BYTES = 4096


def digest(map_: AffineMap) -> str:
    """Return a hash of the map's numbers and its lengths of words."""
    hashed = hashlib.sha256(f"{map_.n_in} {map_.n_out}{' unit' if map_.unit else ''}".encode())
    for part in (map_.matrix, map_.offset, map_.bias):
        hashed.update(part.astype("<f8").tobytes())
    if map_.lengths is not None:
        for part in map_.lengths.tensors.values():
            hashed.update(part.tobytes())
    return hashed.hexdigest()


@dataclass
class Manifest:
    """The record of an output directory.

    Attributes
    ----------
    map
        Hash of the map.
    request
        The settings the map was fitted with, if it was fitted to these shards.
    shards
        For each shard, by name: its path, bytes and stamp; its rows once known; `done`, the bytes
        of its output, and `sha256`, its checksum, or `failed`, why there is none.
    estimated_without
        Errors in rows that were left out when the map was estimated.
    """

    folder: Place
    map: str
    request: dict[str, Any] | None = None
    shards: dict[str, dict[str, Any]] = field(default_factory=dict)
    estimated_without: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Place) -> Manifest | None:
        """Return a directory's manifest, if it has one."""
        place = folder / NAME
        if not place.exists():
            return None
        try:
            with place.open() as file:
                content = json.load(file)
            if content["format"] != _FORMAT:
                raise InvalidInputError(
                    f"{place}: unsupported manifest version {content['format']!r}; write to "
                    "another directory"
                )
            names = ("map", "request", "shards", "estimated_without")
            return cls(folder, *(content[name] for name in names))
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(
                f"{place}: not a conceptor manifest; write to another directory"
            ) from None

    def write(self) -> None:
        """Write it to the directory, whole; the map's hash comes first (see `check_bound`)."""
        content = {
            "format": _FORMAT,
            "map": self.map,
            "conceptor": __version__,
            "request": self.request,
            "estimated_without": self.estimated_without,
            "shards": self.shards,
        }
        (self.folder / NAME).write(json.dumps(content, indent=1).encode())

    def check_same(self, other: Manifest) -> None:
        """Raise unless `other` continues exactly this work.

        A shard whose output is missing may have changed: it may have been repaired.
        """
        place = self.folder / NAME
        hint = Message("write to another directory, or start over with ", Setting("force", True))
        if other.request is not None and other.request != self.request:
            old, new = _difference(self.request or {}, other.request)
            raise InvalidInputError(f"{place}: the work was started with {old}, not {new}; ", hint)
        if other.map and other.map != self.map:
            raise InvalidInputError(
                f"{place}: its shards were written with another map "
                f"({self.map[:12]}, not {other.map[:12]}); ",
                hint,
            )
        added = sorted(other.shards.keys() - self.shards.keys())
        gone = sorted(self.shards.keys() - other.shards.keys())
        if added or gone:
            what = f"{added[0]} is new" if added else f"{gone[0]} is missing"
            raise InvalidInputError(f"{place}: the input has changed, {what}; ", hint)
        for name, now in other.shards.items():
            then = self.shards[name]
            if "done" in then and any(then[key] != now[key] for key in ("source", *_STATE)):
                raise InvalidInputError(
                    f"{place}: the input has changed, {now['source']} was modified after it was "
                    "processed; ",
                    hint,
                )


_STATE = ("bytes", "stamp")


def describe_shards(shards: Sequence[Shard]) -> dict[str, dict[str, Any]]:
    """Return the manifest entries of shards not yet done."""
    return {
        shard.name: {"source": str(shard.place), "bytes": shard.size, "stamp": shard.stamp}
        for shard in shards
    }


def check_bound(folder: Place, map_digest: str) -> None:
    """Raise if the directory's manifest names another map: another run has started it over."""
    if map_digest.encode() not in (folder / NAME).head(_HEAD_BYTES):
        raise InvalidInputError(
            f"{folder}: another run started over with a different map; use separate directories"
        )


def _difference(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, str]:
    for key in [*new, *old]:
        if old.get(key) != new.get(key):
            return f"{key} {old.get(key)}", f"{key} {new.get(key)}"
    return "", ""


def check_output(plan: Manifest, *, force: bool) -> Manifest | None:
    """Return the manifest of earlier work that `plan` continues; raise if it must not continue."""
    for name, shard in plan.shards.items():
        if str(plan.folder / name) == shard["source"]:
            raise InvalidInputError(
                f"{plan.folder}: contains the input; write to another directory"
            )
    if force:
        return None
    old = Manifest.read(plan.folder)
    there = _outputs(plan)
    if old is None:
        if there:
            raise InvalidInputError(
                f"{plan.folder / next(iter(there))}: exists without a {NAME}, so its origin is "
                "unknown; write to another directory, or replace it with ",
                Setting("force", True),
            )
        return None
    for name, shard in old.shards.items():
        size = there.get(name)
        if size is None or shard.get("done", size) != size:
            shard.pop("done", None)
            shard.pop("sha256", None)
        else:
            shard["done"] = size
    old.check_same(plan)
    return old


def bind(plan: Manifest, *, force: bool) -> None:
    """Claim the directory for the plan: keep outputs that belong to it, remove all others.

    Outputs are removed before the manifest is replaced: after a crash in between, the old
    manifest correctly lists them as not done.
    """
    old = check_output(plan, force=force)
    for name, shard in (old.shards if old else {}).items():
        if "done" in shard:
            kept = ("done", "rows", "sha256")
            plan.shards[name] |= {key: shard[key] for key in kept if key in shard}
    for name in _outputs(plan):
        if "done" not in plan.shards[name]:
            plan.folder.fs.rm((plan.folder / name).path)
    if old is not None:
        plan.request = plan.request or old.request
        plan.estimated_without = old.estimated_without
    plan.write()


def _outputs(plan: Manifest) -> dict[str, int]:
    """Return the planned shards that already exist in the directory, with their sizes."""
    fs, root = plan.folder.fs, plan.folder.path
    fs.invalidate_cache()
    if not fs.exists(root):
        return {}
    if not fs.isdir(root):
        raise InvalidInputError(f"{plan.folder}: is a file; shards are written to a directory")
    found = {
        str(PurePosixPath(path).relative_to(root)): int(info["size"])
        for path, info in fs.find(root, detail=True).items()
    }
    return {name: found[name] for name in plan.shards if name in found}
