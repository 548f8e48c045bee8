"""Better word vectors without labels or training, and the algebra of conceptors."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.conceptors import Conceptor
    from conceptor.algebra.moments import Moments
    from conceptor.base.errors import ConceptorError
    from conceptor.concepts.neighbors import most_similar
    from conceptor.estimators import ConceptorNegation, estimator
    from conceptor.evaluation import compare, evaluate
    from conceptor.evaluation.attached import attach
    from conceptor.inspection import inspect
    from conceptor.integrations.objects import improve
    from conceptor.postprocessing import postprocess
    from conceptor.sentences import SentenceEncoder
    from conceptor.static_models import StaticModel, distill
    from conceptor.vectors import open_vectors, write_vectors

__version__ = "0.2.0"

# Polars runs code of its own making to ask for the CPU's features, which systems that forbid
# writable and executable memory refuse.
os.environ.setdefault("POLARS_SKIP_CPU_CHECK", "1")

# Names load on first use: applying a saved map does not need scikit-learn, which takes a second.
_HOMES = {
    "AffineMap": "algebra.affine_map",
    "Conceptor": "algebra.conceptors",
    "ConceptorError": "base.errors",
    "ConceptorNegation": "estimators",
    "Moments": "algebra.moments",
    "SentenceEncoder": "sentences",
    "StaticModel": "static_models",
    "attach": "evaluation.attached",
    "compare": "evaluation",
    "distill": "static_models",
    "estimator": "estimators",
    "evaluate": "evaluation",
    "improve": "integrations.objects",
    "inspect": "inspection",
    "most_similar": "concepts.neighbors",
    "open_vectors": "vectors",
    "postprocess": "postprocessing",
    "write_vectors": "vectors",
}

__all__ = [
    "AffineMap",
    "Conceptor",
    "ConceptorError",
    "ConceptorNegation",
    "Moments",
    "SentenceEncoder",
    "StaticModel",
    "attach",
    "compare",
    "distill",
    "estimator",
    "evaluate",
    "improve",
    "inspect",
    "most_similar",
    "open_vectors",
    "postprocess",
    "write_vectors",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
