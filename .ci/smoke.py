"""Install the wheel of a directory in a fresh environment and use it (it was built from the sdist).

    python .ci/smoke.py dist -c constraints.txt

Arguments after the directory are options of pip. The commands run in an empty directory, so they
do not see the source tree.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

USE = """
import numpy as np, conceptor
from conceptor import ConceptorNegation, most_similar, open_vectors
assert "site-packages" in conceptor.__file__, conceptor.__file__
(words, X), = open_vectors("in.txt").chunks()
better = ConceptorNegation(weights="zipf").fit(X).transform(X)
(_, written), = open_vectors("out.bin").chunks()
np.testing.assert_allclose(written, better, rtol=1e-4, atol=1e-6)
assert most_similar("out.bin", "w3")["original"]["w3"]
print("conceptor", conceptor.__version__, "works from", conceptor.__file__)
"""


def main(directory: str, options: list[str]) -> None:
    dist = Path(directory).resolve()
    (wheel,) = dist.glob("*.whl")
    absolute = [str(Path(each).resolve()) if Path(each).exists() else each for each in options]
    with tempfile.TemporaryDirectory() as fresh:
        work = Path(fresh, "work")
        work.mkdir()
        venv.create(Path(fresh, "venv"), with_pip=True)
        programs = Path(fresh, "venv", "Scripts" if os.name == "nt" else "bin")

        def run(program: str, *arguments: object) -> None:
            command = [str(programs / program), *map(str, arguments)]
            subprocess.run(command, check=True, cwd=work, env=os.environ | {"PYTHONPATH": ""})

        # The estimator sees no words, so its rows have length 1.
        fit = ["--weights", "zipf", "--method", "cn:lengths=unit"]
        write_vectors(work / "in.txt")
        run("python", "-m", "pip", "install", "-q", *absolute, wheel)
        run("conceptor", "methods")
        run("conceptor", "postprocess", "in.txt", "out.bin", *fit)
        run("conceptor", "inspect", "out.bin", "--weights", "zipf")
        run("python", "-c", USE)


def write_vectors(path: Path) -> None:
    numbers = [[((i * 37 + j * 11) % 101) / 50 - 0.6 for j in range(8)] for i in range(300)]
    lines = (f"w{i} {' '.join(map(str, row))}\n" for i, row in enumerate(numbers))
    path.write_text("".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
