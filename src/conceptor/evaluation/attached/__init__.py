"""Attach: a static query encoder for vectors that are already stored, and its measured loss."""

from conceptor.evaluation.attached.attaching import AttachWarning, attach

__all__ = ["AttachWarning", "attach"]
