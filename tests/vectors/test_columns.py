"""Which column of a table is what: chosen by kind and name, never guessed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conceptor
from conceptor import improve, open_vectors
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.columns import Column, ColumnKind, choose_label, choose_vectors

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

LISTS, FLOATS, INTEGERS, TEXT, OTHER = ColumnKind
N = 60


def columns(**kinds):
    return [Column(name, kind) for name, kind in kinds.items()]


def numbered(pattern, start, stop, kind=FLOATS):
    return [Column(pattern.format(i), kind) for i in range(start, stop)]


# The vectors


@pytest.mark.parametrize(
    "pattern", ["{}", "d{}", "D{}", "dim_{}", "x{}", "emb.{}", "embedding_{}", "feature {}", "v-{}"]
)
@pytest.mark.parametrize("start", [0, 1])
def test_names_that_say_dimension(pattern, start):
    group = numbered(pattern, start, 12)
    others = columns(id=INTEGERS, score=FLOATS, text=TEXT)
    found = choose_vectors("t", [*others[:1], *reversed(group), *others[1:]])
    assert found == [each.name for each in group], "in the order of the numbers"


@pytest.mark.parametrize(
    "group",
    [
        numbered("score_{}", 0, 4),  # a name that says something else
        numbered("d{}", 2, 5),  # does not begin
        [*numbered("d{}", 0, 2), *numbered("d{}", 3, 5)],  # a gap
        numbered("q{}", 1, 5),  # quarters
        numbered("d{}", 0, 1),  # one number is no vector
    ],
)
def test_other_numbers_are_not_taken_for_dimensions(group):
    with pytest.raises(InvalidInputError, match=f"columns of floats are {group[0].name}"):
        choose_vectors("t", group)
    names = ",".join(each.name for each in group)
    assert choose_vectors("t", group, names) == [each.name for each in group]


def test_several_sets_of_dimensions():
    both = [*numbered("d{}", 0, 3), *numbered("x{}", 1, 4)]
    with pytest.raises(InvalidInputError, match=r"d0 to d2 and x1 to x3; .*column=\"d\*\""):
        choose_vectors("t", both)
    assert choose_vectors("t", both, "x*") == ["x1", "x2", "x3"]
    assert choose_vectors("t", both, ["d2", "x1"]) == ["d2", "x1"]


def test_a_list_column_comes_before_dimensions():
    table = [*numbered("d{}", 0, 3), *columns(v=LISTS)]
    assert choose_vectors("t", table) == ["v"]
    assert choose_vectors("t", table, "d*") == ["d0", "d1", "d2"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("nothing", "matching 'nothing' among id, text, a, b; lists of floats or floats are in a"),
        ("text", "text holds text"),
        ("id", "id matches 'id' but is a column of integers"),
        ("?", "several columns of vectors matching '\\?': a, b"),
        (["c"], "no column 'c' among id, text, a, b"),
    ],
)
def test_what_cannot_be_asked_for(asked, said):
    with pytest.raises(InvalidInputError, match=said):
        choose_vectors("t", columns(id=INTEGERS, text=TEXT, a=LISTS, b=LISTS), asked)


def test_a_name_that_occurs_twice():
    with pytest.raises(InvalidInputError, match="two columns have the name 'a'"):
        choose_vectors("t", [*columns(a=LISTS), *columns(a=FLOATS)])


@given(st.lists(st.tuples(st.text(max_size=8), st.sampled_from(list(ColumnKind))), max_size=8))
def test_the_choice_is_a_list_or_floats_or_an_error(made):
    table = [Column(*each) for each in made]
    try:
        found = choose_vectors("t", table)
    except InvalidInputError:
        return
    kinds = {each.kind for each in table if each.name in found}
    assert kinds in ({LISTS}, {FLOATS})
    assert len(found) == 1 or kinds == {FLOATS}


# The labels


def label(values):
    """The label column of text columns with these values."""
    return choose_label(
        columns(**dict.fromkeys(values, TEXT)), lambda names: {name: values[name] for name in names}
    )


WORDS = ["rain", "coat", "river", "boat"]
SENTENCES = ["It rains.", "A coat is wet.", "The river.", "Two boats."]
IDS = ["doc-1", "doc-2", "doc-3", "doc-4"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"word": IDS}, "word"),  # the name says so
        ({"id": WORDS, "Text": SENTENCES}, "Text"),
        ({"url": SENTENCES, "split": ["train"] * 4, "review": SENTENCES}, "review"),
        ({"doc": IDS, "review": SENTENCES}, "review"),
        ({"doc": IDS}, None),
        ({"left": SENTENCES, "right": SENTENCES}, None),
        ({"id": SENTENCES}, None),
        ({"name": WORDS}, "name"),
        ({"note": WORDS, "__index_level_0__": WORDS}, "__index_level_0__"),
        ({"review": SENTENCES, "__index_level_0__": IDS}, "review"),
        ({"__index_level_0__": IDS}, "__index_level_0__"),
        ({}, None),
    ],
)
def test_labels(values, expected):
    assert label(values) == expected


# Everything else comes back


@pytest.fixture(name="E")
def make_embeddings(rng):
    return rng.standard_normal((N, 4)) * [2, 1, 1, 0.5] + 0.5


def every_type(E):
    """A table with columns of many types around one of vectors, some of them with nulls."""
    return pa.table(
        {
            "id": pa.array(range(N), pa.int32()),
            "text": [f"The text of row {i}!" if i % 7 else None for i in range(N)],
            "emb": pa.array(list(E), pa.list_(pa.field("x", pa.float64(), nullable=False))),
            "score": pa.array([None if i % 5 == 0 else i / 3 for i in range(N)], pa.float32()),
            "class": pa.array(["a", "b", "c"] * (N // 3)).dictionary_encode(),
            "when": pa.array([i * 1000 for i in range(N)], pa.timestamp("ms", tz="Europe/Paris")),
            "tags": pa.array([["x"] * (i % 3) for i in range(N)]),
            "extra": pa.array([{"a": i, "b": str(i)} for i in range(N)]),
            "raw": pa.array([bytes([i]) for i in range(N)], pa.binary()),
            "price": pa.array(list(range(N)), pa.decimal128(9, 2)),
        }
    ).replace_schema_metadata({"made by": "a test"})


def save(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=25)
    else:
        feather.write_feather(table, path, chunksize=25)


def load(path):
    return (parquet.read_table if path.suffix == ".parquet" else feather.read_table)(path)


def test_files_keep_all_other_columns(E, tmp_path):
    table = every_type(E)
    expected = conceptor.estimator("gentle").fit(E.astype(np.float32)).transform(E)
    for suffix in (".parquet", ".feather"):
        save(table, tmp_path / f"in{suffix}")
        report = conceptor.postprocess(tmp_path / f"in{suffix}", tmp_path / f"out{suffix}")
        assert (report.method, report.words) == ("gentle", N)
        after = load(tmp_path / f"out{suffix}")
        # Parquet calls the items of lists by another name, in the file as it was before.
        assert after.schema.equals(load(tmp_path / f"in{suffix}").schema, check_metadata=True)
        assert after.drop(["emb"]).equals(load(tmp_path / f"in{suffix}").drop(["emb"]))
        np.testing.assert_allclose(np.stack(after["emb"].to_numpy()), expected, atol=1e-5)


@pytest.mark.parametrize("memory", [0, None])
def test_rows_that_are_dropped_take_their_other_columns_along(E, memory, tmp_path):
    words = [f"word{i % 50}" for i in range(N)]  # ten come twice
    vectors = E.copy()
    vectors[[3, 4, 30]] = np.nan
    lists = pa.FixedSizeListArray.from_arrays(vectors.astype(np.float32).reshape(-1), 4)
    table = pa.table({"n": range(N), "word": words, "vector": lists})
    save(table, tmp_path / "in.parquet")
    source = open_vectors(tmp_path / "in.parquet", on_error="skip")
    conceptor.postprocess(source, tmp_path / "out.parquet", "cn", memory=memory)
    kept = [i for i in range(50) if i not in (3, 4, 30)]
    # Of a word whose first row was bad, the second is the first.
    kept += [i for i in range(50, N) if i - 50 in (3, 4)]
    after = load(tmp_path / "out.parquet")
    assert after["n"].to_pylist() == kept
    assert after["word"].to_pylist() == [words[i] for i in kept]
    assert after.schema == table.schema


def test_one_column_for_each_dimension(E, tmp_path):
    named = {f"dim_{i}": E[:, i].astype(np.float32) for i in range(4)}
    table = pa.table({"id": range(N)} | named | {"score": np.ones(N)})
    save(table, tmp_path / "in.parquet")
    source = open_vectors(tmp_path / "in.parquet", wordless=True)
    assert source.dimension == 4
    conceptor.postprocess(source, tmp_path / "out.parquet", "gentle:n_components=2")
    after = load(tmp_path / "out.parquet")
    assert after.column_names == ["id", "dim_0", "dim_1", "score"]
    assert after["score"].to_pylist() == [1.0] * N


def test_small_numbers_leave_other_columns_alone(E, tmp_path):
    save(every_type(E), tmp_path / "in.parquet")
    for dtype in ("int8", "binary", "float16"):
        out = tmp_path / f"{dtype}.parquet"
        conceptor.postprocess(tmp_path / "in.parquet", out, dtype=dtype)
        others = ["id", "score", "class", "when", "tags", "extra", "raw", "price", "text"]
        assert load(out).select(others).equals(load(tmp_path / "in.parquet").select(others))
        again = open_vectors(out)
        assert (again.dimension, len(again.words)) == (4, N)


def test_shards_keep_all_other_columns(E, tmp_path):
    pytest.importorskip("distributed", reason="needs the dask extra")
    from conceptor.distributed.parquet import ParquetContent
    from conceptor.distributed.storage import Place

    save(every_type(E), tmp_path / "in.parquet")
    map_ = conceptor.estimator("gentle").fit(E).map_
    content = ParquetContent(Place.from_path(str(tmp_path / "in.parquet")))
    assert content.rewrite(map_, tmp_path / "out.parquet", lambda rows: None) == N
    before, after = load(tmp_path / "in.parquet"), load(tmp_path / "out.parquet")
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.drop(["emb"]).equals(before.drop(["emb"]))


def test_a_file_without_columns(tmp_path):
    (tmp_path / "x.txt").write_text("a 1 2\nb 3 4\n")
    with pytest.raises(InvalidInputError, match='glove-text has no columns; remove column="v"'):
        open_vectors(tmp_path / "x.txt", column="v")


# Frames


def texts():
    return [f"The text of row {i}!" for i in range(N)]


@pytest.mark.parametrize("held", ["arrays", "lists", "tuples", "arrow"])
def test_pandas_keeps_what_is_no_vector(E, held):
    pd = pytest.importorskip("pandas")
    values = {
        "arrays": lambda: list(E),
        "lists": lambda: E.tolist(),
        "tuples": lambda: [tuple(row) for row in E.tolist()],
        "arrow": lambda: pd.array(E.tolist(), dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
    }[held]()
    frame = pd.DataFrame(
        {
            "id": range(N),
            "text": texts(),
            "embedding": values,
            "class": pd.Categorical(["a", "b"] * (N // 2)),
            "maybe": pd.array([None, 1] * (N // 2), dtype="Int8"),
            7: pd.date_range("2020", periods=N, tz="UTC"),
        },
        index=pd.Index([i // 2 for i in range(N)], name="twice"),
    )
    before = frame.copy(deep=True)
    better, report = improve(frame, return_report=True)
    assert report.method == "gentle"
    pd.testing.assert_frame_equal(frame, before)  # nothing is changed in place
    pd.testing.assert_frame_equal(
        better.drop(columns="embedding"), before.drop(columns="embedding")
    )
    assert list(better.columns) == list(before.columns)
    assert better["embedding"].dtype == before["embedding"].dtype
    assert type(better["embedding"].iloc[0]) is type(before["embedding"].iloc[0])
    expected = conceptor.estimator("gentle").fit(E).transform(E)
    np.testing.assert_allclose(np.stack(better["embedding"]), expected, atol=1e-12)
    shorter = improve(frame, n_components=2)
    assert np.stack(shorter["embedding"]).shape == (N, 2)


def test_pandas_that_cannot_be_improved(E):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": range(N), "text": texts(), "a": list(E), "b": list(E)})
    with pytest.raises(InvalidInputError, match=r'may hold the vectors: a, b; .*column="a"'):
        improve(frame)
    better = improve(frame, column="b")
    assert better["a"].equals(frame["a"])
    assert not np.array_equal(np.stack(better["b"]), E)
    ragged = frame.drop(columns="b")
    ragged.at[9, "a"] = np.ones(3)
    with pytest.raises(InvalidInputError, match="row 10 of 'a': expected a vector of 4 numbers"):
        improve(ragged)
    ragged.at[9, "a"] = None
    with pytest.raises(InvalidInputError, match=r"row 10 of 'a'.*found 0"):
        improve(ragged)
    with pytest.raises(InvalidInputError, match=r"has no vectors.*id \(integers\), text \(text\)"):
        improve(frame[["id", "text"]])
    with pytest.raises(InvalidInputError, match="tuple has no columns"):
        improve((texts(), E), column="a")


def test_polars_keeps_what_is_no_vector(E):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "id": range(N),
            "text": texts(),
            "embedding": pl.Series(E.tolist(), dtype=pl.List(pl.Float64)),
            "class": pl.Series(["a", "b"] * (N // 2), dtype=pl.Enum(["a", "b"])),
            "object": pl.Series([object()] * N, dtype=pl.Object),
        }
    )
    better, report = improve(frame, return_report=True)
    assert report.method == "gentle"
    assert better.schema == frame.schema
    others = [name for name in frame.columns if name not in ("embedding", "object")]
    assert better.select(others).equals(frame.select(others))
    assert better["object"].to_list() == frame["object"].to_list()
    expected = conceptor.estimator("gentle").fit(E).transform(E)
    np.testing.assert_allclose(np.stack(better["embedding"].to_list()), expected, atol=1e-12)


def test_arrow_keeps_what_is_no_vector(E):
    table = every_type(E)
    better = improve(table)
    assert better.schema.equals(table.schema, check_metadata=True)
    assert better.drop(["emb"]).equals(table.drop(["emb"]))
    both = table.append_column("again", table["emb"])
    with pytest.raises(InvalidInputError, match="may hold the vectors: emb, again"):
        improve(both)
    assert improve(both, column="again")["emb"].equals(table["emb"])
