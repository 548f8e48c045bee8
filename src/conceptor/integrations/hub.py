"""A folder for the Hugging Face hub: improved vectors, their map and a model card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conceptor import __version__
from conceptor.base.errors import (
    ConceptorError,
    InvalidInputError,
    MissingExtraError,
    Setting,
    plain_markdown,
)
from conceptor.base.files import name_in_errors, replace_folder_atomically
from conceptor.base.folders import check_folder, is_for_readers
from conceptor.base.progress import silent
from conceptor.methods import Method
from conceptor.postprocessing import postprocess
from conceptor.vectors.files import open_vectors
from conceptor.vectors.source import VectorSource

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from conceptor.base.progress import Progress
    from conceptor.fitting import FitOptions
    from conceptor.methods import MethodLike
    from conceptor.postprocessing import Report

VECTORS, MAP, CARD = "vectors.safetensors", "map.safetensors", "README.md"
_TAGS = ("word-embeddings", "static-embeddings", "conceptor")


def save_folder(
    source: VectorSource | str | os.PathLike[str],
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
) -> Report:
    """Improve the vectors of a file, and write them, their map and a model card to a folder.

    Parameters
    ----------
    source, method, options, dtype, progress, caution
        As for `conceptor.postprocess`.
    folder
        Appears complete or not at all: `vectors.safetensors`, `README.md`, and `map.safetensors`
        if the method is one map for all words.
    name
        The title of the card; by default the folder's name.
    license, language
        For the card's header: the license of the original vectors (`pddl`, `apache-2.0`, ...), and
        the language, such as `en`.
    force
        Replace an existing folder that was written by this function.
    """
    target = Path(folder)
    is_ours = (target / CARD).is_file() and (target / VECTORS).is_file()
    if target.exists() and not (force and is_ours):
        raise InvalidInputError(
            f"{folder}: exists; name a new folder, or replace an earlier hub folder with ",
            Setting("force", True),
        )
    opened = source if isinstance(source, VectorSource) else open_vectors(source)
    check_folder(target, "hub folder", lambda _: _belongs, inputs=opened.files(), force=force)
    chosen = Method.default_for(opened) if method is None else Method.of(method)
    has_map = chosen.is_map
    with replace_folder_atomically(folder) as beside, name_in_errors(folder, inside=beside):
        report = postprocess(
            opened,
            beside / VECTORS,
            chosen,
            options,
            save_map=beside / MAP if has_map else None,
            dtype=dtype,
            progress=progress,
            caution=caution,
        )
        title = name or target.resolve().name
        header = {"license": license, "language": language}
        card = model_card(report, title, opened.path.name, dtype, header, has_map=has_map)
        with name_in_errors(folder):
            (beside / CARD).write_text(card, encoding="utf-8")
    return report


def _belongs(path: Path) -> bool:
    return path.name in (VECTORS, MAP) or is_for_readers(path.name)


def model_card(
    report: Report,
    name: str,
    source: str,
    dtype: str,
    header: dict[str, str | None],
    *,
    has_map: bool,
) -> str:
    """Return a card: what the vectors are, how they were made, and how to load them."""
    # Every JSON string is a valid YAML string.
    lines = [f"{key}: {json.dumps(value)}" for key, value in header.items() if value is not None]
    facts = {
        "words": f"{report.words:,}",
        "dimensions": str(report.dimension),
        "numbers": dtype,
        "made from": f"`{plain_markdown(source)}`",
        "method": f"`{report.method}`",
        "fitted on": report.fitted_on,
        "aperture": None if report.aperture is None else f"{report.aperture:.4g}",
        "variance removed": None
        if report.variance_removed is None
        else f"{report.variance_removed:.1%}",
        "library": f"conceptor {__version__}",
    }
    return _CARD.format(
        header="\n".join([*lines, "library_name: conceptor", f"tags: {json.dumps(_TAGS)}"]),
        name=plain_markdown(name),
        facts="\n".join(f"| {key} | {value} |" for key, value in facts.items() if value),
        map=_MAP if has_map else "",
        vectors=VECTORS,
    )


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

words, vectors = open_vectors(hf_hub_download("USER/REPOSITORY", "{vectors}")).read()
```

The file is plain safetensors: the matrix is `embeddings`, the words are the lines of `words`.
{map}
## Reference

Liu, Ungar & Sedoc (2019), Unsupervised Post-processing of Word Vectors via Conceptor Negation,
AAAI.
"""
_MAP = f"""
`{MAP}` does the same to other vectors of the same model: `AffineMap.load("{MAP}")(vectors)`.
"""


def push_to_hub(
    folder: str | os.PathLike[str],
    repo_id: str,
    *,
    private: bool = False,
    token: str | None = None,
    message: str = "Vectors improved by conceptor",
) -> str:
    """Upload a folder that `save_folder` wrote to a model repository; return its address.

    The repository is created if it does not exist. The default `token` is the one that `hf auth
    login` stores.
    """
    api = _hub_api()
    path = Path(folder)
    if not (path / VECTORS).is_file():
        raise InvalidInputError(f"{folder}: no {VECTORS} in it; write it with save_folder first")
    card = path / CARD
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    if "USER/REPOSITORY" in text:  # only now is the address known
        card.write_text(text.replace("USER/REPOSITORY", repo_id), encoding="utf-8")
    try:
        url = api.create_repo(repo_id, token=token, private=private, exist_ok=True)
        api.upload_folder(repo_id=repo_id, folder_path=path, token=token, commit_message=message)
    except Exception as error:  # of the network, of permissions: its own kinds, and httpx's
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConceptorError(f"{repo_id}: could not be uploaded ({said})") from error
    return str(url)


def _hub_api() -> Any:  # noqa: ANN401
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise MissingExtraError("uploading to the Hugging Face hub", "hub") from None
    return HfApi()
