"""From moments to maps: moments, spectra, gates, conceptors, recipes. NumPy only."""
