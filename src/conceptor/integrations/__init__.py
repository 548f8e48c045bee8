"""Vectors as other libraries hold them: one call improves them, and the same kind comes back.

Each kind of object has an adapter, a function that opens it (`conceptor.integrations.opened`). The
module of an adapter is imported only when an object of its kind is met. Other packages add theirs
as entry points (`conceptor.integrations.registry`).
"""

from conceptor.integrations.improving import improve
from conceptor.integrations.opened import Opened, improve_rows, open_table

__all__ = ["Opened", "improve", "improve_rows", "open_table"]
