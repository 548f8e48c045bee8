from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.numpy import load as load_safetensors

import conceptor.explore
from conceptor.base.errors import InvalidInputError
from conceptor.explore.scores import Score
from conceptor.explore.server import create_app, open_socket, to_json
from tests.explore.conftest import TOKEN

testclient = pytest.importorskip("starlette.testclient", reason="needs starlette and httpx")
HOST = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def client(session):
    """A browser that opened the address with the token."""
    with testclient.TestClient(create_app(session, TOKEN), base_url=HOST) as opened:
        assert opened.get(f"/?token={TOKEN}").status_code == 200
        yield opened


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("about", {"vectors", "rows", "count", "methods", "weights", "examples"}),
        ("solution?method=cn", {"slider", "gate", "variance", "isotropy", "command", "notes"}),
        ("solution?method=abtt&value=3", {"slider", "gate"}),
        (
            "neighbors?method=cn&like=bank&like=river&without=music",
            {"before", "after", "like", "without", "unknown", "places"},
        ),
        ("map?method=cn", {"words", "ranks", "clusters", "before", "after", "names", "frequency"}),
        (
            "concepts?method=cn&concept=a:+bank+banks&concept=b:+river&expression=a+and+not+b",
            {"names", "similarity", "order", "words", "missing"},
        ),
    ],
)
def test_questions_have_answers(client, path, keys):
    response = client.get(f"/api/{path}")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    assert keys <= set(response.json())


def test_answers_are_those_of_the_session(client, session):
    answer = client.get("/api/neighbors?method=cn&like=bank&n=5").json()
    expected = session.neighbors(session.default, ["bank"], n=5)
    for side in ("before", "after"):
        assert [near["word"] for near in answer[side]] == [near.word for near in expected[side]]
    words = client.get("/api/words?prefix=ban&n=2").json()
    assert [each["word"] for each in words] == ["bank", "banks"]


@pytest.mark.parametrize(
    ("path", "status", "part"),
    [
        ("neighbors?method=cn&like=docter", 404, "no word 'docter'"),
        ("neighbors?like=bank", 422, "missing parameter method"),
        ("solution?method=nothing", 422, "unknown method 'nothing'"),
        ("solution?method=cn&value=nan", 422, "outside the slider's range"),
        ("solution?method=cn&value=x", 422, "could not convert"),
        ("solution?method=cn&weights=x", 422, "x"),
        ("words", 422, "missing parameter prefix"),
        ("words?prefix=a&n=x", 422, "invalid literal"),
        ("concepts?method=cn", 422, "missing parameter concept"),
        ("concepts?method=cn&concept=nothing", 422, "NAME: WORD"),
        ("concepts?method=cn&concept=a:+bank&concept=a:+river", 422, "two concepts"),
        ("concepts?method=cn&concept=a:+bank&expression=a+and+(", 422, "expression"),
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


def test_the_map_that_is_downloaded_is_the_one_shown(client, session):
    response = client.get("/api/map.safetensors?method=cn")
    assert "map.safetensors" in response.headers["content-disposition"]
    shown = session.fitted(session.default).map
    assert (load_safetensors(response.content)["matrix"] == shown.matrix).all()


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


def test_all_files_that_the_page_names_are_served(client):
    page = client.get("/").text
    names = [part.partition('"')[0] for part in page.split('"/static/')[1:]]
    assert {"icon.svg", "style.css", "page.css", "main.js"} == set(names)
    scripts, seen = [], set()
    for name in names:
        assert client.get(f"/static/{name}").status_code == 200, name
        scripts += [name] if name.endswith(".js") else []
    while scripts:
        response = client.get(f"/static/{(name := scripts.pop())}")
        assert response.headers["content-type"].startswith("text/javascript")
        seen.add(name)
        imported = [part.partition('"')[0] for part in response.text.split('from "./')[1:]]
        scripts += [each for each in imported if each not in seen]
    folder = Path(conceptor.explore.__file__).with_name("page")
    assert seen == {path.name for path in folder.glob("*.js")}


def test_numbers_that_are_not_finite_become_null():
    scores = [Score("WS", float("nan"), 1.5, ""), Score("日本", 1.0, float("inf"), "")]
    rows = json.loads(to_json(scores))
    assert [(row["name"], row["before"], row["after"]) for row in rows] == [
        ("WS", None, 1.5),
        ("日本", 1.0, None),
    ]


def test_a_port_in_use_is_named():
    with open_socket(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"127.0.0.1:{port}: .*--port"):
            open_socket(port)
