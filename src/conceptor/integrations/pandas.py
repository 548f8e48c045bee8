"""pandas: a frame with a word for each row, as its index or in a column."""

from __future__ import annotations

from typing import Any

import pandas as pd

from conceptor.base.errors import InvalidInputError
from conceptor.integrations.opened import Opened, check_vectors, open_table
from conceptor.vectors.formats.arrow import WORD_COLUMNS


def open_frame(frame: pd.DataFrame) -> Opened:
    """Open a frame; columns that are neither words nor numbers stay as they are."""
    numbers = frame.select_dtypes("number").columns
    text = [name for name in frame.columns if pd.api.types.is_string_dtype(frame[name])]
    named = [name for name in text if name in WORD_COLUMNS][:1] if len(text) > 1 else text
    words: Any = frame.index
    if not pd.api.types.is_string_dtype(frame.index):
        if not named:
            raise InvalidInputError(
                "this DataFrame has no words: its index is not text, and no column is called "
                f"{', '.join(WORD_COLUMNS[:4])}; use frame.set_index"
            )
        words = frame[named[0]]
    check_vectors(len(frame), len(numbers), "DataFrame", "its columns of numbers are the vectors")
    matrix = frame[numbers].to_numpy()

    def rebuild(rows: Any) -> pd.DataFrame:  # noqa: ANN401
        kept = numbers[: rows.shape[1]]
        values = pd.DataFrame(rows, index=frame.index, columns=kept)
        order = [name for name in frame.columns if name not in numbers or name in kept]
        others = frame.drop(columns=numbers)
        return values if not len(others.columns) else pd.concat([others, values], axis=1)[order]

    return open_table(list(words), matrix, rebuild)
