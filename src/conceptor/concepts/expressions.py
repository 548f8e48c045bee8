"""Expressions such as `not (usage or gender)` over named conceptors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from conceptor.algebra.conceptors import Conceptor
from conceptor.base.errors import InvalidInputError

_NAME = re.compile(r"[^\W\d][\w-]*")
_TOKEN = re.compile(rf"\s*({_NAME.pattern}|[()~&|¬∧∨])\s*")
_WORDS = {"~": "not", "¬": "not", "&": "and", "∧": "and", "|": "or", "∨": "or"}
# The operators, by how tightly they bind.
_BINDING = {"or": 1, "and": 2, "not": 3}


def check_name(name: str) -> str:
    """Return a name that is valid in an expression; raise for any other."""
    if not _NAME.fullmatch(name) or name.lower() in _BINDING:
        raise InvalidInputError(
            f"{name!r} cannot name a concept: start with a letter, use letters, digits, _ and -, "
            f"but none of {', '.join(_BINDING)}"
        )
    return name


@dataclass(frozen=True)
class Expression:
    """An expression over named conceptors.

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

    text: str
    # In postfix order, for a stack: `gender names or not`.
    _steps: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_steps", tuple(_postfix(self.text)))

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct names in it, in order."""
        return tuple(dict.fromkeys(step for step in self._steps if step not in _BINDING))

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
        stack: list[Conceptor] = []
        for step in self._steps:
            if step not in _BINDING:
                stack.append(conceptors[step])
            elif step == "not":
                stack.append(~stack.pop())
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(left & right if step == "and" else left | right)
        return stack.pop()


def _postfix(text: str) -> Iterator[str]:
    """Yield names and operators in the order of evaluation (Dijkstra 1961)."""
    waiting: list[tuple[str, int]] = []
    operand_next = True
    for token, place in _tokens(text):
        if operand_next != (token in ("not", "(") or token not in (*_BINDING, ")")):
            wanted = "a concept" if operand_next else "and, or, or the end"
            raise _error(text, place, f"expected {wanted}, found {token!r}")
        if token in ("not", "("):
            waiting.append((token, place))
        elif token == ")":
            while waiting and waiting[-1][0] != "(":
                yield waiting.pop()[0]
            if not waiting:
                raise _error(text, place, "found ')' without its '('")
            waiting.pop()
        elif token in _BINDING:
            while waiting and _BINDING.get(waiting[-1][0], 0) >= _BINDING[token]:
                yield waiting.pop()[0]
            waiting.append((token, place))
            operand_next = True
        else:
            yield token
            operand_next = False
    if operand_next:
        raise _error(text, len(text), "expected a concept, found the end")
    for token, place in reversed(waiting):
        if token == "(":
            raise _error(text, place, "found '(' without its ')'")
        yield token


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _error(text, place, f"found {text[place]!r}")
        token = _WORDS.get(match[1], match[1])
        yield token.lower() if token.lower() in _BINDING else token, match.start(1)
        place = match.end()


def _error(text: str, place: int, what: str) -> InvalidInputError:
    return InvalidInputError(
        f"the expression {text!r}, at character {place + 1}: {what}; a valid example: "
        "not (usage or gender)"
    )
