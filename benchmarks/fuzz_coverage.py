"""Coverage-guided fuzzing of the readers: each input must be read or refused.

    pip install atheris && python benchmarks/fuzz_coverage.py CORPUS -max_total_time=3600

Options are libFuzzer's. The first two bytes of an input choose the kind and, for a folder, the
file. The corpus, a directory, starts with small valid files and grows with inputs that reach new
code. A crash, a slow input or any error other than the project's own ends the run; the same call
continues from the corpus. `FUZZ_ONLY=static/,spacy/` in the environment restricts the kinds.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris

INSTRUMENTED = [
    "conceptor.vectors", "conceptor.algebra.affine_map", "conceptor.base", "conceptor.sentences",
    "conceptor.static_models", "conceptor.integrations.spacy", "conceptor.paper.dialogue.saved",
]  # fmt: skip
with atheris.instrument_imports(include=INSTRUMENTED):
    import conceptor.algebra.affine_map
    import conceptor.sentences
    import conceptor.static_models.distilling  # noqa: F401 - instrumented
    from conceptor.base.errors import ConceptorError
    from conceptor.vectors import open_vectors

from fuzz_vectors import SHARED_MEMORY, place, seeds, try_object  # noqa: E402

FOLDER = Path(tempfile.mkdtemp(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
ONLY = tuple(filter(None, os.environ.get("FUZZ_ONLY", "").split(",")))
SOURCES = [each for each in seeds() if not ONLY or each[0].startswith(ONLY)]


def try_one(data: bytes) -> None:
    """Read one input."""
    kind, file = (data[0], data[1]) if len(data) > 1 else (0, 0)
    name, files = SOURCES[kind % len(SOURCES)]
    victim = list(files)[file % len(files)]
    place(files | {victim: data[2:]}, FOLDER / "in")
    try:
        if not try_object(name, FOLDER / "in" / name):
            open_vectors(FOLDER / "in" / name).read()
    except ConceptorError:
        pass


def main() -> None:
    corpus = Path(sys.argv[1])
    corpus.mkdir(exist_ok=True)
    for i, (name, files) in enumerate(SOURCES):
        for j, (file, content) in enumerate(files.items()):
            seed = bytes([i, j]) + content
            (corpus / f"{name}{file}".replace("/", "-")).write_bytes(seed)
            try_one(seed)  # loops are compiled before the clock runs
    limits = ["-timeout=20", "-rss_limit_mb=4000", "-max_len=16384"]
    atheris.Setup([sys.argv[0], str(corpus), *limits, *sys.argv[2:]], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
