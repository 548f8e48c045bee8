"""The server of the page: local unless configured otherwise, and without external resources."""

from __future__ import annotations

import hmac
import importlib.util
import ipaddress
import socket
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.explore.figures import Figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from conceptor.explore.session import Session

_COOKIE = "conceptor-token"
_PAGE = resources.files("conceptor.explore").joinpath("page")
_FILES = (
    "main.js", "api.js", "state.js", "panels.js", "words.js", "concepts.js", "terms.js",
    "slider.js", "map.js", "camera.js", "dots.js", "labels.js", "snapshot.js", "page.css",
    "icon.svg",
)  # fmt: skip
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}


def require_extra() -> None:
    """Raise unless all packages of the `explore` extra are installed."""
    if not all(map(importlib.util.find_spec, ("msgspec", "starlette", "uvicorn"))):
        raise MissingExtraError("The page (explore)", "explore")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server bound to a host."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def create_app(session: Session, *, host: str = "127.0.0.1", token: str | None = None) -> Starlette:
    """Return the application: the page, its files, and its API."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    from conceptor.explore import api

    app = Starlette(
        routes=[
            Route("/", _file(_PAGE.joinpath("index.html"))),
            *(Route(f"/static/{name}", _file(path)) for name, path in _static_files().items()),
            *api.routes(session, Figures(session)),
        ]
    )
    app.add_middleware(_Guard, host=host, token=token)
    return app


def _static_files() -> dict[str, Any]:
    files: dict[str, Any] = {name: _PAGE.joinpath(name) for name in _FILES}
    files["style.css"] = resources.files("conceptor.report").joinpath("style.css")
    return files


def _file(path: Any) -> Callable[[Request], Any]:  # noqa: ANN401
    """Return an endpoint that serves a file of a package."""

    async def handle(request: Request) -> Response:
        from starlette.responses import FileResponse

        kind = _TYPES[Path(str(path)).suffix]
        return FileResponse(str(path), media_type=kind, headers={"Cache-Control": "no-cache"})

    return handle


class _Guard:
    """Accepts only requests from this page, and sends the security headers.

    A foreign site cannot read answers of this server, but it could make its own name point to
    this machine (DNS rebinding), so the Host must be ours. If other machines can reach the server,
    requests also need a token.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self._app, self._token = app, token
        self._hosts = {"localhost", host.lower(), socket.gethostname().lower()}
        self._others = not is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_policy(message["headers"])
            await send(message)

        answer = self._refuse(scope["method"], headers) or self._ask_for_token(scope, headers)
        await (answer or self._app)(scope, receive, guarded)

    def _refuse(self, method: str, headers: dict[str, list[str]]) -> ASGIApp | None:
        """Return the refusal of a request that this page does not make."""
        from starlette.responses import PlainTextResponse

        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return PlainTextResponse("This host name is not served here.", 421)
        origins = headers.get("origin", []) if method not in ("GET", "HEAD") else []
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return PlainTextResponse("Requests from other sites are refused.", 403)
        if headers.get("content-length", ["0"]) != ["0"] or "transfer-encoding" in headers:
            return PlainTextResponse("Requests must not have a body.", 413, {"Connection": "close"})
        return None

    def _ask_for_token(self, scope: Scope, headers: dict[str, list[str]]) -> ASGIApp | None:
        """Return the refusal of a request without the token; store the token in a cookie."""
        from starlette.responses import PlainTextResponse, RedirectResponse

        path = scope["path"]
        if self._token is None or path.startswith("/static/"):
            return None  # serves no vector data
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if path == "/" and self._is_token(query.pop("token", [""])[0]):
            # Remove it from the address, so that it is not shared by accident.
            response = RedirectResponse(f"/?{urlencode(query, doseq=True)}", 303)
            response.set_cookie(_COOKIE, self._token, httponly=True, samesite="lax")
            return response
        cookies = [one for line in headers.get("cookie", []) for one in line.split("; ")]
        known = [one.partition("=")[2] for one in cookies if one.startswith(f"{_COOKIE}=")]
        known += [line.removeprefix("Bearer ") for line in headers.get("authorization", [])]
        if any(map(self._is_token, known)):
            return None
        return PlainTextResponse(
            "The token is missing; open the address that the terminal shows.", 401
        )

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    def _is_ours(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name = (parts.hostname or "").lower()
        except ValueError:
            return False
        if "@" in host or parts.path or parts.query or parts.fragment:
            return False  # a Host is a name and a port
        with suppress(ValueError):
            # An address, unlike a name, cannot be pointed elsewhere.
            return ipaddress.ip_address(name).is_loopback or self._others
        return name in self._hosts


def _with_policy(headers: Any) -> list[tuple[bytes, bytes]]:  # noqa: ANN401
    added = {
        b"content-security-policy": _POLICY.encode(),
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"no-referrer",
        b"cross-origin-opener-policy": b"same-origin",
    }
    own = {name.lower() for name, _ in headers}
    return [*headers, *((name, value) for name, value in added.items() if name not in own)]


def open_socket(host: str, port: int) -> socket.socket:
    """Bind the address before any work; raise if it is taken or not local."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen(1024)
    except (OSError, OverflowError) as error:
        opened.close()
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise InvalidInputError(
            f"{host}:{port}: {reason}; choose another port with --port, or --port 0 for a free one"
        ) from None
    return opened


def serve(app: Starlette, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until interrupted; `ready` is called once the server answers."""
    import uvicorn

    from conceptor.explore.limits import LimitedProtocol

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        log_level="warning",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        limit_concurrency=1000,
    )
    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[opened])
