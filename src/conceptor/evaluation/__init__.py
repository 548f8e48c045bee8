"""Benchmarks for word vectors, whoever made them."""
