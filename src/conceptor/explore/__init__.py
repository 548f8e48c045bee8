"""A page to look at vectors: a server on this machine, and what it answers."""
