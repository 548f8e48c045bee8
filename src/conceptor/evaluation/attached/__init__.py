"""Attach: a static encoder of queries for vectors that are already stored, and what it costs."""

from conceptor.evaluation.attached.attaching import AttachWarning, attach

__all__ = ["AttachWarning", "attach"]
