"""Feed damaged files to every reader: each must be read or refused, never crash.

    python benchmarks/fuzz_vectors.py --inputs 1000000 --seed 1 --processes 2

Starts from small valid files of every format and compression, tables in several layouts, saved
maps and sentence encoders, and flips, cuts, repeats, swaps and inserts bytes. Anything but success
or the project's own error class is printed with the seed that repeats it, and the exit code is 1.
So is an input that takes more than 20 seconds or a gigabyte. A worker process that dies (a crash in
native code, or a loop that no signal ends) counts too: its task raises here. `--start N` goes on
after N inputs.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import io
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
from safetensors.numpy import save

from conceptor import AffineMap, SentenceEncoder
from conceptor.base.errors import ConceptorError
from conceptor.vectors import open_vectors, write_vectors

SECONDS = 20
MEGABYTES = 1000
SHARED_MEMORY = Path("/dev/shm")  # where files are written soonest

WORDS = ["the", "a\u00a0b", "café", "x y", "1", "😀", "w7", "w8"]
NAMES = [
    "x.txt", "x.vec", "x.bin", "x.npy", "x.safetensors", "x.parquet", "x.feather", "x.txt.gz",
    "x.vec.bz2", "x.bin.xz", "x.txt.zst", "x.txt.zip", "fortran.npy", "model.safetensors",
    "cr.txt", "streams.txt.bz2", "streams.txt.xz", "streams.txt.gz", "columns.parquet",
    "snappy.parquet", "zstd.feather", "lz4.feather", "views.feather", "map.safetensors",
    "encoder.safetensors", "int8.npy", "binary.npy", "int8.safetensors", "binary.safetensors",
    "int8.parquet", "binary.parquet", "int8.feather", "binary.feather",
]  # fmt: skip
TOKENS = [
    b" ", b"\n", b"\r\n", b"\t", b"nan", b"inf", b"1e999", b"-", b"1e-45", b"\xff", b"\x00" * 8,
    b"0", b"3 4", b"99999999999999999999", b"4294967296", b"-1", b"{", b"}", b"[" * 50,
    b"\xef\xbb\xbf", b"\xc2\xa0", b"e", b".", b"1" * 400,
]  # fmt: skip


def _write(path: Path, words: list[str], vectors: np.ndarray) -> None:
    """Write a valid file; its name says how."""
    kind, _, rest = path.name.partition(".")
    whole = io.BytesIO()
    text = "".join(f"{w} {' '.join(map(str, v))}\n" for w, v in zip(words, vectors, strict=True))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    if kind == "fortran":
        np.save(path, np.asfortranarray(vectors.astype(np.float64)))
        path.with_suffix(".words").write_text("\n".join(words))
    elif kind == "model":
        path.write_bytes(save({"embeddings": vectors}))
        vocabulary = {"model": {"vocab": {word: i for i, word in enumerate(words)}}}
        path.with_name("tokenizer.json").write_text(json.dumps(vocabulary))
    elif kind == "cr":
        path.write_bytes(text.replace("\n", "\r").encode())
    elif kind == "streams":
        module = __import__({"txt.bz2": "bz2", "txt.xz": "lzma", "txt.gz": "gzip"}[rest])
        half = text.index("\n", len(text) // 2) + 1
        for part in (text[:half], text[half:]):
            whole.write(module.compress(part.encode()))
        path.write_bytes(whole.getvalue())
    elif kind == "columns":
        columns = {f"d{i}": vectors[:, i] for i in range(vectors.shape[1])}
        parquet.write_table(pa.table({"word": pa.array(words).dictionary_encode()} | columns), path)
    elif kind == "snappy":
        table = pa.table({"word": words, "vector": lists.cast(pa.list_(pa.float32()))})
        parquet.write_table(table, path, compression="snappy", row_group_size=3)
    elif kind in ("zstd", "lz4"):
        feather.write_feather(pa.table({"w": words, "v": lists}), path, kind, chunksize=3)
    elif kind == "views":
        views = pa.array(vectors.tolist(), pa.list_view(pa.float32()))
        table = pa.table({"word": pa.array(words, pa.string_view()), "vector": views})
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    elif kind == "map":
        AffineMap(np.eye(4) + 0.1, np.arange(4.0), provenance={"method": "cn"}).save(path)
    elif kind == "encoder":
        SentenceEncoder((words, vectors)).fit([words[:3], words[3:]]).save(path)
    else:
        dtype = kind if kind in ("int8", "binary") else "float32"
        write_vectors(path, [(words, vectors)], count=len(words), dtype=dtype)


@cache
def seeds() -> list[tuple[str, dict[str, bytes]]]:
    """Return for each name the files that belong together, main file first."""
    vectors = np.random.default_rng(0).standard_normal((len(WORDS), 5)).astype(np.float32)
    made = []
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            words = [w.replace(" ", "_") if ".bin" in name else w for w in WORDS]
            path = Path(folder, name)
            _write(path, words, vectors)
            files = {name: path.read_bytes()}
            files |= {f.name: f.read_bytes() for f in path.parent.iterdir() if f != path}
            made.append((name, files))
    return made


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Damage a file in one to four places."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 1, 2, 4, 8, 20, 100)))
        kind = rng.randrange(8)
        if kind == 0 and data:
            data[at - 1] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[at - 1] = rng.randrange(256)
        elif kind == 2:
            del data[at:to]
        elif kind == 3:
            data[at:at] = data[at:to] * rng.choice((1, 2, 50))
        elif kind == 4:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 5:
            data[at:to] = rng.choice(TOKENS)
        elif kind == 6:
            del data[at:]
        else:
            data[at:to] = rng.randbytes(to - at)
    return bytes(data)


def one(seed: int, folder: Path) -> str:
    """Try one damaged file; return how it ended, or raise what must not be raised."""
    rng = random.Random(seed)
    name, files = rng.choice(seeds())
    victim = rng.choice([name, name, *files])
    for file in folder.iterdir():
        file.unlink()
    for file, content in files.items():
        (folder / file).write_bytes(mutated(content, rng) if file == victim else content)
    try:
        if name == "map.safetensors":
            AffineMap.load(folder / name)
            return f"{name} read"
        if name == "encoder.safetensors":
            SentenceEncoder.load(folder / name)
            return f"{name} read"
        source = open_vectors(folder / name, on_error=rng.choice(("raise", "skip")))
        words, vectors = source.read()
    except ConceptorError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
        return f"{name} refused"
    assert len(words) == len(vectors) == source.count
    assert np.isfinite(vectors).all()
    assert len(set(words)) == len(words)
    return f"{name} read"


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(first: int, count: int) -> tuple[collections.Counter[str], list[str]]:
    """Try consecutive seeds; return outcomes and the failures' descriptions."""
    outcomes: collections.Counter[str] = collections.Counter()
    failures = []
    seeds()  # before memory is measured
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        for seed in range(first, first + count):
            peak, started = _peak_megabytes(), time.monotonic()
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                outcomes[one(seed, Path(folder))] += 1
                more, seconds = _peak_megabytes() - peak, time.monotonic() - started
                assert more < MEGABYTES, f"took {more:.0f} MB"
                assert seconds < SECONDS, f"took {seconds:.0f} s"
            except Exception:
                text = io.StringIO()
                traceback.print_exc(file=text)
                failures.append(f"seed {seed}\n{text.getvalue()}")
            finally:
                faulthandler.cancel_dump_traceback_later()
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--start", type=int, default=0, help="inputs that an earlier run has tried")
    options = parser.parse_args()
    total: collections.Counter[str] = collections.Counter()
    failures: list[str] = []
    step = 500
    first = options.seed * 10_000_000
    starts = range(first + options.start, first + options.inputs, step)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + 200):  # loops are compiled before inputs are timed
            one(seed, Path(folder))
    began = time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, mp_context=spawn) as pool:
        for outcomes, failed in pool.map(run, starts, [step] * len(starts)):
            total += outcomes
            failures += failed
            if (total.total() + len(failures)) % 10_000 < step:
                tried = options.start + total.total() + len(failures)
                minutes = (time.monotonic() - began) / 60
                print(
                    f"{tried:,} tried, {len(failures)} failures, {minutes:.1f} minutes", flush=True
                )
    for failure in failures[:20]:
        print(failure)
    for outcome, times in sorted(total.items()):
        print(f"{outcome:32} {times:8,}")
    print(f"{total.total() + len(failures):,} inputs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
