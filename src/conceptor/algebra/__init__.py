"""From moments to maps: moments, spectra, gates, conceptors. NumPy only."""
