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
        st.tuples(inner, inner).map(lambda x: (f"({x[0][0]}) and ({x[1][0]})", x[0][1] & x[1][1])),
        st.tuples(inner, inner).map(lambda x: (f"({x[0][0]}) or ({x[1][0]})", x[0][1] | x[1][1])),
    ),
    max_leaves=6,
)


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
        ("¬(a ∨ b)", "NOT a AND NOT b"),
    ],
)
def test_how_tightly_operators_bind(short, long) -> None:
    one, other = (Expression(text)(conceptors()).matrix for text in (short, long))
    np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.parametrize(
    "text", ["", "a b", "a or or b", "(a", "a) or b", "a + b", "a(b)", "()", "a #"]
)
def test_mistakes_are_refused(text) -> None:
    with pytest.raises(InvalidInputError, match="a valid example"):
        Expression(text)


def test_deep_expressions_are_evaluated_or_refused() -> None:
    deep = Expression("(" * 99 + "not " * 301 + "a" + ")" * 99)
    assert (deep(conceptors()).matrix == (~conceptors()["a"]).matrix).all()
    for text in ("(" * 249 + "a" + ")" * 249, "not " * 99_999 + "a"):
        with pytest.raises(InvalidInputError, match="a valid example"):
            Expression(text)


@given(st.text(alphabet="ab()~&| \n¬notrd3-", max_size=30))
def test_any_text_is_an_expression_or_a_clear_mistake(text) -> None:
    try:
        expression = Expression(text)
    except InvalidInputError:
        return  # with a message, which other tests look at
    known = {check_name(name): Conceptor.zero(2) for name in expression.names}
    assert 0 <= expression(known).quota <= 1


@pytest.mark.parametrize("name", ["", "not", "OR", "2nd", "a b", "a(", "-a"])
def test_names_that_no_expression_could_hold(name) -> None:
    with pytest.raises(InvalidInputError, match="cannot name a concept"):
        check_name(name)
