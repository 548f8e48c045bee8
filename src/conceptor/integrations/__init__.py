"""Maps and vectors in other libraries; each module is imported only when it is used.

`improving.improve` takes the vectors of other libraries. Each kind of object has an adapter: a
function that opens it (`opened.Opened`). The adapter is found by the object's class (`registry`).
"""
