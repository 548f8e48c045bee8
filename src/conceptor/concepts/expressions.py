"""Expressions such as `not (usage or gender)` over named conceptors."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from functools import reduce
from operator import and_, or_

from conceptor.algebra.conceptors import Conceptor
from conceptor.base.errors import InvalidInputError

_NAME = re.compile(r"[^\W\d][\w-]*")
_TOKEN = re.compile(rf"{_NAME.pattern}|\S")
_WORDS = {"~": "not", "¬": "not", "&": "and", "∧": "and", "|": "or", "∨": "or"}
_OPERATORS = ("or", "and", "not")
_MOST_TOKENS = 500


def check_name(name: str) -> str:
    """Return a name that is valid in an expression; raise for any other."""
    if not _NAME.fullmatch(name) or name.lower() in _OPERATORS:
        raise InvalidInputError(
            f"{name!r} cannot name a concept: start with a letter, use letters, digits, _ and -, "
            f"but none of {', '.join(_OPERATORS)}"
        )
    return name


class Expression:
    """An expression over named conceptors; `names` are the distinct names in it, in order.

    `not` binds tighter than `and`, and `and` tighter than `or`; `~ & |` and `¬ ∧ ∨` are the same.

    Examples
    --------
    >>> from conceptor import Conceptor
    >>> from conceptor.concepts.expressions import Expression
    >>> neither = Expression("not (gender or names)")
    >>> neither.names
    ('gender', 'names')
    >>> gender = Conceptor.from_vectors([[1.0, 0.0]], aperture=3)
    >>> neither({"gender": gender, "names": Conceptor.zero(2)}).matrix.round(2)
    array([[0.1, 0. ],
           [0. , 1. ]])
    """

    def __init__(self, text: str) -> None:
        self.text = text
        # Python parses it, with numbered names: those of concepts may be words of Python.
        numbered: dict[str, str] = {}
        tokens = [_WORDS.get(token, token) for token in _TOKEN.findall(text)]
        is_valid = len(tokens) <= _MOST_TOKENS
        for place, token in enumerate(tokens):
            if token.lower() in _OPERATORS:
                tokens[place] = token.lower()
            elif _NAME.fullmatch(token):
                tokens[place] = numbered.setdefault(token, f"n{len(numbered)}")
            else:
                is_valid &= token in "()"
        try:
            self._tree = ast.parse(" ".join(tokens) if is_valid else "", mode="eval").body
        except SyntaxError:
            is_valid = False
        # Python also knows a call a(b) and an empty pair of brackets.
        if not is_valid or any(isinstance(n, ast.Call | ast.Tuple) for n in ast.walk(self._tree)):
            raise InvalidInputError(
                f"the expression {text!r:.200} is not one of names, not, and, or and brackets; a "
                "valid example: not (usage or gender)"
            )
        self.names = tuple(numbered)

    def check(self, known: Collection[str]) -> None:
        """Raise for an unknown name."""
        for name in self.names:
            if name not in known:
                raise InvalidInputError(
                    f"the expression {self.text!r} uses {name}, which is not defined; defined "
                    f"names: {', '.join(known) or 'none'}"
                )

    def __call__(self, conceptors: Mapping[str, Conceptor]) -> Conceptor:
        """Return its value; raise for a name without a conceptor."""
        self.check(conceptors)

        def value(node: ast.expr) -> Conceptor:
            match node:
                case ast.UnaryOp(operand=operand):
                    return ~value(operand)
                case ast.BoolOp(op=operator, values=values):
                    operate = and_ if isinstance(operator, ast.And) else or_
                    return reduce(operate, map(value, values))
                case ast.Name(id=number):
                    return conceptors[self.names[int(number[1:])]]
            raise AssertionError(node)

        return value(self._tree)
