"""How a row's numbers are stored: as floats, as bytes, or as single bits with a scale for each row.

Cosines do not depend on the scale: the stored integers have the same cosines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError

_STORED = {"float32": "<f4", "float16": "<f2", "int8": "|i1", "binary": "|u1"}
DTYPES = tuple(_STORED)
SCALE = "scale"
_LARGEST_BYTE = 127


def first_lost(rows: NDArray[Any], is_zero: NDArray[np.bool_]) -> int:
    """Return the first row that is not zero but is stored as zero; -1 if there is none."""
    zeros = np.flatnonzero(is_zero)
    lost = zeros[rows[zeros].any(axis=1)]
    return int(lost[0]) if len(lost) else -1


@dataclass(frozen=True)
class Encoding:
    """How vectors of `dimension` numbers are stored; `dtype` is one of `DTYPES`.

    `int8` is ``round(x / scale)`` with ``scale = max |x| / 127``. `binary` is a bit for each
    number, 1 where it is positive, eight to a byte with the first in the highest bit
    (`numpy.packbits`), and ``scale = mean |x|``, which makes ``±scale`` nearest to x.
    """

    dtype: str
    dimension: int

    @property
    def has_scales(self) -> bool:
        """Whether rows have scales."""
        return self.dtype in ("int8", "binary")

    @property
    def stored(self) -> np.dtype[Any]:
        """The type of the numbers in the file."""
        return np.dtype(_STORED[self.dtype])

    @property
    def width(self) -> int:
        """How many such numbers make a row."""
        return -(-self.dimension // 8) if self.dtype == "binary" else self.dimension

    @property
    def field(self) -> str:
        """The name of a record's numbers."""
        return "bits" if self.dtype == "binary" else "vector"

    @property
    def record(self) -> np.dtype[Any]:
        """A row and its scale as one record; the title of the bits stores how many there are."""
        bits = (f"{self.dimension} bits", self.field)
        name: Any = bits if self.dtype == "binary" else self.field
        return np.dtype([(name, self.stored, (self.width,)), (SCALE, "<f4")])

    @classmethod
    def from_record(cls, record: np.dtype[Any]) -> Encoding:
        """Return the encoding for this type of record; raise if there is none."""
        name = (record.names or ("",))[0]
        stored, _, *title = (record.fields or {name: (record, 0)})[name]
        size = title[0].removesuffix(" bits") if title else stored.shape[0]
        encoding = cls("binary" if title else "int8", int(size))
        if encoding.record != record:
            raise InvalidInputError(f"{record} is not an encoding of vectors")
        return encoding

    def encode(
        self, rows: NDArray[np.float32], words: Sequence[str] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the stored form of rows, and their scales; raise if a row would become zero."""
        scales = np.ones(len(rows), dtype=np.float32)
        if self.dtype == "binary":
            scales = np.abs(rows).mean(axis=1, dtype=np.float64).astype(np.float32)
            codes, is_zero = np.packbits(rows > 0, axis=1), scales == 0
        elif self.dtype == "int8":
            scales = np.abs(rows).max(axis=1) / np.float32(_LARGEST_BYTE)
            whole = np.rint(rows / np.where(scales > 0, scales, 1)[:, np.newaxis])
            # The scale of a row of the smallest possible numbers is rounded too.
            codes = np.clip(whole, -_LARGEST_BYTE, _LARGEST_BYTE).astype(self.stored)
            is_zero = scales == 0
        else:
            codes = np.ascontiguousarray(rows, dtype=self.stored)
            if self.dtype == "float32":
                return codes, scales
            is_zero = ~codes.any(axis=1)
        lost = first_lost(rows, is_zero)
        if lost >= 0:
            name = "a vector" if words is None else f"the vector of {words[lost]!r}"
            raise InvalidInputError(
                f"{name} is too small for {self.dtype} and would become 0 (its largest number is "
                f"{np.abs(rows[lost]).max():.3g}); write float32"
            )
        return codes, scales

    def decode(self, codes: NDArray[Any], scales: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return rows from their stored form."""
        if self.dtype == "binary":
            bits = np.unpackbits(codes, axis=1, count=self.dimension)
            return np.where(bits, scales[:, np.newaxis], -scales[:, np.newaxis])
        with np.errstate(over="ignore", invalid="ignore"):  # reported with the row
            return codes.astype(np.float32) * scales[:, np.newaxis]
