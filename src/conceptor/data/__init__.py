"""Benchmark files: what there is, where it is found, how it is fetched and verified."""
