from __future__ import annotations

import json
import socket
from contextlib import ExitStack

import pytest

from conceptor.explore.scores import Score
from conceptor.explore.server import create_app, open_socket, to_json
from tests.explore.conftest import TOKEN, serving
from tests.processes import WAIT

testclient = pytest.importorskip("starlette.testclient", reason="needs starlette and httpx")
HOST = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def client(session):
    """A browser that opened the address with the token."""
    with testclient.TestClient(create_app(session, TOKEN), base_url=HOST) as opened:
        assert opened.get(f"/?token={TOKEN}").status_code == 200
        yield opened


@pytest.mark.parametrize(
    ("path", "status", "part"),
    [
        ("neighbors?method=cn&like=docter", 404, "no word 'docter'"),
        ("neighbors?like=bank", 422, "missing parameter method"),
        ("solution?method=nothing", 422, "unknown method 'nothing'"),
        ("solution?method=cn&value=x", 422, "could not convert"),
        ("words", 422, "missing parameter prefix"),
        ("column?name=year", 422, "no column 'year'"),
    ],
)
def test_bad_questions_get_one_clear_line(client, path, status, part):
    response = client.get(f"/api/{path}")
    problem = response.json()
    assert response.status_code == status
    assert part in problem["error"]
    assert "\n" not in problem["error"]
    if status == 404:
        expected = {"word": "docter", "where": "toys.bin", "suggestions": ["doctor"]}
        assert problem["unknown"] == [expected | {"what": "word"}]


def test_the_token_is_required_and_kept_in_a_cookie(session):
    with testclient.TestClient(create_app(session, TOKEN), base_url=HOST) as stranger:
        for path in ("/", "/?token=wrong", "/?token=ö", "/api/about", "/static/main.js"):
            assert stranger.get(path).status_code == 401
        assert stranger.get(f"/api/about?token={TOKEN}").status_code == 401
        opened = stranger.get(f"/?token={TOKEN}&like=a%26b", follow_redirects=False)
        assert (opened.status_code, opened.headers["location"]) == (303, "/?like=a%26b")
        assert "HttpOnly" in opened.headers["set-cookie"]
        assert stranger.get("/api/about").status_code == 200
    # Two pages on this machine do not share a cookie.
    names = set()
    for _ in range(2):
        with testclient.TestClient(create_app(session, TOKEN), base_url=HOST) as client:
            client.get(f"/?token={TOKEN}")
            names |= set(client.cookies)
    assert len(names) == 2


def test_clients_that_never_read_lock_nobody_out(session, monkeypatch):
    """More of them than the server has threads, with answers that no buffer holds."""
    httpx = pytest.importorskip("httpx")

    def small(port):
        opened = open_socket(port)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return opened

    monkeypatch.setattr("conceptor.explore.server.open_socket", small)
    with serving(session) as address, httpx.Client(base_url=address.partition("/?")[0]) as good:
        assert good.get(f"/?token={TOKEN}").status_code == 303
        assert 4 * len(good.get("/api/layout").content) > 100_000
        cookie = "; ".join(f"{name}={value}" for name, value in good.cookies.items())
        request = f"GET /api/layout HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
        with ExitStack() as stack:
            for _ in range(60):
                silent = stack.enter_context(socket.socket())
                silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                silent.connect(("127.0.0.1", good.base_url.port))
                silent.sendall(4 * request.encode())
            for path in ("/", "/api/layout", "/static/main.js"):
                assert good.get(path, timeout=WAIT).status_code == 200


def test_only_names_of_this_machine_are_served(client):
    """Another site may point its own name to this machine."""
    for name in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "192.0.2.7", ""):
        assert client.get("/api/about", headers={"Host": name}).status_code == 400
    for name in ("localhost", "localhost:9000", "127.0.0.1:8000"):
        assert client.get("/api/about", headers={"Host": name}).status_code == 200
    assert client.post("/api/about").status_code == 405
    assert client.get("/nothing").status_code == 404
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd"):
        assert client.get(path).status_code == 404


def test_a_browser_may_load_nothing_from_elsewhere(client):
    for path in ("/", "/api/about", "/static/main.js", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_numbers_that_are_not_finite_become_null():
    scores = [Score("WS", float("nan"), 1.5, ""), Score("日本", 1.0, float("inf"), "")]
    rows = json.loads(to_json(scores))
    assert [(row["name"], row["before"], row["after"]) for row in rows] == [
        ("WS", None, 1.5),
        ("日本", 1.0, None),
    ]
