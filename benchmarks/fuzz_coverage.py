"""Feed the readers what coverage-guided fuzzing finds: each input is read or refused.

    pip install atheris && python benchmarks/fuzz_coverage.py CORPUS -max_total_time=3600

Options are libFuzzer's. The first byte of an input chooses the format; the corpus, a directory, is
filled with small valid files at first and with what reaches new code later. A crash, a slow input
or any error but the project's own ends the run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["conceptor.vectors", "conceptor.algebra.affine_map"]):
    from conceptor import AffineMap
    from conceptor.base.errors import ConceptorError
    from conceptor.vectors import open_vectors

from fuzz_vectors import SHARED_MEMORY, seeds

FOLDER = Path(tempfile.mkdtemp(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
SOURCES = [(name, files) for name, files in seeds() if not name.startswith("encoder")]


def try_one(data: bytes) -> None:
    """Read one input."""
    name, files = SOURCES[data[0] % len(SOURCES)] if data else SOURCES[0]
    for file, content in files.items():
        (FOLDER / file).write_bytes(data[1:] if file == name else content)
    try:
        if name == "map.safetensors":
            AffineMap.load(FOLDER / name)
        else:
            open_vectors(FOLDER / name).read()
    except ConceptorError:
        pass


def main() -> None:
    corpus = Path(sys.argv[1])
    corpus.mkdir(exist_ok=True)
    for i, (name, files) in enumerate(SOURCES):
        (corpus / name).write_bytes(bytes([i]) + files[name])
        try_one(bytes([i]) + files[name])  # loops are compiled before the clock runs
    limits = ["-timeout=20", "-rss_limit_mb=2000", "-max_len=8192"]
    atheris.Setup([sys.argv[0], str(corpus), *limits, *sys.argv[2:]], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
