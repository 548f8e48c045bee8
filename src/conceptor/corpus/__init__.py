"""Train word vectors: text → co-occurrence counts → PPMI → truncated SVD."""

from conceptor.corpus.counting import Cooccurrence, cooccurrence
from conceptor.corpus.ppmi import PPMIVectors, ppmi, truncated_svd

__all__ = ["Cooccurrence", "PPMIVectors", "cooccurrence", "ppmi", "truncated_svd"]
