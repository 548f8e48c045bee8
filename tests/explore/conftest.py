from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conceptor.explore.session import Session
from conceptor.vectors.files import in_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conceptor.vectors.vectors import Vectors

CHROMIUM = Path("/usr/bin/chromium")
# A container's root has no sandbox, and tests have no network.
FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Words that must be shown unchanged.
HOSTILE = ("<b>bold</b>", "a&b", "x\"y'z", "naïve", "日本", "{{7*7}}", "😀", "long" * 100)
TOKEN = "secret-token"


def toy_table(
    count: int = 1200, dimension: int = 16, seed: int = 3
) -> tuple[list[str], np.ndarray]:
    """Words by falling frequency, in groups, with a direction that common words share."""
    rng = np.random.default_rng(seed)
    words = ["the", "bank", "banks", "river", "water", "music", "doctor", *HOSTILE]
    letters = rng.integers(97, 123, (count, 8))
    # Longer words are rarer, as in any language.
    lengths = 3 + np.arange(count) * 5 // count
    made = ("".join(map(chr, row[:n])) for row, n in zip(letters, lengths, strict=True))
    words = list(dict.fromkeys([*words, *made]))[:count]
    groups = rng.standard_normal((12, dimension))
    rows = groups[rng.integers(0, 12, len(words))] + 0.7 * rng.standard_normal(
        (len(words), dimension)
    )
    shared = rng.standard_normal(dimension)
    rows += np.linspace(3, 0, len(words))[:, None] * shared
    rows[words.index("banks")] = rows[words.index("bank")] + 0.05
    rows[words.index("a&b")] = rows[words.index("bank")] - 0.05
    return words, rows.astype(np.float32)


def toy_vectors(count: int = 1200, seed: int = 3, name: str = "toys.bin") -> Vectors:
    return in_memory(*toy_table(count, seed=seed), name=name)


@pytest.fixture(scope="session")
def session() -> Session:
    return Session(toy_vectors())


@contextmanager
def serving(session: Session) -> Iterator[str]:
    """Serve the page of a session in a thread; yield its address with the token."""
    pytest.importorskip("uvicorn", reason="the page needs the explore extra")
    import uvicorn

    from conceptor.explore.server import create_app, open_socket

    opened = open_socket(0)
    config = uvicorn.Config(create_app(session, TOKEN), log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{opened.getsockname()[1]}/?token={TOKEN}"
    server.should_exit = True
    thread.join(10)
    opened.close()


@pytest.fixture(scope="session")
def address(session: Session):
    with serving(session) as served:
        yield served


@pytest.fixture(scope="module")
def browser():
    """A browser, closed as soon as no test needs it."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield opened
        opened.close()
