"""Better word vectors without labels or training, and the algebra of conceptors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conceptor.conceptors import Conceptor
    from conceptor.corpus import PPMIVectors
    from conceptor.errors import ConceptorError, InvalidInputError, MissingExtraError
    from conceptor.estimators import (
        PPA,
        AllButTheTop,
        ConceptorNegation,
        EigenvalueWeighting,
        HalfSiblingRegression,
        PrincipalVarianceNormalization,
        Whitening,
    )
    from conceptor.lexicon import CounterFitting, Retrofitting
    from conceptor.linear_map import LinearMap
    from conceptor.moments import Moments
    from conceptor.sentences import SentenceEncoder
    from conceptor.spectrum import Spectrum

# Names load on first use: applying a saved map needs no scikit-learn, which takes a second.
_HOMES = {
    "AllButTheTop": "estimators",
    "Conceptor": "conceptors",
    "ConceptorError": "errors",
    "ConceptorNegation": "estimators",
    "CounterFitting": "lexicon",
    "EigenvalueWeighting": "estimators",
    "HalfSiblingRegression": "estimators",
    "InvalidInputError": "errors",
    "LinearMap": "linear_map",
    "MissingExtraError": "errors",
    "Moments": "moments",
    "PPA": "estimators",
    "PPMIVectors": "corpus",
    "PrincipalVarianceNormalization": "estimators",
    "Retrofitting": "lexicon",
    "SentenceEncoder": "sentences",
    "Spectrum": "spectrum",
    "Whitening": "estimators",
}

__version__ = "0.1.0"

__all__ = [
    "PPA",
    "AllButTheTop",
    "Conceptor",
    "ConceptorError",
    "ConceptorNegation",
    "CounterFitting",
    "EigenvalueWeighting",
    "HalfSiblingRegression",
    "InvalidInputError",
    "LinearMap",
    "MissingExtraError",
    "Moments",
    "PPMIVectors",
    "PrincipalVarianceNormalization",
    "Retrofitting",
    "SentenceEncoder",
    "Spectrum",
    "Whitening",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
