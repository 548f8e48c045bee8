"""Moments and maps on a Dask cluster; no other package here imports Dask.

    from conceptor.distributed import moments, transform

    m = moments("shards/*.parquet", column="embedding", unit=True)
    cn = ConceptorNegation().fit_moments(m)
    transform(cn.map_, "shards/*.parquet", "better/", column="embedding")

Tasks run on the current `distributed.Client`, or on threads of this process if there is none.
"""

from importlib.util import find_spec

from conceptor.base.errors import MissingExtraError

if any(find_spec(name) is None for name in ("dask", "distributed", "fsspec", "pyarrow")):
    raise MissingExtraError("running on a cluster", "dask")

from conceptor.distributed.cluster import connect
from conceptor.distributed.processing import moments, postprocess, transform

__all__ = ["connect", "moments", "postprocess", "transform"]
