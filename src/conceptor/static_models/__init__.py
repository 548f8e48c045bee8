"""Static models: a tokenizer and a table, distilled from transformers or loaded from folders."""

from conceptor.static_models.distilling import distill
from conceptor.static_models.model import StaticModel

__all__ = ["StaticModel", "distill"]
