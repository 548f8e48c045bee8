"""`conceptor explore` as a process: its address, its end, and its errors."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from conceptor.base.errors import MissingExtraError
from conceptor.explore.server import open_socket, require_extra
from conceptor.vectors.target import write_vectors
from tests import processes
from tests.explore.conftest import toy_table

COMMAND = [sys.executable, "-m", "conceptor", "explore"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("explore")
    words, rows = toy_table(300)
    write_vectors(path / "my.bin", [(words, rows)])
    return path


def test_it_prints_its_address_answers_and_ends_at_ctrl_c(folder):
    command = [*COMMAND, "my.bin", "--methods", "cn", "--no-browser"]
    process = processes.start(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)[0]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        browser.open(address, timeout=60).close()
        with browser.open(f"{address.partition('?')[0]}api/about", timeout=60) as answer:
            about = json.load(answer)
        assert about["vectors"] == "my.bin"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert (out, err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nothing.bin"], "nothing.bin"),
        (["my.bin", "--methods", "original"], "original changes nothing"),
        (["my.bin", "--methods", "nonsense"], "unknown method 'nonsense'"),
    ],
)
def test_errors_are_one_line(folder, arguments, part):
    done = processes.call("explore", *arguments, "--no-browser", cwd=folder)
    assert done.returncode == 2
    assert part in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use_is_an_error_before_anything_is_read(folder):
    with open_socket(0) as taken:
        port = taken.getsockname()[1]
        done = processes.call("explore", "nothing.bin", "--port", port, "--no-browser", cwd=folder)
    assert done.returncode == 2
    assert f"127.0.0.1:{port}: Address already in use" in done.stderr
    assert "--port 0" in done.stderr


def test_without_its_extra_the_error_shows_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'conceptor\[explore\]'"):
        require_extra()
