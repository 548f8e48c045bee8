"""Vectors in many files, on a Dask cluster; no other package here imports Dask."""

from importlib.util import find_spec

from conceptor.base.errors import MissingExtraError

if any(find_spec(name) is None for name in ("dask", "distributed", "fsspec", "pyarrow")):
    raise MissingExtraError("processing a folder or several files", "dask")

from conceptor.distributed.cluster import connect
from conceptor.distributed.processing import postprocess

__all__ = ["connect", "postprocess"]
