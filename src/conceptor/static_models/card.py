"""The model card of a static model: what it is, how it was made, how to load it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from conceptor import __version__
from conceptor.base.errors import plain_markdown

if TYPE_CHECKING:
    from conceptor.static_models.model import StaticModel


def write_card(name: str, model: StaticModel) -> str:
    """Return the content of README.md, with the metadata that the Hugging Face hub reads."""
    name = plain_markdown(name)
    made = {
        key: plain_markdown(value) if isinstance(value, str) else value
        for key, value in model.provenance.items()
    }
    count, dimension = model.vectors.shape
    header = {
        "library_name": "model2vec",
        "base_model": made.get("model"),
        "license": made.get("license"),
        "language": made.get("language"),
    }
    lines = ["---"]
    # Every JSON string is a valid YAML string.
    lines += [f"{key}: {json.dumps(value)}" for key, value in header.items() if value]
    lines += ["tags:", *(f"- {tag}" for tag in ("embeddings", "static-embeddings", "conceptor"))]
    lines += ["---", "", f"# {name}", ""]
    source = f"from {made['model']} " if made.get("model") else ""
    lines += [
        f"A static embedding model, made {source}by conceptor {__version__}: {count:,} tokens, "
        f"{dimension} dimensions. The vector of a text is the average of its tokens' rows, at "
        "length 1.",
        "",
        "```python",
        "from model2vec import StaticModel",
        "",
        f'model = StaticModel.from_pretrained("{name}")',
        'vectors = model.encode(["It is raining.", "Take an umbrella."])',
        "```",
        "",
        f'`SentenceTransformer("{name}")` of sentence-transformers loads it as well.',
        "",
        "## How it was made",
        "",
        *(
            f"- {key}: {value}"
            for key, value in made.items()
            if key not in header and not isinstance(value, dict | list)
        ),
    ]
    if model.offset is not None:
        lines += _describe_use(made)
    figures = made.get("figures")
    if isinstance(figures, dict):
        lines += ["", "## Figures", "", "| benchmark | score |", "|---|---|"]
        lines += [f"| {key} | {value} |" for key, value in figures.items()]
    if not made.get("license"):
        lines += ["", "The licence of the source model was not found; it applies to this one too."]
    return "\n".join(lines) + "\n"


def _describe_use(made: dict[str, Any]) -> list[str]:
    """Return how to search a store with an attached encoder, and its measurements."""
    lines = [
        "",
        "## Use",
        "",
        "It encodes queries for stored vectors: search them by inner product. "
        "Do not encode documents with it. Scores of one query can be compared; for scores that "
        "can be compared between queries, subtract `vectors @ offset`, where `offset` (a tensor of "
        "`model.safetensors`) is the mean of the stored vectors. It finds different documents from "
        "the model, even if it finds as many relevant ones.",
    ]
    if made.get("judged"):
        lines += ["", "| | nDCG@10 | recall@10 | difference, 95% interval |", "|---|---|---|---|"]
        lines += [
            f"| {row['name']} | {row['nDCG@10']:.1f} | {row['recall@10']:.1f} | "
            f"{row['difference']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}] |"
            for row in made["judged"]
        ]
    return lines
