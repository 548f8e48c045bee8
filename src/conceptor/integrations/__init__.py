"""Maps and vectors in other libraries; each module is imported only when it is used."""
