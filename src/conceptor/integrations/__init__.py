"""Maps and vectors in other libraries; each module is imported only where it is used."""
