"""Texts and their stored vectors: in files, frames, LanceDB or PostgreSQL."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.vectors.columns import ColumnKind, choose_label, choose_vectors
from conceptor.vectors.source import BLOCK_BYTES
from conceptor.vectors.vectors import RowKind, Vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.columns import Column

__all__ = ["StoredTexts", "StoredVectors", "choose_columns", "find_ids", "open_store"]

POSTGRES = ("postgresql://", "postgres://")


class StoredVectors(Vectors):
    """Rows of texts, read in batches."""

    kind = RowKind.TEXTS
    ranked = False

    def __init__(self, name: str, dimension: int) -> None:
        self._name, self._dimension = name, dimension

    @property
    def name(self) -> str:
        """The name of the store in results and messages; it never contains a password."""
        return self._name

    @property
    def dimension(self) -> int:
        """The number of dimensions."""
        return self._dimension

    @property
    def batch_rows(self) -> int:
        """Rows to read at a time."""
        return max(1, BLOCK_BYTES // (4 * self.dimension))

    @abstractmethod
    def batches(self) -> Iterator[tuple[Sequence[str | None], Any]]:
        """Yield texts and unchecked rows of the store."""

    @property
    def id_columns(self) -> list[str]:
        """The columns that may hold ids: text or whole numbers, but not the texts."""
        return []

    def ids(self, column: str) -> Iterator[str]:
        """Yield the values of one of `id_columns` as text, in the order of the rows."""
        raise KeyError(column)

    def chunks(self) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Yield texts and float32 rows in order; raise for invalid rows."""
        start = 0
        for texts, rows in self.batches():
            yield check_rows(self.name, start, texts, rows, self.dimension)
            start += len(texts)


def check_rows(
    name: str,
    start: int,
    texts: Sequence[str | None],
    rows: Any,  # noqa: ANN401
    dimension: int,
) -> tuple[list[str], NDArray[np.float32]]:
    """Return texts, with a missing one as empty, and finite rows of one dimension."""
    ragged = [i for i, row in enumerate(rows) if row is None or len(row) != dimension]
    if ragged:
        row = rows[ragged[0]]
        found = "no vector" if row is None else f"a vector of {len(row)} dimensions"
        raise InvalidInputError(
            f"{name}, row {start + ragged[0] + 1}: {found}, where the first row has {dimension}; "
            "embed all texts with one model"
        )
    with np.errstate(over="ignore"):
        matrix = np.asarray(rows, dtype=np.float32).reshape(-1, dimension)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise InvalidInputError(
            f"{name}, row {start + bad[0] + 1}: the vector has NaN, Inf or a number too large for "
            "float32; embed this text again, or remove the row"
        )
    return ["" if text is None else str(text) for text in texts], matrix


class StoredTexts(StoredVectors):
    """Texts and vectors in memory."""

    def __init__(self, texts: Iterable[Any], vectors: Any, name: str = "texts") -> None:  # noqa: ANN401
        if isinstance(texts, str):
            raise InvalidInputError("texts is a single string; pass a list of texts")
        self._texts = list(texts)
        self._rows = _as_rows(vectors)
        if len(self._texts) != len(self._rows):
            raise InvalidInputError(
                f"{len(self._texts):,} texts but {len(self._rows):,} vectors; each text needs its "
                "stored vector"
            )
        if not len(self._rows):
            raise InvalidInputError("there are no texts; pass those whose vectors are stored")
        super().__init__(name, len(self._rows[0]))

    def batches(self) -> Iterator[tuple[Sequence[str | None], Any]]:
        """Yield slices."""
        step = self.batch_rows
        for start in range(0, len(self._texts), step):
            yield self._texts[start : start + step], self._rows[start : start + step]


def _as_rows(vectors: Any) -> Any:  # noqa: ANN401
    """Return a matrix, or a list of ragged rows, which `chunks` reports."""
    if isinstance(vectors, np.ndarray) and vectors.dtype != object:
        return as_matrix(vectors, "vectors", empty=True)
    rows = [np.asarray(row) for row in vectors]
    if rows and any(row.ndim != 1 or row.dtype.kind not in "fiub" for row in rows):
        raise InvalidInputError("vectors must be rows of numbers, one for each text")
    return rows


def open_store(
    source: Any,  # noqa: ANN401
    vectors: Any = None,  # noqa: ANN401
    *,
    texts: str | os.PathLike[str] | None = None,
    table: str | None = None,
    text_column: str | None = None,
    column: str | None = None,
) -> Vectors:
    """Open texts with their vectors.

    Parameters
    ----------
    source
        Texts, with `vectors`; a Parquet, Feather or `.npy` file; a frame of pandas or Polars or an
        Arrow table; a LanceDB folder or table; the address of a PostgreSQL database with pgvector.
    vectors : array of shape (texts, n), optional
    texts
        The file with one text per line that belongs to a `.npy` file.
    table
        The table of a database; not needed if only one has vectors.
    text_column, column
        The columns of texts and of vectors, if there are several candidates.
    """
    columns = text_column, column
    if vectors is not None:
        return StoredTexts(source, vectors)
    if isinstance(source, Vectors):
        return source
    if isinstance(source, str) and source.startswith(POSTGRES):
        from conceptor.integrations.postgres import open_postgres

        return open_postgres(source, table, *columns)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source), texts, table, columns)
    kind = type(source).__module__.partition(".")[0]
    if kind == "lancedb":
        from conceptor.integrations.lancedb import LanceVectors

        return LanceVectors(source, *columns)
    if kind in ("pandas", "polars", "pyarrow"):
        return open_frame(source, *columns)
    raise InvalidInputError(
        f"cannot attach to a {type(source).__name__} without ",
        Setting("vectors"),
        "; pass attach(texts, vectors)",
    )


def _open_path(
    path: Path,
    texts: str | os.PathLike[str] | None,
    table: str | None,
    columns: tuple[str | None, str | None],
) -> Vectors:
    if not path.exists():
        raise InvalidInputError(f"{path}: no such file or folder")
    if path.is_dir():
        from conceptor.integrations.lancedb import open_lance

        return open_lance(path, table, *columns)
    if table is not None:
        raise InvalidInputError(f"{path}: is a file; ", Setting("table"), " is for databases")
    if path.suffix == ".npy":
        return _open_array(path, texts)
    if texts is not None:
        raise InvalidInputError(f"{path}: ", Setting("text_file"), " belongs to a .npy file")
    from conceptor.integrations.arrow_store import ArrowFile

    return ArrowFile(path, *columns)


def _open_array(path: Path, texts: str | os.PathLike[str] | None) -> Vectors:
    """Open an array that stays on the disk, and its texts, one per line."""
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise InvalidInputError(f"{path}: not an array of numbers ({error})") from None
    if texts is None:
        raise InvalidInputError(
            f"{path}: has vectors but no texts; name the file with one text per line with ",
            Setting("text_file", "texts.txt"),
        )
    file = Path(texts)
    if not file.is_file():
        raise InvalidInputError(f"{texts}: no such file of texts")
    lines = file.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")
    if len(lines) != len(rows):
        raise InvalidInputError(
            f"{texts}: {len(lines):,} lines, but {path} has {len(rows):,} vectors; each text is "
            "one line"
        )
    return StoredTexts(lines, rows, path.name)


def open_frame(frame: Any, text: str | None = None, vector: str | None = None) -> Vectors:  # noqa: ANN401
    """Open a frame of pandas or Polars, or an Arrow table, through Arrow."""
    from conceptor.integrations.arrow_store import ArrowTable
    from conceptor.vectors.formats.arrow_columns import import_pyarrow

    arrow = import_pyarrow()
    if isinstance(frame, arrow.Table):
        return ArrowTable(frame, text, vector)
    made = frame.to_arrow() if hasattr(frame, "to_arrow") else None
    if made is None:
        made = arrow.Table.from_pandas(frame, preserve_index=False)
    return ArrowTable(made, text, vector)


def find_ids(columns: Sequence[Column], text: str) -> list[str]:
    """Return the columns that may hold ids."""
    kinds = (ColumnKind.TEXT, ColumnKind.INTEGERS)
    return [str(each.name) for each in columns if each.kind in kinds and each.name != text]


def choose_columns(
    where: str,
    columns: Sequence[Column],
    sample: Callable[[list[Any]], dict[Any, Sequence[str]]],
    text: str | None,
    vector: str | None,
) -> tuple[str, list[str]]:
    """Return the column of texts and those of vectors: as named, else by the rules for tables."""
    vectors = [str(name) for name in choose_vectors(where, columns, vector)]
    texts = [str(each.name) for each in columns if each.kind is ColumnKind.TEXT]
    if text is not None and text not in texts:
        raise InvalidInputError(
            f"{where}: {text} is not a column of text; these are: {', '.join(texts) or 'none'}"
        )
    label = text if text is not None else choose_label(columns, sample)
    if label is not None:
        return str(label), vectors
    if not texts:
        raise InvalidInputError(f"{where}: has vectors, but no column of text")
    raise InvalidInputError(
        f"{where}: several columns of text ({', '.join(texts)}); choose one with ",
        Setting("text_column", texts[0]),
    )
