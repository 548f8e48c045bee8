"""A page to explore vectors: a local server and its answers."""
