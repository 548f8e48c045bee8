"""Counter-fitting and retrofitting: adjust vectors to a lexicon.

These are the supervised baselines of the conceptor negation paper. Both read vectors in streaming
passes and change only words of the lexicon; every other vector stays identical to the bit.
"""

from conceptor.lexicon.files import read_pairs
from conceptor.lexicon.fitting import CounterFitting, Retrofitting

__all__ = ["CounterFitting", "Retrofitting", "read_pairs"]
