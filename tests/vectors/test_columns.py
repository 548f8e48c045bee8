"""Which column of a table is what: chosen by kind and name, never guessed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conceptor
from conceptor import open_vectors
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.columns import ColumnKind, choose_label, choose_vectors
from conceptor.vectors.target import plan_target
from conceptor.vectors.target import write as write_copy
from tests.vectors.whole import read_all

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

LISTS, FLOATS, INTEGERS, TEXT, OTHER = ColumnKind
N = 60


def numbered(pattern, start, stop, kind=FLOATS):
    return {pattern.format(i): kind for i in range(start, stop)}


# The vectors


@pytest.mark.parametrize(
    "pattern", ["{}", "d{}", "D{}", "dim_{}", "x{}", "emb.{}", "embedding_{}", "feature {}", "v-{}"]
)
@pytest.mark.parametrize("start", [0, 1])
def test_names_that_say_dimension(pattern, start):
    group = numbered(pattern, start, 12)
    table = {"id": INTEGERS} | dict(reversed(group.items())) | {"score": FLOATS, "text": TEXT}
    assert choose_vectors("t", table) == list(group), "in the order of the numbers"


@pytest.mark.parametrize(
    "group",
    [
        numbered("score_{}", 0, 4),  # a name that says something else
        numbered("d{}", 2, 5),  # does not begin
        numbered("d{}", 0, 2) | numbered("d{}", 3, 5),  # a gap
        numbered("q{}", 1, 5),  # quarters
        numbered("d{}", 0, 1),  # one number is no vector
    ],
)
def test_other_numbers_are_not_taken_for_dimensions(group):
    with pytest.raises(InvalidInputError, match=f"its columns are {next(iter(group))}"):
        choose_vectors("t", group)
    assert choose_vectors("t", group, ",".join(group)) == list(group)


def test_several_sets_of_dimensions():
    both = numbered("d{}", 0, 3) | numbered("x{}", 1, 4)
    with pytest.raises(InvalidInputError, match=r"d0 to d2, x1 to x3; .*--column d\*"):
        choose_vectors("t", both)
    assert choose_vectors("t", both, "x*") == ["x1", "x2", "x3"]
    assert choose_vectors("t", both, ["d2", "x1"]) == ["d2", "x1"]


def test_a_list_column_comes_before_dimensions():
    table = numbered("d{}", 0, 3) | {"v": LISTS}
    assert choose_vectors("t", table) == ["v"]
    assert choose_vectors("t", table, "d*") == ["d0", "d1", "d2"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("nothing", "no columns of vectors matching 'nothing' among id, text, a, b"),
        ("text", "no columns of vectors matching 'text' among"),
        ("id", "id is a column of integers"),
        ("?", "several columns may hold the vectors: a, b"),
        (["c"], r"no columns of vectors matching \['c'\]"),
    ],
)
def test_what_cannot_be_asked_for(asked, said):
    with pytest.raises(InvalidInputError, match=said):
        choose_vectors("t", {"id": INTEGERS, "text": TEXT, "a": LISTS, "b": LISTS}, asked)


def test_a_name_that_occurs_twice(tmp_path):
    lists = pa.array([[1.0, 2.0]])
    table = pa.Table.from_arrays([lists, lists], names=["a", "a"])
    feather.write_feather(table, tmp_path / "x.feather", version=2)
    with pytest.raises(InvalidInputError, match="two columns have the name 'a'"):
        open_vectors(tmp_path / "x.feather")


@given(st.dictionaries(st.text(max_size=8), st.sampled_from(list(ColumnKind)), max_size=8))
def test_the_choice_is_a_list_or_floats_or_an_error(table):
    try:
        columns = choose_vectors("t", table)
    except InvalidInputError:
        return
    kinds = {table[name] for name in columns}
    assert kinds in ({LISTS}, {FLOATS})
    assert len(columns) == 1 or kinds == {FLOATS}


# The labels


def label(values):
    """The label column of text columns with these values."""
    return choose_label(
        dict.fromkeys(values, TEXT), lambda names: {name: values[name] for name in names}
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


def test_rows_that_are_dropped_take_their_other_columns_along(E, tmp_path):
    words = [f"word{i % 50}" for i in range(N)]  # ten come twice
    vectors = E.copy()
    vectors[[3, 4, 30]] = np.nan
    lists = pa.FixedSizeListArray.from_arrays(vectors.astype(np.float32).reshape(-1), 4)
    table = pa.table({"n": range(N), "word": words, "vector": lists})
    save(table, tmp_path / "in.parquet")
    source = open_vectors(tmp_path / "in.parquet", on_error="skip")
    conceptor.postprocess(source, tmp_path / "out.parquet", "cn", memory=0)
    left = [i for i in range(50) if i not in (3, 4, 30)]
    # Of a word whose first row was bad, the second is the first.
    left += [i for i in range(50, N) if i - 50 in (3, 4)]
    after = load(tmp_path / "out.parquet")
    assert after["n"].to_pylist() == left
    assert after["word"].to_pylist() == [words[i] for i in left]
    assert after.schema == table.schema


def test_a_file_without_columns(tmp_path):
    (tmp_path / "x.txt").write_text("a 1 2\nb 3 4\n")
    with pytest.raises(InvalidInputError, match="glove-text has no columns; remove --column v"):
        open_vectors(tmp_path / "x.txt", column="v")


# Files

NAMES = ["x.parquet", "x.feather"]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.decimal128(22, 1)])
@pytest.mark.parametrize("name", NAMES)
def test_columns_of_integers_do_not_vanish(kind, name, tmp_path):
    floats, integers = pa.array([1.0, 2.0], pa.float32()), pa.array([1, 2]).cast(kind)
    table = pa.table({"word": ["a", "b"], "x1": floats, "x2": integers, "x3": floats})
    save(table, tmp_path / name)
    with pytest.raises(InvalidInputError, match="x2 is a column of integers"):
        open_vectors(tmp_path / name)


@pytest.mark.parametrize(
    "words",
    [
        pa.array(["a", "bé"]).dictionary_encode(),
        pa.array(["a", "bé"]).cast(getattr(pa, "string_view", pa.string)()),
        pa.array(["a", "bé"], pa.large_string()),
    ],
    ids=lambda words: str(words.type),
)
@pytest.mark.parametrize("kind", ["list_view", "large_list_view", "list_", "large_list"])
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_column(words, kind, name, tmp_path):
    if not hasattr(pa, kind):
        pytest.skip("this version of Arrow does not have it")
    lists = pa.array([[1.0, 2.0], [3.0, 4.0]], getattr(pa, kind)(pa.float32()))
    save(pa.table({"word": words, "vector": lists}), tmp_path / name)
    labels, vectors = read_all(open_vectors(tmp_path / name))
    assert labels == ["a", "bé"]
    assert vectors.tolist() == [[1, 2], [3, 4]]


def test_views_of_strings_in_a_copy_without_some_rows(tmp_path):
    """Arrow has no kernels that take rows of such columns."""
    views = pa.array(["a", "b", "c", "d"]).cast(getattr(pa, "string_view", pa.string)())
    lists = [[1.0, 2.0], [3.0], [4.0, 5.0], None]
    feather.write_feather(
        pa.table({"word": views, "note": views, "v": lists}), tmp_path / "x.feather"
    )
    vectors = open_vectors(tmp_path / "x.feather", on_error="skip")
    assert read_all(vectors)[0] == ["a", "c"]
    write_copy(vectors, plan_target(tmp_path / "y.feather", vectors))
    assert feather.read_table(tmp_path / "y.feather")["note"].to_pylist() == ["a", "c"]


@pytest.mark.parametrize("size", [2**20 + 1, 2**31 - 1])
def test_dimensions_have_a_limit_before_anything_is_read(size, tmp_path):
    kind = pa.list_(pa.float32(), size)
    table = pa.table({"word": pa.array([], pa.string()), "vector": pa.array([], kind)})
    feather.write_feather(table, tmp_path / "x.feather")
    with pytest.raises(InvalidInputError, match=f"vectors of {size} numbers; expected 1 to"):
        open_vectors(tmp_path / "x.feather")
