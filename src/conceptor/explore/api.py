"""The questions that can be asked over HTTP: each declared once, checked, and described.

An endpoint's parameters are JSON schemas; what comes in is checked against them, and the OpenAPI
description is made of the same. Answers are the data classes of `conceptor.explore.answers`.
"""

from __future__ import annotations

import math
import re
import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from conceptor import __version__
from conceptor.base.errors import InvalidInputError
from conceptor.explore import answers
from conceptor.explore.session import CONCEPT_APERTURE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conceptor.explore.figures import Figures
    from conceptor.explore.session import Session

    Query = Mapping[str, Sequence[str]]

__all__ = ["ENDPOINTS", "Endpoint", "openapi", "settings_of"]

_LONGEST_WORD = 1000
_MOST_WORDS = 20
_MOST_CONCEPTS = 12
_WORD = {"type": "string", "minLength": 1, "maxLength": _LONGEST_WORD}
# Words and numbers in addresses, as `float` and `int` read them, and nothing else that they read.
_INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,12}(\.\d{1,20})?([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class Parameter:
    """A parameter of an address, and the JSON schema of its value."""

    name: str
    schema: dict[str, Any]
    description: str
    required: bool = False

    def read(self, query: Query) -> Any:  # noqa: ANN401
        """Return the checked value; the schema's default, or None, where there is none."""
        given = query.get(self.name, [])
        if self.schema["type"] == "array":
            most = self.schema["maxItems"]
            if len(given) > most or (self.required and not given):
                raise InvalidInputError(f"{self.name}: give at least 1 and at most {most}")
            return [self._check(text, self.schema["items"]) for text in given]
        if not given:
            if self.required:
                raise InvalidInputError(f"{self.name} is missing")
            return self.schema.get("default")
        if len(given) > 1:
            raise InvalidInputError(f"{self.name} is given twice")
        return self._check(given[0], self.schema)

    def _check(self, text: str, schema: dict[str, Any]) -> Any:  # noqa: ANN401
        value: Any = text
        if schema["type"] in ("integer", "number"):
            pattern = _INTEGER if schema["type"] == "integer" else _NUMBER
            if not pattern.fullmatch(text):
                raise InvalidInputError(
                    f"{self.name} must be a {schema['type']}, not {text[:50]!r}"
                )
            value = int(text) if schema["type"] == "integer" else float(text)
            low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
            if not low <= value <= high:
                raise InvalidInputError(f"{self.name} must be between {low:g} and {high:g}")
        elif not schema.get("minLength", 0) <= len(text) <= schema["maxLength"]:
            raise InvalidInputError(
                f"{self.name} must have {schema.get('minLength', 0)} to {schema['maxLength']} "
                f"characters, not {len(text)}"
            )
        return value


def _words(name: str, description: str, *, required: bool = False) -> Parameter:
    schema: dict[str, Any] = {"type": "array", "items": _WORD, "maxItems": _MOST_WORDS}
    if required:
        schema["minItems"] = 1
    return Parameter(name, schema, description, required)


def _text(name: str, most: int, description: str, default: str | None = None) -> Parameter:
    schema: dict[str, Any] = {"type": "string", "minLength": 0, "maxLength": most}
    if default is not None:
        schema["default"] = default
    return Parameter(name, schema, description)


_METHOD = Parameter(
    "method",
    {"type": "string", "minLength": 1, "maxLength": 100},
    "A name of /api/about.",
    required=True,
)
SETTINGS = (
    _METHOD,
    _text("weights", 100, "How words count: a name of /api/about.", "auto"),
    Parameter(
        "aperture",
        {"type": "number", "minimum": 0, "maximum": 1e9},
        "Of methods that have one; by default theirs.",
    ),
    Parameter(
        "directions",
        {"type": "integer", "minimum": 0, "maximum": 1000},
        "Leading directions to treat, for methods that do; by default theirs.",
    ),
)
_LIKE = _words("like", "Words to find neighbours of; repeatable.", required=True)
_WITHOUT = _words("without", "Words whose conceptor is negated first; repeatable.")


def settings_of(values: Mapping[str, Any]) -> answers.Settings:
    """Return the settings among checked values."""
    return answers.Settings(**{each.name: values[each.name] for each in SETTINGS})


@dataclass(frozen=True)
class Endpoint:
    """An address under `/api`, what it takes, what it answers, and what works it out.

    `quick` is answered within milliseconds, once its method is fitted.
    """

    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    answer: type
    call: Callable[[Session, Figures, dict[str, Any]], Any]
    method: str = "GET"
    quick: bool = False

    def is_quick(self, session: Session, values: Mapping[str, Any]) -> bool:
        """Return whether the answer to these values takes no longer than milliseconds."""
        return self.quick and ("method" not in values or session.is_fitted(settings_of(values)))

    def read(self, query: Query) -> dict[str, Any]:
        """Return the checked values of all parameters; raise for one that is not known."""
        known = {each.name for each in self.parameters}
        for name in query:
            if name not in known:
                raise InvalidInputError(f"unknown parameter {name[:50]!r}")
        return {each.name: each.read(query) for each in self.parameters}


def _concepts(session: Session, _: Figures, values: dict[str, Any]) -> answers.Concepts:
    lists: dict[str, list[str]] = {}
    for text in values["concept"]:
        name, colon, words = text.partition(":")
        if not colon or not words.split():
            raise InvalidInputError(f"a concept is written NAME: WORD WORD ..., not {text[:80]!r}")
        lists[name.strip()] = words.replace(",", " ").split()
    return session.concepts(
        settings_of(values), lists, values["expression"], values["concept_aperture"]
    )


ENDPOINTS = (
    Endpoint(
        "/api/about",
        "The vectors, and what can be chosen",
        (),
        answers.About,
        lambda session, _, __: session.about,
    ),
    Endpoint(
        "/api/words",
        "Words that begin so, the common ones first",
        (
            Parameter("prefix", _WORD, "How they begin, in any case.", required=True),
            Parameter(
                "n", {"type": "integer", "minimum": 1, "maximum": 50, "default": 8}, "How many."
            ),
        ),
        list[answers.Completion],
        lambda session, _, values: [
            answers.Completion(word, rank)
            for word, rank in session.table.complete(values["prefix"], values["n"])
        ],
        quick=True,
    ),
    Endpoint(
        "/api/solution",
        "A method at a setting: gate, spectrum, isotropy, quick figures, the command",
        SETTINGS,
        answers.Solved,
        lambda session, _, values: session.solve(settings_of(values)),
        quick=True,
    ),
    Endpoint(
        "/api/neighbours",
        "The nearest words before and after",
        (
            *SETTINGS,
            _LIKE,
            _WITHOUT,
            Parameter(
                "n", {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}, "How many."
            ),
        ),
        answers.Neighbours,
        lambda session, _, values: session.ask_neighbours(
            settings_of(values), values["like"], values["without"], values["n"]
        ),
        quick=True,
    ),
    Endpoint(
        "/api/map",
        "Frequent words and the query's neighbours on a plane, before and after",
        (
            *SETTINGS,
            _words("like", _LIKE.description),
            _WITHOUT,
            _text("projection", 20, "A name of /api/about.", "pca"),
        ),
        answers.Points,
        lambda session, _, values: session.points(
            settings_of(values), values["like"], values["without"], values["projection"]
        ),
    ),
    Endpoint(
        "/api/directions",
        "The words at both ends of each leading direction",
        SETTINGS,
        answers.Directions,
        lambda session, _, values: session.directions(settings_of(values)),
    ),
    Endpoint(
        "/api/concepts",
        "Word lists as conceptors: similarity, order, and the words of an expression",
        (
            *SETTINGS,
            Parameter(
                "concept",
                {
                    "type": "array",
                    "items": {"type": "string", "minLength": 3, "maxLength": 4000},
                    "minItems": 1,
                    "maxItems": _MOST_CONCEPTS,
                },
                "NAME: WORD WORD ...; repeatable.",
                required=True,
            ),
            _text("expression", 500, "Names with and, or, not; by default the first.", ""),
            Parameter(
                "concept_aperture",
                {
                    "type": "number",
                    "minimum": 0.01,
                    "maximum": 1000,
                    "default": CONCEPT_APERTURE,
                },
                "The aperture of the concepts.",
            ),
        ),
        answers.Concepts,
        _concepts,
    ),
    Endpoint(
        "/api/figures",
        "How far the comparison on all benchmarks is, and its report",
        (),
        answers.FiguresState,
        lambda _, figures, __: figures.state,
    ),
    Endpoint(
        "/api/figures",
        "Begin the comparison on all benchmarks",
        SETTINGS,
        answers.FiguresState,
        lambda _, figures, values: figures.start(settings_of(values)),
        method="POST",
    ),
)


def openapi(about: answers.About) -> dict[str, Any]:
    """Return the OpenAPI description of all endpoints, for these vectors."""
    known = {
        "method": [each.name for each in about.methods],
        "weights": about.weights,
        "projection": about.projections,
    }
    schemas: dict[str, Any] = {}
    problem = {
        "description": "What is wrong with the question",
        "content": {"application/json": {"schema": _schema(answers.Problem, schemas)}},
    }
    paths: dict[str, Any] = {}
    for each in ENDPOINTS:
        answer = {"application/json": {"schema": _schema(each.answer, schemas)}}
        paths.setdefault(each.path, {})[each.method.lower()] = {
            "summary": each.summary,
            "parameters": [
                {
                    "name": parameter.name,
                    "in": "query",
                    "required": parameter.required,
                    "description": parameter.description,
                    "schema": parameter.schema
                    | ({"enum": known[parameter.name]} if parameter.name in known else {}),
                }
                for parameter in each.parameters
            ],
            "responses": {
                "200": {"description": "The answer", "content": answer},
                "404": problem,
                "422": problem,
            },
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "conceptor explore", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    """Return the JSON schema of a type; data classes are put into `schemas`."""
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if is_dataclass(kind) and isinstance(kind, type):
        if kind.__name__ not in schemas:
            schemas[kind.__name__] = {}  # reserved, for types within types
            hints = typing.get_type_hints(kind)
            names = [each.name for each in fields(kind)]
            schemas[kind.__name__] = {
                "type": "object",
                "properties": {name: _schema(hints[name], schemas) for name in names},
                "required": names,
                "additionalProperties": False,
            }
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        return {"type": "array", "items": _schema(inner[0], schemas)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(inner[1], schemas)}
    assert origin in (typing.Union, types.UnionType), kind
    return {"anyOf": [_schema(each, schemas) for each in inner]}
