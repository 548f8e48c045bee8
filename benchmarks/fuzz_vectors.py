"""Feed damaged files to every reader: each must be read or refused, never crash.

    python benchmarks/fuzz_vectors.py --inputs 1000000 --seed 1 --processes 2

It starts from small valid files of every format and compression, tables in several layouts,
fastText models, saved maps, and the folders of static models and transformers (where those
libraries are installed), and flips, cuts, repeats, swaps and inserts bytes. Any outcome other than
success or the project's own error class is printed with its seed, and the exit code is 1. So is an
input that takes more than 20 seconds or a gigabyte. A worker process that dies (a crash in native
code, or a loop that no signal ends) counts too: its task raises here. `--only static/` restricts
the kinds. `--log FILE` keeps the progress: the same call continues where it stopped.
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
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import fuzz_folders
import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
from safetensors.numpy import save

from conceptor import AffineMap
from conceptor.base.errors import ConceptorError
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.vectors import RowKind

SECONDS = 20
MEGABYTES = 1000
SHARED_MEMORY = Path("/dev/shm")  # where writing files is fastest

WORDS = ["the", "a\u00a0b", "café", "x y", "1", "😀", "w7", "w8"]
NAMES = [
    "x.txt", "x.vec", "x.bin", "x.npy", "x.parquet", "x.feather", "x.txt.gz",
    "x.vec.bz2", "x.bin.xz", "x.txt.zst", "zipped.zip", "fortran.npy",
    "cr.txt", "streams.txt.bz2", "streams.txt.xz", "streams.txt.gz", "columns.parquet",
    "snappy.parquet", "zstd.feather", "lz4.feather", "views.feather", "map.safetensors",
    "int8.npy", "binary.npy",
    "fasttext.bin",
    "texts.parquet",
]  # fmt: skip
# Folders, by the package needed to read them.
FOLDERS = {"static/": "tokenizers", "transformer/": "transformers"}
NAMES += [name for name, needed in FOLDERS.items() if find_spec(needed) is not None]
TOKENS = [
    b" ", b"\n", b"\r\n", b"\t", b"nan", b"inf", b"1e999", b"-", b"1e-45", b"\xff", b"\x00" * 8,
    b"0", b"3 4", b"99999999999999999999", b"4294967296", b"-1", b"{", b"}", b"[" * 50,
    b"\xef\xbb\xbf", b"\xc2\xa0", b"e", b".", b"1" * 400,
]  # fmt: skip


def _write(path: Path, words: list[str], vectors: np.ndarray) -> None:
    """Write a valid file; its name determines the format."""
    kind, _, rest = path.name.partition(".")
    if f"{kind}/" in FOLDERS:
        getattr(fuzz_folders, f"write_{kind}")(path, words, vectors)
        return
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
    elif kind == "zipped":
        with ZipFile(path, "w") as archive:
            archive.writestr("x.txt", text)
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
    elif kind == "fasttext":
        path.write_bytes(fuzz_folders.fasttext_model(words, vectors))
    elif kind == "texts":
        texts = [f"{word} and\n{word} ‘again’ {i}" for i, word in enumerate(words)]
        parquet.write_table(pa.table({"id": range(len(words)), "text": texts, "v": lists}), path)
    elif kind == "map":
        AffineMap(np.eye(4) + 0.1, np.arange(4.0), provenance={"method": "cn"}).save(path)
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
            found = sorted((f for f in Path(folder).rglob("*") if f.is_file()), key=_second)
            made.append((name, {str(f.relative_to(folder)): f.read_bytes() for f in found}))
    return made


def _second(file: Path) -> bool:
    """Put the main file first: not the words beside it."""
    return file.name not in NAMES


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


def place(files: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder that holds nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)


def try_object(name: str, path: Path) -> bool:
    """Load and use an object that is not vectors; return whether the file is one."""
    if name in FOLDERS:
        getattr(fuzz_folders, f"read_{name[:-1]}")(path)
    elif name == "map.safetensors":
        AffineMap.load(path)
    else:
        return False
    return True


def one(seed: int, folder: Path, only: tuple[str, ...] = ()) -> str:
    """Try one damaged file; return the outcome, or raise an error that must not occur."""
    rng = random.Random(seed)
    name, files = rng.choice([each for each in seeds() if not only or each[0].startswith(only)])
    main = next(iter(files)) if name in FOLDERS else name
    victim = rng.choice([main, main, *files] if name not in FOLDERS else list(files))
    place({f: mutated(c, rng) if f == victim else c for f, c in files.items()}, folder / "in")
    try:
        if try_object(name, folder / "in" / name):
            return f"{name} read"
        source = open_vectors(folder / "in" / name, on_error=rng.choice(("raise", "skip")))
        chunks = list(source.chunks())
    except ConceptorError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
        return f"{name} refused"
    words = [word for labels, _ in chunks for word in labels]
    assert len(words) == sum(len(rows) for _, rows in chunks)
    assert all(np.isfinite(rows).all() for _, rows in chunks)
    assert source.kind is RowKind.TEXTS or len(set(words)) == len(words)
    return f"{name} read"


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(
    first: int, count: int, only: tuple[str, ...] = ()
) -> tuple[collections.Counter[str], list[str]]:
    """Try consecutive seeds; return outcomes and the failures' descriptions."""
    outcomes: collections.Counter[str] = collections.Counter()
    failures = []
    seeds()  # before memory is measured
    memory = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        for seed in range(first, first + count):
            peak, started = _peak_megabytes(), time.monotonic()
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                outcomes[one(seed, Path(folder), only)] += 1
                more, seconds = _peak_megabytes() - peak, time.monotonic() - started
                assert more < MEGABYTES, f"took {more:.0f} MB"
                assert seconds < SECONDS, f"took {seconds:.0f} s"
            except BaseException as error:  # a panic in Rust code is not an Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                text = io.StringIO()
                traceback.print_exc(file=text)
                failures.append(f"seed {seed}\n{text.getvalue()}")
            finally:
                faulthandler.cancel_dump_traceback_later()
    return outcomes, failures


def _tried(log: Path | None) -> tuple[int, collections.Counter[str], list[str]]:
    """Return the number of inputs that earlier calls tried, and their results."""
    total: collections.Counter[str] = collections.Counter()
    failures: list[str] = []
    tried = 0
    for line in log.read_text().splitlines() if log is not None and log.exists() else ():
        part = json.loads(line)
        tried += part["tried"]
        total.update(part["outcomes"])
        failures += part["failures"]
    return tried, total, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="kinds, separated by commas")
    parser.add_argument("--log", type=Path, help="a file that keeps the progress")
    options = parser.parse_args()
    only = tuple(filter(None, options.only.split(",")))
    tried, total, failures = _tried(options.log)
    step = 500
    first = options.seed * 10_000_000
    starts = range(first + tried, first + options.inputs, step)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, mp_context=spawn) as pool:
        many = len(starts)
        for outcomes, failed in pool.map(run, starts, [step] * many, [only] * many):
            total += outcomes
            failures += failed
            tried += step
            if options.log is not None:
                part = {"tried": step, "outcomes": outcomes, "failures": failed}
                with options.log.open("a") as log:
                    log.write(json.dumps(part) + "\n")
            if tried % 10_000 < step:
                print(f"{tried:,} tried, {len(failures)} failures", flush=True)
    for failure in failures[:20]:
        print(failure)
    for outcome, times in sorted(total.items()):
        print(f"{outcome:32} {times:8,}")
    print(f"{total.total() + len(failures):,} inputs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
