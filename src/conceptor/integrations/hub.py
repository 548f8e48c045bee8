"""A folder for the Hugging Face hub: improved vectors, their map and a model card.

`hf upload USER/REPOSITORY FOLDER` publishes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conceptor import __version__
from conceptor.base.errors import plain_markdown
from conceptor.base.files import replace_folder_atomically
from conceptor.base.folders import check_folder, is_for_readers
from conceptor.base.progress import Progress, silent
from conceptor.fit import FitOptions
from conceptor.methods import MethodLike
from conceptor.postprocessing import Report, postprocess
from conceptor.vectors.files import as_vectors

VECTORS, MAP, CARD = "vectors.safetensors", "map.safetensors", "README.md"
_TAGS = {"tags": ["word-embeddings", "static-embeddings", "conceptor"]}
_CARD = """---
{header}
---

# {name}

Word vectors, improved without labels or training by `conceptor`: the directions that frequent words
share are turned down.

| | |
|---|---|
{facts}

## Use

```python
from conceptor import open_vectors
from huggingface_hub import hf_hub_download

vectors = open_vectors(hf_hub_download("USER/REPOSITORY", "vectors.safetensors"))
for words, rows in vectors.chunks():
    ...
```

The file is plain safetensors: the matrix is `embeddings`, the words are the lines of `words`.

`map.safetensors` does the same to other vectors of the same model:
`AffineMap.load("map.safetensors")(vectors)`.

## Reference

Liu, Ungar & Sedoc (2019), Unsupervised Post-processing of Word Vectors via Conceptor Negation,
AAAI.
"""


def save_folder(
    source: object,
    folder: str | os.PathLike[str],
    method: MethodLike | None = None,
    options: FitOptions | None = None,
    *,
    name: str | None = None,
    license: str | None = None,
    language: str | None = None,
    dtype: str = "float32",
    force: bool = False,
    progress: Progress = silent,
    caution: Callable[[str], object] | None = None,
    **parameters: Any,  # noqa: ANN401
) -> Report:
    """Improve the vectors of a file, and write them, their map and a model card to a folder.

    `name` is the title of the card, by default the folder's name; `license` (of the original
    vectors, such as `pddl`) and `language` (`en`) are for its header. `force` replaces an existing
    folder of this kind. Other parameters are those of `conceptor.postprocess`.
    """

    def parts_of(folder: Path) -> Callable[[Path], bool] | None:
        if not ((folder / CARD).is_file() and (folder / VECTORS).is_file()):
            return None
        return lambda path: path.name in (VECTORS, MAP) or is_for_readers(path.name)

    opened = as_vectors(source)
    check_folder(folder, "hub folder", parts_of, inputs=opened.files, force=force)
    with replace_folder_atomically(folder) as beside:
        report = postprocess(
            opened,
            beside / VECTORS,
            method,
            options,
            save_map=beside / MAP,
            dtype=dtype,
            progress=progress,
            caution=caution,
            **parameters,
        )
        facts = {
            "words": f"{report.words:,}",
            "dimensions": report.dimension,
            "numbers": dtype,
            "made from": f"`{plain_markdown(Path(opened.name).name)}`",
            "method": f"`{report.method}`",
            "fitted on": report.fitted_on,
            "aperture": report.aperture and f"{report.aperture:.4g}",
            "variance removed": report.variance_removed and f"{report.variance_removed:.1%}",
            "library": f"conceptor {__version__}",
        }
        header = {"license": license, "language": language, "library_name": "conceptor"}
        header = {key: value for key, value in header.items() if value is not None}
        # Every JSON value is valid YAML.
        lines = [f"{key}: {json.dumps(value)}" for key, value in (header | _TAGS).items()]
        card = _CARD.format(
            header="\n".join(lines),
            name=plain_markdown(name or Path(folder).resolve().name),
            facts="\n".join(f"| {key} | {value} |" for key, value in facts.items() if value),
        )
        (beside / CARD).write_text(card, encoding="utf-8")
    return report
