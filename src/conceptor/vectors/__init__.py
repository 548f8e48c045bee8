"""Read and write files of word vectors: many formats, one stream of chunks."""

from conceptor.vectors.files import open_vectors, write_vectors
from conceptor.vectors.formats.registry import FORMATS
from conceptor.vectors.source import Chunk, VectorSource
from conceptor.vectors.table import WordVectors
from conceptor.vectors.words import PackedWords

__all__ = [
    "FORMATS",
    "Chunk",
    "PackedWords",
    "VectorSource",
    "WordVectors",
    "open_vectors",
    "write_vectors",
]
