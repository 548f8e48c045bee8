"""The shared foundation: errors, arrays, files, progress, threads."""
