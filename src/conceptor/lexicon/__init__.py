"""What a lexicon knows, put into vectors: counter-fitting and retrofitting.

The supervised baselines of the conceptor negation paper. Both look at vectors only in streaming
passes and change only words that the lexicon speaks of; every other word keeps its bits.
"""

from conceptor.lexicon.fitting import CounterFitting, Retrofitting
from conceptor.lexicon.pairs import read_pairs

__all__ = ["CounterFitting", "Retrofitting", "read_pairs"]
