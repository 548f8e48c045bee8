"""Latency of the page, and its behaviour under load.

    python benchmarks/explore.py latency | large | map
    python benchmarks/explore.py load [--seconds 60] [--clients 50] [--rare]

`latency`: the neighbours of one word at a new aperture each time, over GloVe 6B 50d (400,000 × 50).
`large`: the same over 3,000,000 × 300 generated vectors, 3.6 GB. `load`: clients that send requests
without a pause, on the loopback interface, to a server in its own process; a fifth each type words
and drag the aperture, the others look up neighbours, two in ten of them with an exclusion. Frequent
words are requested more often; with --rare all words equally, so that hardly any word repeats.
`map`: the time of a frame of the map's movement in Chromium without a graphics card, and the size
of the response.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from conceptor.base.progress import silent
from conceptor.base.threads import processors
from conceptor.data.registry import demo_vectors
from conceptor.explore.answers import Settings
from conceptor.explore.session import Session
from conceptor.explore.table import PageTable
from conceptor.vectors.formats.npy import make_header, open_npy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUESTIONS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["latency", "large", "load", "map"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--rare", action="store_true", help="load: hardly any word twice")
    given = parser.parse_args()
    if given.what == "latency":
        measure_latency(PageTable.open(demo_vectors(), "GloVe 6B 50d"), given.questions)
    elif given.what == "large":
        with tempfile.TemporaryDirectory(dir=Path.home()) as directory:
            path = generate(Path(directory), 3_000_000, 300)
            measure_latency(PageTable.open(open_npy(path), "generated"), given.questions)
    elif given.what == "map":
        measure_map()
    else:
        asyncio.run(measure_load(given.clients, given.seconds, rare=given.rare))


def generate(directory: Path, count: int, dimension: int) -> Path:
    """Write vectors that share a direction, in groups, with words by number."""
    path = directory / "generated.npy"
    rng = np.random.default_rng(0)
    groups = rng.standard_normal((1000, dimension), dtype=np.float32)
    with path.open("wb") as file:
        file.write(make_header(count, dimension, np.dtype("<f4")))
        for start in range(0, count, 50_000):
            rows = groups[rng.integers(0, 1000, 50_000)]
            rows += rng.standard_normal((50_000, dimension), dtype=np.float32)
            rows += 8 / np.log(start + 10)
            rows.tofile(file)
    path.with_suffix(".words.txt").write_text("".join(f"w{i}\n" for i in range(count)))
    return path


def measure_latency(table: PageTable, questions: int) -> None:
    started = time.perf_counter()
    session = Session(table, methods=["cn"], progress=silent)
    ready = time.perf_counter() - started
    slider = session.solve(session.default).slider
    assert slider is not None
    chance = random.Random(0)
    times, alone, work = [], [], []
    for _ in range(questions):
        aperture = slider.least * (slider.most / slider.least) ** chance.random()
        settings = Settings("cn", aperture=aperture)
        word = table.words[int(len(table) ** chance.random()) - 1]
        before, worked = time.perf_counter(), time.process_time()
        session.neighbours(settings, [word], [], 10)
        times.append(time.perf_counter() - before)
        work.append(time.process_time() - worked)
        before = time.perf_counter()
        session.solve(settings)
        alone.append(time.perf_counter() - before)
    shape = f"{len(table):,} × {table.dimension}"
    print(f"{table.name}, {shape}: ready {ready:.1f} s after the vectors were opened")
    for name, found in (("neighbours before and after", times), ("gate, spectrum, scores", alone)):
        middle, most = 1000 * np.percentile(found, [50, 95])
        print(f"  {name}: median {middle:.0f} ms, 95th percentile {most:.0f} ms")
    middle, most = 1000 * np.percentile(work, [50, 95])
    print(f"  processor time of neighbours: median {middle:.0f} ms, 95th percentile {most:.0f} ms")


@contextmanager
def serving() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Serve the demonstration vectors in a separate process; yield the port."""
    server = subprocess.Popen(
        [sys.executable, "-m", "conceptor", "explore", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
        assert found is not None, "the server did not start"
        yield server, int(found[1])
    finally:
        server.terminate()
        server.wait()


# Counts and times the frames of a movement from before to after and back.
MOVE = """async () => {
  const { WordMap } = await import("/static/map.js");
  const draw = WordMap.prototype.draw;
  const times = [];
  WordMap.prototype.draw = function () {
    const start = performance.now();
    draw.call(this);
    times.push(performance.now() - start);
  };
  const start = performance.now();
  for (const side of ["before", "after"]) {
    document.getElementById(`side-${side}`).click();
    await new Promise((resolve) => setTimeout(resolve, 2400));
  }
  WordMap.prototype.draw = draw;
  times.sort((a, b) => a - b);
  return [times.length / 4.4, times[times.length >> 1], times[Math.floor(0.95 * times.length)]];
}"""


def measure_map() -> None:
    """Let the map move in a browser, with more and more words."""
    from playwright.sync_api import sync_playwright

    with serving() as (_, port), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for count in (2000, 20_000, 100_000):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            with page.expect_response(lambda response: "/api/map?" in response.url) as answer:
                page.goto(f"http://127.0.0.1:{port}/?like=bank&count={count}&side=before")
            size = len(answer.value.body()) / 1e6
            page.wait_for_selector("#map[data-drawn]")
            page.wait_for_load_state("networkidle")
            rate, middle, most = page.evaluate(MOVE)
            print(
                f"{count:,} words, {size:.1f} MB: {rate:.0f} frames a second, a frame takes "
                f"{middle:.0f} ms, 95th percentile {most:.0f} ms"
            )
            page.close()
        browser.close()


async def measure_load(clients: int, seconds: float, *, rare: bool) -> None:
    with serving() as (server, port):
        asked = [
            partial(question, demo_vectors()[0], random.Random(i), rare) for i in range(clients)
        ]
        by_kind: defaultdict[str, list[float]] = defaultdict(list)
        statuses: Counter[int] = Counter()
        busy, work = busy_seconds(), processor_seconds(server.pid)
        began, own = time.monotonic(), time.process_time()
        await asyncio.gather(
            *(ask_on(port, each, began + seconds, by_kind, statuses) for each in asked)
        )
        took = time.monotonic() - began
        work, own = processor_seconds(server.pid) - work, time.process_time() - own
        busy = busy_seconds() - busy
    times = [each for found in by_kind.values() for each in found]
    middle, most, worst = 1000 * np.percentile(times, [50, 95, 100])
    print(
        f"{clients} clients for {seconds:.0f} s: {len(times):,} answers, "
        f"median {middle:.0f} ms, 95th percentile {most:.0f} ms, slowest {worst:.0f} ms; "
        f"statuses {json.dumps(statuses)}"
    )
    print(
        f"  processor time of an answer: {1000 * work / len(times):.1f} ms of the server, "
        f"{1000 * own / len(times):.1f} ms of the clients; other programs took "
        f"{max(busy - work - own, 0) / took:.2f} of {processors()} processors"
    )
    for kind, found in sorted(by_kind.items()):
        middle, most = 1000 * np.percentile(found, [50, 95])
        print(f"  {kind}: {len(found):,}, median {middle:.0f} ms, 95th percentile {most:.0f} ms")


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float:
    """Return the time that all processors together were busy since the start (Linux)."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def question(words: list[str], chance: random.Random, rare: bool) -> str:
    """Make a random request: for one of the first 30,000 words by log rank, or for any word."""
    word = words[chance.randrange(len(words)) if rare else int(30_000 ** chance.random()) - 1]
    aperture = f"{7.07 * 10 ** chance.uniform(-1, 1):.4g}"
    kind = chance.random()
    if kind < 0.2:
        return f"words?{urlencode({'prefix': word[:3]})}"
    if kind < 0.4:
        return f"solution?{urlencode({'method': 'cn', 'aperture': aperture})}"
    asked = {"method": "cn", "like": word}
    if chance.random() < 0.3:
        asked["aperture"] = aperture
    if chance.random() < 0.2:
        asked["without"] = words[30_000 + chance.randrange(1000)]
    return f"neighbours?{urlencode(asked)}"


def kind_of(path: str) -> str:
    """Return the kind of request of an address."""
    name, _, query = path.partition("?")
    parts = [part for part in ("aperture", "without") if name == "neighbours" and part in query]
    return " + ".join([name, *parts])


async def ask_on(
    port: int,
    ask: Callable[[], str],
    end: float,
    by_kind: defaultdict[str, list[float]],
    statuses: Counter[int],
) -> None:
    """Send one request after another on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < end:
        path = ask()
        before = time.monotonic()
        writer.write(f"GET /api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        json.loads(await reader.readexactly(length))
        by_kind[kind_of(path)].append(time.monotonic() - before)
        statuses[int(head.split()[1])] += 1
    writer.close()


if __name__ == "__main__":
    main()
