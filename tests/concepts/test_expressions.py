from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor import Conceptor
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.expressions import Expression, check_name

NAMES = ("a", "b", "women-and-men", "größe")


@cache
def conceptors() -> dict[str, Conceptor]:
    rng = np.random.default_rng(1)
    return {name: Conceptor.from_vectors(rng.standard_normal((9, 4)), 0.7) for name in NAMES}


# An expression, and the conceptor that Python's own operators make of it.
EXPRESSIONS = st.recursive(
    st.sampled_from(NAMES).map(lambda name: (name, conceptors()[name])),
    lambda inner: st.one_of(
        inner.map(lambda one: (f"not ({one[0]})", ~one[1])),
        st.tuples(inner, inner).map(lambda two: (f"({two[0][0]}) and ({two[1][0]})",
                                                 two[0][1] & two[1][1])),
        st.tuples(inner, inner).map(lambda two: (f"({two[0][0]}) or ({two[1][0]})",
                                                 two[0][1] | two[1][1])),
    ),
    max_leaves=6,
)  # fmt: skip


@given(EXPRESSIONS)
def test_an_expression_is_what_the_operators_make(pair) -> None:
    text, expected = pair
    np.testing.assert_allclose(Expression(text)(conceptors()).matrix, expected.matrix, atol=1e-9)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("not a and b or women-and-men", "((not a) and b) or women-and-men"),
        ("a or b and not größe", "a or (b and (not größe))"),
        ("not not a", "a"),
        ("~a & b | größe", "(not a and b) or größe"),
        ("¬(a ∨ b)", "not a and not b"),
        ("NOT a AND b", "not a and b"),
        ("a and b and größe", "(a and b) and größe"),
    ],
)
def test_how_tightly_operators_bind(short, long) -> None:
    known = conceptors()
    np.testing.assert_allclose(
        Expression(short)(known).matrix, Expression(long)(known).matrix, atol=1e-10
    )


def test_depth_has_no_limit() -> None:
    deep = "(" * 5000 + "not " * 5001 + "a" + ")" * 5000
    np.testing.assert_array_equal(
        Expression(deep)(conceptors()).matrix, (~conceptors()["a"]).matrix
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a concept, found the end"),
        ("a b", "at character 3: expected and, or, or the end, found 'b'"),
        ("a or or b", "at character 6: expected a concept, found 'or'"),
        ("(a", "at character 1: found '\\(' without its '\\)'"),
        ("a) or b", "at character 2: found '\\)' without its '\\('"),
        ("a + b", "at character 3: found '\\+'"),
    ],
)
def test_mistakes_are_pointed_at(text, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Expression(text)


@given(st.text(alphabet="ab()~&| \n¬notrd3-", max_size=30))
def test_any_text_is_an_expression_or_a_clear_mistake(text) -> None:
    try:
        expression = Expression(text)
    except InvalidInputError:
        return  # with a message, which other tests look at
    known = {check_name(name): Conceptor.zero(2) for name in expression.names}
    assert 0 <= expression(known).quota <= 1


def test_names_in_order_and_unknown_ones() -> None:
    expression = Expression("b or (a and b)")
    assert expression.names == ("b", "a")
    with pytest.raises(InvalidInputError, match="uses a, which is not defined; defined names: b"):
        expression({"b": Conceptor.zero(2)})


@pytest.mark.parametrize("name", ["", "not", "OR", "2nd", "a b", "a(", "-a"])
def test_names_that_no_expression_could_hold(name) -> None:
    with pytest.raises(InvalidInputError, match="cannot name a concept"):
        check_name(name)
