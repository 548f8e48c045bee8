"""Conceptors of word lists, and what can be done with their algebra."""
