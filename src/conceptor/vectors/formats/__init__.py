"""One module for each format of vectors files: how it is recognised, read and written.

A format is a `Format`, which its module makes; `registry` has all of them.
"""

from conceptor.vectors.formats.format import Format, Writer
from conceptor.vectors.formats.registry import register

__all__ = ["Format", "Writer", "register"]
