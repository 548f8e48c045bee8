"""The same moments and the same map on a Dask cluster; the only room that imports Dask.

    from conceptor.distributed import moments, transform

    m = moments("shards/*.parquet", column="embedding")
    cn = ConceptorNegation(aperture=2.0).fit_moments(m)
    transform(cn.map_, "shards/*.parquet", "better/", column="embedding")

Work goes to the current `distributed.Client`; without one, to threads of this process.
"""

from importlib.util import find_spec

from conceptor.base.errors import MissingExtraError

if any(find_spec(name) is None for name in ("dask", "distributed", "fsspec", "pyarrow")):
    raise MissingExtraError("work on a cluster", "dask")

from conceptor.distributed.cluster import connected
from conceptor.distributed.moments import moments
from conceptor.distributed.postprocess import postprocess
from conceptor.distributed.transform import transform

__all__ = ["connected", "moments", "postprocess", "transform"]
