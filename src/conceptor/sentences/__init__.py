"""Sentence vectors from word vectors."""

from conceptor.sentences.encoder import SentenceEncoder

__all__ = ["SentenceEncoder"]
