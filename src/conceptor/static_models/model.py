"""A static model: a tokenizer and a table; a text is the average of its tokens' rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from conceptor.base.arrays import row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_object
from conceptor.static_models.card import write_card
from conceptor.vectors.formats.static_model import OFFSET, StaticModelSource, write_folder
from conceptor.vectors.target import check_new_folder
from conceptor.vectors.tokenizer import TokenReader

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_BATCH = 10_000
# A single text of fewer characters is encoded as a query.
_SHORT = 2_000


@dataclass(frozen=True, eq=False, repr=False)
class StaticModel:
    """A tokenizer and one vector for each token.

    Attributes
    ----------
    tokens : list of str
        In the order of the rows.
    vectors : ndarray of shape (tokens, n)
        They include all weights and maps; rows of special tokens are 0.
    tokenizer : tokenizers.Tokenizer
    provenance : dict
        How the model was made, for the model card.
    offset : ndarray of shape (n,), optional
        The mean of the stored vectors that an encoder was attached to. Rankings do not need it; for
        scores that can be compared between queries, subtract `encode(texts) @ offset`.
    """

    vectors: NDArray[Any]
    tokenizer: Tokenizer
    provenance: dict[str, Any] = field(default_factory=dict)
    offset: NDArray[np.float32] | None = None

    @property
    def tokens(self) -> list[str]:
        """The tokens, in the order of the rows."""
        vocabulary = self.tokenizer.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    @cached_property
    def _read(self) -> TokenReader:
        return TokenReader(self.tokenizer)

    @property
    def dimension(self) -> int:
        """The number of dimensions."""
        return int(self.vectors.shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 per text; 0 for a text without a known token."""
        if isinstance(texts, str):
            raise InvalidInputError("got a single string; put it into a list of texts")
        texts = list(texts)
        if len(texts) == 1 and len(texts[0]) < _SHORT:
            return self._encode_query(texts[0])[np.newaxis]
        from scipy import sparse

        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            found = self._read(texts[start : start + _BATCH])
            distinct, columns = found.distinct()
            counts = sparse.csr_array(
                (np.ones(len(columns), dtype=np.float32), columns, found.ends),
                shape=(len(found.ends) - 1, len(distinct)),
            )
            sums = counts @ self.vectors[distinct].astype(np.float32, copy=False)
            out[start : start + _BATCH] = sums / row_lengths(sums)[:, np.newaxis]
        return out

    def _encode_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one short text, with as few calls as possible."""
        rows = self.vectors.take(self._read.of_query(text), axis=0)
        # In double precision, squares of single-precision numbers neither overflow nor vanish.
        total = np.add.reduce(rows, axis=0, dtype=np.float32).astype(np.float64)
        length = math.sqrt(total.dot(total)) or 1.0
        return np.asarray(total / length, dtype=np.float32)

    def save(
        self, folder: str | os.PathLike[str], *, dtype: str = "float32", force: bool = False
    ) -> None:
        """Write a folder that model2vec and sentence-transformers load.

        Parameters
        ----------
        folder
            Appears whole or not at all.
        dtype
            float32, float16 or int8.
        force
            Replace an existing folder.
        """
        check_new_folder(folder, force=force)
        folder = Path(folder)
        config = {"apply_pca": None, "conceptor": self.provenance}
        card = write_card(folder.resolve().name, self)
        more = {} if self.offset is None else {OFFSET: self.offset}
        write_folder(folder, self.vectors, self.tokenizer.to_str(), config, card, dtype, more)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Load the folder of a static model, made by any library."""
        source = StaticModelSource(Path(folder))
        tokenizer = source.tokenizer()
        config = Path(folder) / "config.json"
        said = read_object(config).get("conceptor", {}) if config.is_file() else {}
        provenance = said if isinstance(said, dict) else {}
        return cls(source.to_array(), tokenizer, provenance, source.offset)

    def __repr__(self) -> str:
        count, dimension = self.vectors.shape
        return f"StaticModel({count} tokens × {dimension})"
