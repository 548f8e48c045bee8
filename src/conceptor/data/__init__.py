"""Benchmark files: list them, find them, fetch them and verify them."""
