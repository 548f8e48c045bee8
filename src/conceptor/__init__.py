"""Better word vectors without labels or training, and the algebra of conceptors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.background import Background
    from conceptor.algebra.conceptors import Conceptor
    from conceptor.algebra.moments import Moments
    from conceptor.algebra.spectrum import Spectrum
    from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
    from conceptor.concepts.classify import ConceptorClassifier
    from conceptor.concepts.neighbours import most_similar
    from conceptor.concepts.query import Query
    from conceptor.estimators import (
        PPA,
        AllButTheTop,
        ConceptorNegation,
        EigenvalueWeighting,
        GentleNegation,
        HalfSiblingRegression,
        PrincipalVarianceNormalization,
        Renormalization,
        Whitening,
        estimator,
    )
    from conceptor.evaluation import evaluate
    from conceptor.evaluation.attached import attach
    from conceptor.evaluation.compare import compare
    from conceptor.fitting import FitOptions
    from conceptor.inspection import inspect
    from conceptor.integrations.improving import improve
    from conceptor.lexicon import CounterFitting, Retrofitting
    from conceptor.methods import Method
    from conceptor.paper.ppmi import PPMIVectors
    from conceptor.postprocessing import postprocess
    from conceptor.sentences import SentenceEncoder
    from conceptor.static_models import StaticModel, distill
    from conceptor.vectors import WordVectors, open_vectors, write_vectors
    from conceptor.vectors.vectors import Vectors

__version__ = "0.2.0"

# Names load on first use: applying a saved map needs no scikit-learn, which takes a second.
_HOMES = {
    "AffineMap": "algebra.affine_map",
    "AllButTheTop": "estimators",
    "Background": "algebra.background",
    "Conceptor": "algebra.conceptors",
    "ConceptorClassifier": "concepts.classify",
    "ConceptorError": "base.errors",
    "ConceptorNegation": "estimators",
    "CounterFitting": "lexicon",
    "EigenvalueWeighting": "estimators",
    "FitOptions": "fitting",
    "GentleNegation": "estimators",
    "HalfSiblingRegression": "estimators",
    "InvalidInputError": "base.errors",
    "MissingExtraError": "base.errors",
    "Method": "methods",
    "Moments": "algebra.moments",
    "PPA": "estimators",
    "PPMIVectors": "paper.ppmi",
    "PrincipalVarianceNormalization": "estimators",
    "Query": "concepts.query",
    "Renormalization": "estimators",
    "Retrofitting": "lexicon",
    "SentenceEncoder": "sentences",
    "Spectrum": "algebra.spectrum",
    "StaticModel": "static_models",
    "Vectors": "vectors.vectors",
    "Whitening": "estimators",
    "WordVectors": "vectors",
    "attach": "evaluation.attached",
    "compare": "evaluation.compare",
    "distill": "static_models",
    "estimator": "estimators",
    "evaluate": "evaluation",
    "improve": "integrations.improving",
    "inspect": "inspection",
    "most_similar": "concepts.neighbours",
    "open_vectors": "vectors",
    "postprocess": "postprocessing",
    "write_vectors": "vectors",
}

__all__ = [
    "PPA",
    "AffineMap",
    "AllButTheTop",
    "Background",
    "Conceptor",
    "ConceptorClassifier",
    "ConceptorError",
    "ConceptorNegation",
    "CounterFitting",
    "EigenvalueWeighting",
    "FitOptions",
    "GentleNegation",
    "HalfSiblingRegression",
    "InvalidInputError",
    "Method",
    "MissingExtraError",
    "Moments",
    "PPMIVectors",
    "PrincipalVarianceNormalization",
    "Query",
    "Renormalization",
    "Retrofitting",
    "SentenceEncoder",
    "Spectrum",
    "StaticModel",
    "Vectors",
    "Whitening",
    "WordVectors",
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
