"""Maps and vectors in other libraries; each module is imported only where it is used.

`improving.improve` takes vectors as other libraries hold them. Each kind of object has an adapter,
a function that opens it (`opened.Opened`), found by its class (`registry`).
"""
