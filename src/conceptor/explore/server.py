"""The server of the page, for this machine only and without external resources."""

from __future__ import annotations

import hmac
import importlib.util
import json
import secrets
import socket
import tempfile
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conceptor.base.arrays import jsonable
from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.concepts.neighbors import UnknownWordsError
from conceptor.explore.session import Settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.applications import Starlette
    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response

    from conceptor.explore.session import Session

__all__ = ["create_app", "open_socket", "require_extra", "serve"]

HOST = "127.0.0.1"
_PAGE = Path(__file__).parent / "page"
_STYLE = Path(__file__).parents[1] / "report" / "style.css"
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def require_extra() -> None:
    """Raise unless all packages of the `explore` extra are installed."""
    if not all(map(importlib.util.find_spec, ("starlette", "uvicorn"))):
        raise MissingExtraError("The page (explore)", "explore")


def create_app(session: Session, token: str) -> Starlette:
    """Return the application: the page, its files, and its answers.

    A request needs a loopback name as its Host, because another site could point its own name to
    this machine, and the token, because other users of this machine can reach its ports.
    """
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    # Browsers share cookies between ports, so each page needs a name of its own.
    cookie = f"conceptor-{secrets.token_hex(4)}"

    async def guard(
        request: Request, respond: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        sent = request.query_params.get("token") if request.url.path == "/" else None
        if sent is not None and hmac.compare_digest(sent.encode(), token.encode()):
            # Remove it from the address, so that it is not shared by accident.
            address = request.url.remove_query_params("token")
            response: Response = RedirectResponse(f"/?{address.query}", 303)
            response.set_cookie(cookie, token, httponly=True, samesite="lax")
        elif hmac.compare_digest(request.cookies.get(cookie, "").encode(), token.encode()):
            response = await respond(request)
        else:
            response = PlainTextResponse(
                "The token is missing; open the address that the terminal shows.", 401
            )
        response.headers.update(_HEADERS)
        return response

    def answer(work: Callable[[Session, QueryParams], object]) -> Callable[[Request], Any]:
        def run(query: QueryParams) -> Response:
            try:
                result, status = work(session, query), 200
            except UnknownWordsError as error:
                result, status = {"error": str(error), "unknown": error.unknown}, 404
            except (ConceptorError, ValueError) as error:
                result, status = {"error": " ".join(str(error).split())}, 422
            if isinstance(result, bytes):
                return Response(result, media_type="application/octet-stream")
            return Response(to_json(result), status, media_type="application/json")

        async def handle(request: Request) -> Response:
            return await run_in_threadpool(run, request.query_params)

        return handle

    async def rows(request: Request) -> Response:
        """Return the rows of a selection as CSV; their numbers may be too many for an address."""
        try:
            numbers = [int(each) for each in (await request.body()).split()]
        except ValueError:
            return PlainTextResponse("not numbers of rows", 422)
        text = await run_in_threadpool(session.save_rows, numbers)
        return Response(text, media_type="text/csv")

    return Starlette(
        routes=[
            Route("/", lambda _: FileResponse(_PAGE / "index.html")),
            *(Route(f"/api/{name}", answer(work)) for name, work in _ANSWERS.items()),
            Route("/api/rows.csv", rows, methods=["POST"]),
            Route("/static/style.css", lambda _: FileResponse(_STYLE)),
            Mount("/static", StaticFiles(directory=_PAGE)),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]),
            Middleware(BaseHTTPMiddleware, dispatch=guard),
        ],
    )


def to_json(result: object) -> bytes:
    """Return an answer as JSON; numbers that are not finite become null."""

    def plain(value: object) -> object:
        if is_dataclass(value) and not isinstance(value, type):
            return jsonable(asdict(value))
        return jsonable(value.tolist() if hasattr(value, "tolist") else value)

    return json.dumps(jsonable(result), default=plain, ensure_ascii=False).encode()


def read_settings(query: QueryParams) -> Settings:
    """Read a method and its settings."""
    value = query.get("value")
    return Settings(_required(query, "method"), None if value is None else float(value))


def _required(query: QueryParams, name: str) -> str:
    if name not in query:
        raise InvalidInputError(f"missing parameter {name}")
    return query[name]


def _save_map(session: Session, query: QueryParams) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "map.safetensors")
        session.save_map(read_settings(query), path)
        return path.read_bytes()


_ANSWERS: dict[str, Callable[[Session, QueryParams], object]] = {
    "about": lambda session, _: session.about(),
    "words": lambda session, query: session.complete(
        _required(query, "prefix"), int(query.get("n", 8))
    ),
    "solution": lambda session, query: session.solve(read_settings(query)),
    "neighbors": lambda session, query: session.neighbors(
        read_settings(query),
        query.getlist("like"),
        query.getlist("without"),
        int(query.get("n", 10)),
    ),
    "layout": lambda session, _: session.layout(),
    "path": lambda session, query: session.path(read_settings(query)),
    "neighborhoods": lambda session, query: session.neighborhoods(read_settings(query)),
    "scores": lambda session, query: session.scores(read_settings(query)),
    "find": lambda session, query: session.find(_required(query, "words")),
    "text": lambda session, query: session.read(_required(query, "text")),
    "column": lambda session, query: session.column(_required(query, "name")),
    "map.safetensors": _save_map,
}


def open_socket(port: int) -> socket.socket:
    """Listen on a port of this machine before any work; raise if it is taken."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HOST, port))
        opened.listen()
    except OSError as error:
        opened.close()
        raise InvalidInputError(
            f"{HOST}:{port}: {error.strerror}; choose another port with --port, or --port 0 for a "
            "free one"
        ) from None
    return opened


def serve(app: Starlette, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until interrupted; `ready` is called once the server answers."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn.Config(
        app, ws="none", log_level="warning", server_header=False, timeout_graceful_shutdown=2
    )
    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[opened])
