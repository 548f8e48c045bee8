"""The HTTP requests of the page, validated and described by msgspec.

A question is a class with the parameters of an address. Requests are converted to it, and the
OpenAPI description comes from the same classes. Answers are the data classes of
`conceptor.explore.answers`.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta, Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from conceptor import __version__
from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.concepts.found import UnknownWordsError
from conceptor.explore import answers
from conceptor.explore.details import CONCEPT_APERTURE
from conceptor.explore.session import AskedNeighbours, Session
from conceptor.explore.wordmap import MOST_WORDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.requests import Request

    from conceptor.explore.figures import Figures

# The maximum number of parameters in an address.
_MOST = 100
_Word = Annotated[str, Meta(min_length=1, max_length=1000)]
_Name = Annotated[str, Meta(min_length=1, max_length=100, description="A name from /api/about.")]
_Words = Annotated[list[_Word], Meta(max_length=20, description="Words; repeatable.")]
_SomeWords = Annotated[_Words, Meta(min_length=1)]
_Concept = Annotated[str, Meta(min_length=3, max_length=4000)]
_encode = msgspec.json.Encoder().encode  # null for numbers that are not finite


class Question(Struct, forbid_unknown_fields=True, kw_only=True):
    """A question without parameters."""


class SettingsQuestion(Question, kw_only=True):
    """A method and its settings; missing settings take the method's defaults."""

    method: _Name
    weights: _Name = "auto"
    aperture: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    directions: Annotated[int, Meta(ge=0, le=1000)] | None = None

    @property
    def settings(self) -> answers.Settings:
        """Only the settings."""
        return answers.Settings(self.method, self.weights, self.aperture, self.directions)


class WordsQuestion(Question, kw_only=True):
    """A prefix of words; case does not matter."""

    prefix: _Word
    n: Annotated[int, Meta(ge=1, le=50)] = 8


class NeighboursQuestion(SettingsQuestion, kw_only=True):
    """Words to find neighbours of, and words whose conceptor is negated first."""

    like: _SomeWords
    without: _Words = []
    n: Annotated[int, Meta(ge=1, le=100)] = 10


class MapQuestion(SettingsQuestion, kw_only=True):
    """The layout of common words, and their number, spread evenly over log rank."""

    projection: _Name = "pca"
    count: Annotated[int, Meta(ge=2, le=MOST_WORDS)] = 20_000


class PlacesQuestion(MapQuestion, kw_only=True):
    """A query on the map."""

    like: _SomeWords
    without: _Words = []


class ConceptsQuestion(SettingsQuestion, kw_only=True):
    """Concepts, each as NAME: WORD WORD, and an expression (by default the first name)."""

    concept: Annotated[list[_Concept], Meta(min_length=1, max_length=12)]
    expression: Annotated[str, Meta(max_length=500)] = ""
    concept_aperture: Annotated[float, Meta(ge=0.01, le=1000)] = CONCEPT_APERTURE

    @property
    def lists(self) -> dict[str, list[str]]:
        """The words of each concept."""
        found: dict[str, list[str]] = {}
        for text in self.concept:
            name, colon, words = text.partition(":")
            if not colon or not words.split():
                raise InvalidInputError(
                    f"a concept must be NAME: WORD WORD ...; it is {text[:80]!r}"
                )
            if name.strip() in found:
                raise InvalidInputError(f"two concepts are named {name.strip()!r}; rename one")
            found[name.strip()] = words.replace(",", " ").split()
        return found


@dataclass(frozen=True)
class Endpoint:
    """An address under `/api`: its question, its answer, and the function that computes it.

    `quick` questions take milliseconds once their method is fitted.
    """

    path: str
    summary: str
    question: type[Question]
    answer: Any
    work: Callable[[Session, Figures, Any], Any]
    method: str = "GET"
    quick: bool = False

    def read(self, query: str) -> Question:
        """Parse the question in an address; raise for parameters that it does not take."""
        given = parse_qs(query, keep_blank_values=True, max_num_fields=_MOST)
        lists = {"like", "without", "concept"}
        for name, values in given.items():
            if name not in lists and len(values) > 1:
                raise InvalidInputError(f"{name[:50]} was given twice")
        plain = {name: each if name in lists else each[0] for name, each in given.items()}
        try:
            return msgspec.convert(plain, self.question, strict=False)
        except msgspec.ValidationError as error:
            what, _, where = str(error).replace("`", "").partition(" - at $.")
            what = what.replace("Object missing required field", "missing parameter")
            what = what.replace("Object contains unknown field", "unknown parameter")
            raise InvalidInputError(f"{where}: {what}" if where else what) from None

    def is_quick(self, session: Session, question: Question) -> bool:
        """Return whether the answer takes only milliseconds."""
        if not (self.quick and isinstance(question, SettingsQuestion)):
            return self.quick
        return session.is_fitted(question.settings)


ENDPOINTS = (
    Endpoint(
        "/api/about",
        "The vectors, and the available choices",
        Question,
        answers.About,
        lambda session, _, __: session.about,
    ),
    Endpoint(
        "/api/words",
        "Words with a prefix, common words first",
        WordsQuestion,
        list[answers.Completion],
        lambda session, _, asked: [
            answers.Completion(word, row + 1)
            for word, row in session.table.complete(asked.prefix, asked.n)
        ],
        quick=True,
    ),
    Endpoint(
        "/api/solution",
        "A method at a setting: gate, spectrum, isotropy, quick scores, the command",
        SettingsQuestion,
        answers.SolvedMethod,
        lambda session, _, asked: session.solve(asked.settings),
        quick=True,
    ),
    Endpoint(
        "/api/neighbours",
        "The nearest words before and after",
        NeighboursQuestion,
        answers.Neighbours,
        lambda session, _, asked: session.ask_neighbours(
            asked.settings, asked.like, asked.without, asked.n
        ),
        quick=True,
    ),
    Endpoint(
        "/api/benchmarks",
        "Scores of analogies and synonyms among all words, before and after",
        SettingsQuestion,
        list[answers.Score],
        lambda session, _, asked: session.benchmarks(asked.settings),
    ),
    Endpoint(
        "/api/map",
        "Common words on a plane, before and after, and the names of their clusters",
        MapQuestion,
        answers.Points,
        lambda session, _, asked: session.points(asked.settings, asked.projection, asked.count),
    ),
    Endpoint(
        "/api/places",
        "A query and its neighbours on the planes of the map",
        PlacesQuestion,
        answers.Placed,
        lambda session, _, asked: session.place(
            asked.settings, asked.like, asked.without, asked.projection, asked.count
        ),
    ),
    Endpoint(
        "/api/directions",
        "The words at both ends of each leading direction",
        SettingsQuestion,
        answers.Directions,
        lambda session, _, asked: session.directions(asked.settings),
    ),
    Endpoint(
        "/api/concepts",
        "Word lists as conceptors: similarity, order, and the words of an expression",
        ConceptsQuestion,
        answers.CombinedConcepts,
        lambda session, _, asked: session.concepts(
            asked.settings, asked.lists, asked.expression, asked.concept_aperture
        ),
    ),
    Endpoint(
        "/api/figures",
        "Progress of the comparison on all benchmarks, and its report",
        Question,
        answers.FiguresState,
        lambda _, figures, __: figures.state,
    ),
    Endpoint(
        "/api/figures",
        "Start the comparison on all benchmarks",
        SettingsQuestion,
        answers.FiguresState,
        lambda _, figures, asked: figures.start(asked.settings),
        method="POST",
    ),
)
_EXPORT = Endpoint(
    "/api/map.safetensors",
    "The map of a method, as `fit` saves it",
    SettingsQuestion,
    bytes,
    lambda session, _, asked: _save_map(session, asked.settings),
)


def routes(session: Session, figures: Figures) -> Iterator[Route]:
    """Yield the routes: one per question, and the description of all."""
    for endpoint in (*ENDPOINTS, _EXPORT):
        handle = partial(_handle, endpoint, session, partial(endpoint.work, session, figures))
        yield Route(endpoint.path, _explaining(handle), methods=[endpoint.method])

    async def describe(_: Request) -> Response:
        return _reply(openapi(session.about))

    yield Route("/openapi.json", describe)


async def _handle(
    endpoint: Endpoint, session: Session, work: Callable[[Any], Any], request: Request
) -> Response:
    question = endpoint.read(request.url.query)
    if not endpoint.is_quick(session, question):
        return await run_in_threadpool(lambda: _reply(work(question)))
    # In this thread: with several, most of the time goes into switching Python's lock.
    found = work(question)
    if isinstance(found, AskedNeighbours):
        await asyncio.gather(*map(asyncio.wrap_future, found.futures))
    return _reply(found)


def _explaining(handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Any]:
    """Return a one-line error for a question that cannot be answered."""

    async def answer(request: Request) -> Response:
        try:
            return await handle(request)
        except UnknownWordsError as error:
            return _reply(answers.Problem(str(error), error.unknown), 404)
        except (ConceptorError, ValueError) as error:
            return _reply(answers.Problem(" ".join(str(error).split())), 422)

    return answer


def _reply(found: object, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    if isinstance(found, bytes):
        headers["Content-Disposition"] = 'attachment; filename="map.safetensors"'
        return Response(found, media_type="application/octet-stream", headers=headers)
    content = _encode(found.answer() if isinstance(found, AskedNeighbours) else found)
    return Response(content, status, media_type="application/json", headers=headers)


def _save_map(session: Session, settings: answers.Settings) -> bytes:
    solution = session.solution(settings)
    if solution is None:
        raise InvalidInputError("the second file has no map; choose a method")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "map.safetensors")
        found = session.methods.map(settings)
        found.save(path, background=session.background(settings))
        return path.read_bytes()


def openapi(about: answers.About) -> dict[str, Any]:
    """Return the OpenAPI description of all endpoints, for these vectors."""
    known = {
        "method": {"enum": [each.name for each in about.methods]},
        "weights": {"enum": about.weights},
        "projection": {"enum": about.projections},
    }
    types = [*(each.answer for each in ENDPOINTS), answers.Problem]
    (*answered, problem), components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, Any] = {}
    for endpoint, answer in zip(ENDPOINTS, answered, strict=True):
        _, asked = msgspec.json.schema_components([endpoint.question])
        schema = asked[endpoint.question.__name__]
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = {
            "summary": endpoint.summary,
            "parameters": [
                {
                    "name": name,
                    "in": "query",
                    "required": name in schema["required"],
                    "schema": value | known.get(name, {}),
                }
                for name, value in schema["properties"].items()
            ],
            "responses": {
                "200": _content("The answer", answer),
                **{status: _content("The error", problem) for status in ("404", "422")},
            },
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "conceptor explore", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
