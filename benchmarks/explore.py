"""The page: how fast it answers and follows the hand, the words it proposes, and its picture.

    python benchmarks/explore.py latency [VECTORS]
    python benchmarks/explore.py drag [VECTORS]     # in a browser; needs playwright and chromium
    python benchmarks/explore.py words              # writes src/conceptor/explore/examples.json
    python benchmarks/explore.py picture            # writes docs/pictures/explore.png

By default over GloVe 6B 50d (400,000 × 50).
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from common import demo, markdown_table

from conceptor import most_similar
from conceptor.evaluation import load_battery
from conceptor.evaluation.word_tasks import SynonymRecall
from conceptor.explore.session import Session, Settings

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "src" / "conceptor" / "explore" / "examples.json"
PICTURE = ROOT / "docs" / "pictures" / "explore.png"
REQUESTS = 30
CHROMIUM = "/usr/bin/chromium"
# Words to try are in this range of ranks; a neighbor above the last rank is rare.
COMMON, RARE = range(200, 5001), 40_000
NEIGHBORS, NEW = 10, 5


def latency(vectors: object) -> str:
    """Return a table of the milliseconds of each kind of answer, at random apertures and words."""
    started = time.perf_counter()
    session = Session(vectors, methods=["cn"])
    session.layout()
    ready = time.perf_counter() - started
    slider: Any = session.solve(session.default)["slider"]
    words, chance = session.table.words, random.Random(0)
    times: dict[str, list[tuple[float, float]]] = {}
    session.neighbors(session.default, [words[0]])
    for i in range(REQUESTS):
        value = slider.least * (slider.most / slider.least) ** chance.random()
        settings = Settings("cn", value=value)
        word, other = (words[int(len(words) ** chance.random()) - 1] for _ in range(2))
        answers = {
            "map at all apertures (once)": lambda: session.path(session.default),
            "gate and command": lambda: session.solve(settings),  # noqa: B023
            "neighbors of a word": lambda: session.neighbors(session.default, [word]),  # noqa: B023
            "neighbors at a new aperture": lambda: session.neighbors(settings, [other]),  # noqa: B023
        }
        for name, answer in list(answers.items())[i > 0 :]:
            before = time.perf_counter(), time.process_time()
            answer()
            spent = time.perf_counter() - before[0], time.process_time() - before[1]
            times.setdefault(name, []).append(spent)
    rows = []
    for name, each in times.items():
        wall, cpu = np.percentile(np.array(each), [50, 95], axis=0).T * 1000
        rows.append([name, *(f"{number:.0f}" for number in (*wall, *cpu))])
    shape = f"{len(words):,} × {session.table.vectors.dimension}"
    print(f"{session.table.name}, {shape}: ready after {ready:.1f} s")
    return markdown_table(["ms", "median", "95th percentile", "CPU, median", "CPU, 95th"], rows)


@contextmanager
def opened(vectors: object, **options: str) -> Iterator[Any]:
    """Serve the page and open it in a browser."""
    import uvicorn
    from playwright.sync_api import sync_playwright

    from conceptor.explore.server import create_app, open_socket

    with open_socket(0) as listening:
        app = create_app(Session(vectors), "token")
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        with sync_playwright() as playwright:
            arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
            page = browser.new_page(viewport={"width": 1440, "height": 900}, **options)
            page.set_default_timeout(120_000)
            page.sizes = []
            page.on(
                "response",
                lambda each: page.sizes.append((each.url, each.headers.get("content-length"))),
            )
            page.goto(f"http://127.0.0.1:{listening.getsockname()[1]}/?token=token")
            page.wait_for_selector("#map[data-drawn]")
            page.wait_for_selector("#after li, #list li")
            yield page
            browser.close()
        server.should_exit = True
        thread.join(10)


def drag(vectors: object) -> str:
    """Return how the page follows 120 positions of the slider, one for each animation frame."""
    with opened(vectors) as page:
        page.wait_for_selector("#trade[data-ready]", state="attached")
        sizes = list(page.sizes)
        page.sizes.clear()
        shift = page.evaluate(
            """() => new Promise((answer) => {
              const sum = (list) => list.getEntries().reduce((all, each) => all + each.value, 0);
              new PerformanceObserver((list) => answer(sum(list)))
                .observe({ type: "layout-shift", buffered: true });
              setTimeout(() => answer(0), 500);
            })"""
        )
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")

        def thread_time() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return next(each["value"] for each in metrics if each["name"] == "ThreadTime")

        before = thread_time()
        result = page.evaluate(
            """async () => {
              const knob = document.getElementById("knob"), map = document.getElementById("map");
              const frames = () => Number(map.dataset.frames);
              const [start, first] = [performance.now(), frames()];
              for (let i = 0; i < 120; i++) {
                knob.value = 300 + 3 * i;
                knob.dispatchEvent(new Event("input", { bubbles: true }));
                await new Promise(requestAnimationFrame);
              }
              return { seconds: (performance.now() - start) / 1000, frames: frames() - first };
            }"""
        )
        spent = thread_time() - before
        sent = sum(int(size or 0) for _, size in page.sizes)
        arrival = sum(int(size or 0) for _, size in sizes)
    rows = [
        ["updates a second", f"{result['frames'] / result['seconds']:.0f}"],
        ["CPU ms for an update", f"{1000 * spent / result['frames']:.1f}"],
        ["seconds for 120 positions", f"{result['seconds']:.1f}"],
        ["kB while dragging", f"{sent / 1000:.0f}"],
        ["kB until the page is complete", f"{arrival / 1000:.0f}"],
        ["layout shift", f"{shift:.3f}"],
    ]
    return markdown_table(["20,000 words, in the browser", ""], rows)


def words() -> str:
    """Choose six words whose new neighbors show what changes, and write them with these.

    Candidates are common words of the benchmarks. All of the first five new neighbors must be words
    of the benchmarks too, and none rare. The best words gain the most synonyms, and then lose the
    most common neighbors.
    """
    battery = load_battery(["similarity", "synonyms"], None, offline=True)
    dictionary = battery.words
    synonyms: dict[str, frozenset[str]] = {}
    for task in battery.tasks:
        synonyms |= task.synonyms if isinstance(task, SynonymRecall) else {}
    vectors = demo()
    ranks = {word: i + 1 for i, word in enumerate(vectors.words[: COMMON.stop])}
    candidates = sorted(filter(str.isalpha, (w for w in dictionary if ranks.get(w) in COMMON)))
    near = most_similar(vectors, candidates, ["original", "cn"], n=NEIGHBORS)
    changes: dict[str, dict[str, Any]] = {}
    for word in candidates:
        before, after = near["original"][word], near["cn"][word]
        lost, new = (
            [each for each in side if each.word not in {one.word for one in other}]
            for side, other in ((before, after), (after, before))
        )
        new = new[:NEW]
        if len(new) < NEW or any(each.rank > RARE or each.word not in dictionary for each in new):
            continue
        gained = sum(n.word in synonyms.get(word, ()) for n in near["cn"][word])
        gained -= sum(n.word in synonyms.get(word, ()) for n in near["original"][word])
        gap = np.log([each.rank for each in new]).mean() - np.log([e.rank for e in lost]).mean()
        changes[word] = {
            "rank": ranks[word],
            "synonyms gained": gained,
            "gap": round(float(gap), 2),
            "lost": [[each.word, each.rank] for each in lost],
            "new": [[each.word, each.rank] for each in new],
        }

    def order(word: str) -> tuple[int, float]:
        return -changes[word]["synonyms gained"], -changes[word]["gap"]

    chosen: dict[str, dict[str, Any]] = {}
    for word in sorted(changes, key=order):
        near = {
            each for other in chosen.values() for part in ("lost", "new") for each, _ in other[part]
        }
        own = {each for part in ("lost", "new") for each, _ in changes[word][part]}
        if len(chosen) < 6 and not (near & {word, *own}):
            chosen[word] = changes[word]
    note = "GloVe 6B 50d; lost and new among the ten nearest words, each with its rank"
    lines = ",\n".join(f"  {json.dumps(word)}: {json.dumps(chosen[word])}" for word in chosen)
    text = f'{{\n "note": {json.dumps(note)},\n "words": {{\n{lines}\n }}\n}}'
    EXAMPLES.write_text(f"{text}\n", encoding="utf-8")
    rows = [
        [word, *(", ".join(name for name, _ in each[part][:NEW]) for part in ("lost", "new"))]
        for word, each in chosen.items()
    ]
    return markdown_table(["word", "lost", "new"], rows)


def picture() -> str:
    """Write the picture of the guide."""
    from PIL import Image

    with opened("demo", color_scheme="light") as page:
        page.wait_for_selector("#trade[data-ready]", state="attached")
        page.wait_for_timeout(4000)  # for the movement on arrival
        page.screenshot(path=PICTURE)
    with Image.open(PICTURE) as image:
        image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(PICTURE, optimize=True)
    return f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["latency", "drag", "words", "picture"])
    parser.add_argument("vectors", nargs="?")
    given = parser.parse_args()
    if given.what in ("latency", "drag"):
        print((latency if given.what == "latency" else drag)(given.vectors or demo()))
    else:
        print(words() if given.what == "words" else picture())
