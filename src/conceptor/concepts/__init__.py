"""Conceptors of word lists, and applications of their algebra."""
