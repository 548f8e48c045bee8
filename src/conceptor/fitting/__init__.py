"""Fit methods to vectors: one pass for moments and wanted rows, then one recipe after another.

Every front end calls `fit_methods`: files, shards, objects of other libraries, `compare` and the
page. So the same vectors always get the same map, and `compare` measures the vectors that
`postprocess` writes. Memory depends on the wanted rows and the dimension, not on the length of
the file.
"""

from conceptor.fitting.fit import FitOptions, fit_methods, solve
from conceptor.fitting.fitted import Fitted, FittedMethods
from conceptor.fitting.gathering import Gathered, Request, gather

__all__ = [
    "FitOptions",
    "Fitted",
    "FittedMethods",
    "Gathered",
    "Request",
    "fit_methods",
    "gather",
    "solve",
]
