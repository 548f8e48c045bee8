"""What everything stands on: errors, arrays, files, progress, threads."""
