"""Train word vectors: text → co-occurrence counts → PPMI → truncated SVD."""

from conceptor.paper.ppmi.counting import Cooccurrence, cooccurrence
from conceptor.paper.ppmi.ppmi import PPMIVectors, ppmi, truncated_svd

__all__ = ["Cooccurrence", "PPMIVectors", "cooccurrence", "ppmi", "truncated_svd"]
