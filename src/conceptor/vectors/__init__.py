"""Read and write files of vectors: many formats, one stream of labels and rows."""

from conceptor.vectors.files import open_vectors
from conceptor.vectors.target import write_vectors

__all__ = ["open_vectors", "write_vectors"]
