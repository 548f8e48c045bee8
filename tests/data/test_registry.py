from __future__ import annotations

import hashlib
import http.server
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets
from conceptor.data.registry import DataFile, MissingDataError, Packaged
from tests.processes import WAIT, start, until

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT = b"old\tnew\t1.58\n" * 20_000
FILE = DataFile(
    name="toys/pairs.txt",
    bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    citation="nobody",
    licence="none",
    repository="someone/toys",
    commit="0" * 40,
    path="pairs.txt",
)


class Server(http.server.ThreadingHTTPServer):
    """Serves bytes by path, and misbehaves on request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.misbehavior: list[str] = []
        self.requests: list[str] = []
        self.wait_midway: Callable[[], object] = lambda: None


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        how = self.server.misbehavior.pop(0) if self.server.misbehavior else "serve"
        if how.isdigit() or self.path not in self.server.files:
            self.send_error(int(how) if how.isdigit() else 404)
            return
        body = self.server.files[self.path]
        if how == "wrong":
            body = body[:-1] + b"?"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if how == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.connection.close()
            return
        self.wfile.write(body[: len(body) // 2])
        self.server.wait_midway()
        self.wfile.write(body[len(body) // 2 :])


@contextmanager
def serving():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.delenv("CONCEPTOR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "CONNECT_SECONDS", 100.0)  # the machine may be busy
    return datasets.cache_directory()


@pytest.fixture
def server(cache, monkeypatch):
    with serving() as server:
        monkeypatch.setenv("CONCEPTOR_DATA_URL", f"http://127.0.0.1:{server.server_port}/")
        server.files[f"/someone/toys/{'0' * 40}/pairs.txt"] = CONTENT
        yield server


def leftovers(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_a_download_is_verified_kept_and_not_repeated(server, cache):
    fractions = []
    path = datasets.fetch(FILE, progress=lambda _, fraction, __: fractions.append(fraction))
    assert fractions[-1] == 1.0
    assert path == cache / "toys/pairs.txt"
    assert path.read_bytes() == CONTENT
    assert datasets.find(FILE) == (path, "cache")
    assert datasets.fetch(FILE) == path
    assert len(server.requests) == 1
    assert leftovers(cache) == [path]


@pytest.mark.parametrize(
    ("how", "message", "may_pass"),
    [
        ("wrong", "wrong SHA-256", False),
        ("404", "HTTP 404", False),
        ("503", "HTTP 503", True),
        ("cut", r"connection to 127\.0\.0\.1:\d+ broke", True),
    ],
)
def test_what_fails_is_tried_again_if_it_may_pass(how, message, may_pass, server, cache):
    attempts = datasets.ATTEMPTS if may_pass else 1
    server.misbehavior = [how] * attempts
    with pytest.raises(MissingDataError, match=message):
        datasets.fetch(FILE)
    assert len(server.requests) == attempts
    assert leftovers(cache) == []
    server.misbehavior = [how] * may_pass
    assert datasets.fetch(FILE).read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_is_a_reason_and_not_a_crash(server, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(MissingDataError, match=r"pairs\.txt cannot be written"):
        datasets.fetch(FILE)


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    path = datasets.fetch(FILE)
    path.write_bytes(CONTENT[:-1] + b"!")
    assert datasets.find(FILE) is None
    assert datasets.fetch(FILE).read_bytes() == CONTENT


def test_without_a_network_every_file_is_missing_and_only_one_is_asked_for(cache, monkeypatch):
    names = [name for name, file in datasets.registry().items() if file.url and not file.packaged]
    with serving() as closed:
        monkeypatch.setenv("CONCEPTOR_DATA_URL", f"http://127.0.0.1:{closed.server_port}")
    asked, download = [], datasets.download
    monkeypatch.setattr(datasets, "download", lambda *a: asked.append(a) or download(*a))
    paths, missing = datasets.fetch_all(names)
    assert paths == {}
    assert set(missing) == set(names)
    assert all("cannot be reached" in reason for reason in missing.values())
    assert len(asked) == 1


def test_offline_never_asks(server, cache):
    with pytest.raises(MissingDataError, match="downloads are switched off"):
        datasets.fetch(FILE, offline=True)
    assert server.requests == []


def test_the_named_directory_comes_first_and_must_be_right(server, cache, tmp_path, monkeypatch):
    place = tmp_path / "data" / FILE.name
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    assert datasets.find(FILE, tmp_path / "data") == (place, "directory")
    monkeypatch.setenv("CONCEPTOR_DATA", str(tmp_path / "data"))
    assert datasets.fetch(FILE) == place
    place.write_bytes(b"edited")
    with pytest.raises(InvalidInputError, match=r"pairs\.txt: not the file this version expects"):
        datasets.fetch(FILE)
    with pytest.raises(InvalidInputError, match="not a directory"):
        datasets.fetch(FILE, tmp_path / "nowhere")
    assert server.requests == []


def test_a_package_is_searched_without_importing_it(cache, tmp_path, monkeypatch):
    (tmp_path / "loud_package").mkdir()
    (tmp_path / "loud_package/__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "loud_package/pairs.txt").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(tmp_path)
    copy = Packaged("loud_package", "pairs.txt", FILE.bytes, FILE.sha256)
    file = replace(FILE, packaged=(copy,))
    assert datasets.find(file) == (tmp_path / "loud_package/pairs.txt", "package")
    assert "loud_package" not in sys.modules
    other = replace(file, packaged=(replace(copy, sha256="0" * 64),))
    assert datasets.find(other) is None


def test_a_killed_download_harms_nobody(data, server, cache):
    name = "vocabulary/enwiki_vocab_min200.txt"
    file = datasets.data_file(name)
    content = Path(data, name).read_bytes()
    server.files[f"/{file.repository}/{file.commit}/{file.path}"] = content
    half_sent, killed = threading.Event(), threading.Event()
    server.wait_midway = lambda: (half_sent.set(), killed.wait(WAIT))
    code = (
        "from conceptor.__main__ import main; from conceptor.data import registry;"
        "registry.CONNECT_SECONDS = registry.READ_SECONDS = 100.0; main()"
    )
    with start([sys.executable, "-c", code, "data", "fetch", name]) as process:
        assert half_sent.wait(WAIT)
        process.kill()
    killed.set()
    assert not (cache / name).exists()
    server.wait_midway = lambda: None
    assert datasets.fetch(name).stat().st_size == datasets.data_file(name).bytes


def test_two_that_fetch_one_file_at_once_both_succeed(server, cache):
    server.wait_midway = lambda: until(lambda: len(server.requests) == 2)
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(datasets.fetch, [FILE, FILE]))
    assert leftovers(cache) == list(set(paths))
    assert paths[0].read_bytes() == CONTENT
