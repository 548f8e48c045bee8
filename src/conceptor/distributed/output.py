"""The output directory: whether it may be written to, and what is already done."""

from __future__ import annotations

from pathlib import PurePosixPath

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.distributed.manifest import NAME, Manifest


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
