"""Slow and greedy clients keep nobody else out, and a file that is cut ends nothing."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

from conceptor.vectors import write_vectors
from tests import processes
from tests.explore.conftest import toy_vectors
from tests.platforms import linux_only

uvicorn = pytest.importorskip("uvicorn", reason="the page needs the explore extra")


@pytest.fixture
def limited(session, monkeypatch):
    """A server with short limits, in a thread."""
    from conceptor.explore import limits
    from conceptor.explore.server import create_app, open_socket

    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.3)
    opened = open_socket("127.0.0.1", 0)
    config = uvicorn.Config(create_app(session), log_level="error", http=limits.LimitedProtocol)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    yield opened.getsockname()[1]
    server.should_exit = True
    thread.join(10)
    opened.close()
    assert not limits._open, "every connection is counted off"


@contextlib.contextmanager
def client(port, **options):
    """Ask the server; the answer is read in any case."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, **options)
    try:
        yield connection
    finally:
        connection.close()


def is_closed(connection):
    with contextlib.suppress(ConnectionError):
        return connection.recv(1) == b""
    return True


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_a_head_that_never_ends_is_not_waited_for(limited, sent):
    with socket.create_connection(("127.0.0.1", limited), timeout=60) as slow:
        slow.sendall(sent)
        assert is_closed(slow)


def test_neither_is_the_second_head(limited):
    with socket.create_connection(("127.0.0.1", limited), timeout=60) as slow:
        slow.sendall(b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert slow.recv(12) == b"HTTP/1.1 200"
        slow.sendall(b"GET /api/")
        while slow.recv(1 << 16):
            pass


@linux_only("has many addresses of its own")
def test_many_half_open_requests_keep_nobody_out(tmp_path):
    import resource

    toys = toy_vectors(300)
    write_vectors(tmp_path / "my.bin", [(toys.words, toys.vectors)], count=len(toys))
    command = [sys.executable, "-m", "conceptor", "explore", "my.bin"]
    options = ["--methods", "cn", "--no-browser", "--host", "0.0.0.0"]
    process = processes.start(
        [*command, *options], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    try:
        line = process.stdout.readline().decode()
        port = int(re.search(r":(\d+)/", line)[1])
        with contextlib.ExitStack() as stack:
            for _ in range(1005):
                with contextlib.suppress(ConnectionError):
                    slow = socket.create_connection(("127.0.0.1", port), timeout=60)
                    stack.enter_context(slow)
                    slow.sendall(b"GET / HTTP/1.1\r\nHost: x")
            with client(port, source_address=("127.0.0.2", 0)) as other:
                other.request("GET", "/api/about")
                assert other.getresponse().status == 401  # without a token, but not 503
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@linux_only("kills what reads beyond the end of a mapped file")
def test_a_file_cut_while_it_is_served(tmp_path):
    toys = toy_vectors(5000)
    write_vectors(tmp_path / "my.npy", [(toys.words, toys.vectors)])
    command = [sys.executable, "-m", "conceptor", "explore", "my.npy", "--methods", "cn"]
    process = processes.start(
        [*command, "--no-browser"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        port = int(re.search(r":(\d+)/", process.stdout.readline().decode())[1])
        os.truncate(tmp_path / "my.npy", 200)
        with client(port) as asking:
            asking.request("GET", f"/api/neighbours?like={toys.words[4000]}&method=cn")
            answer = asking.getresponse()
            assert answer.status == 200, answer.read()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(
    "host", ["evil.com@127.0.0.1", "127.0.0.1/x", "127.0.0.1?x", "a@localhost"]
)
def test_hosts_are_names_and_ports(address, host):
    with client(int(address.rpartition(":")[2])) as asking:
        asking.putrequest("GET", "/api/about", skip_host=True)
        asking.putheader("Host", host)
        asking.endheaders()
        assert asking.getresponse().status in (400, 421)


def test_two_concepts_of_one_name(address):
    asked = "method=cn&concept=a:%20the%20bank&concept=a:%20river%20water&expression=not%20a"
    with client(int(address.rpartition(":")[2])) as asking:
        asking.request("GET", f"/api/concepts?{asked}")
        answer = asking.getresponse()
        assert answer.status == 422
        assert b"two concepts are named" in answer.read()


def test_the_rows_are_those_of_the_file(tmp_path):
    from conceptor.explore.table import PageTable
    from conceptor.vectors import open_vectors

    toys = toy_vectors(300)
    write_vectors(tmp_path / "my.npy", [(toys.words, toys.vectors)])
    table = PageTable.open(open_vectors(tmp_path / "my.npy"), "my")
    np.testing.assert_array_equal(table.rows, toys.vectors)
    assert not isinstance(table.rows, np.memmap), "what others can cut is not mapped"
