"""LanceDB: a table with a column of texts and one of vectors, read by LanceDB's client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError, MissingExtraError, Setting
from conceptor.integrations.arrow_store import ArrowRows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def open_lance(
    folder: Path, table: str | None = None, text: str | None = None, vector: str | None = None
) -> LanceVectors:
    """Open a table of a LanceDB folder; without a name, the folder must have only one table."""
    names = sorted(each.stem for each in folder.glob("*.lance") if each.is_dir())
    if not names:
        raise InvalidInputError(
            f"{folder}: a folder without LanceDB tables; name a file, or LanceDB's own folder"
        )
    try:
        import lancedb
    except ImportError:
        raise MissingExtraError("reading LanceDB", "lancedb") from None
    if table is None and len(names) > 1:
        raise InvalidInputError(
            f"{folder}: has {len(names)} tables ({', '.join(names)}); choose one with ",
            Setting("table", names[0]),
        )
    if table is not None and table not in names:
        raise InvalidInputError(f"{folder}: has no table {table}; it has {', '.join(names)}")
    return LanceVectors(lancedb.connect(folder).open_table(table or names[0]), text, vector)


class LanceVectors(ArrowRows):
    """The rows of a LanceDB table."""

    def __init__(self, table: Any, text: str | None = None, vector: str | None = None) -> None:  # noqa: ANN401
        self._table = table
        super().__init__(f"LanceDB table {table.name}", table.schema, text, vector)

    def _read(self, rows: int, names: list[str]) -> Iterator[Any]:
        yield from self._table.search().select(names).to_batches(rows)
