"""Better word vectors without labels or training, and the algebra of conceptors."""
