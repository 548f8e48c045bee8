"""Two languages in one space: post-processing, then a rotation."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.base.arrays import Float64, unit_rows
from conceptor.base.errors import InvalidInputError, Message
from conceptor.base.files import read_lines
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.fitting import FitOptions, fit_methods
from conceptor.methods import ORIGINAL
from conceptor.vectors.chunks import as_vectors
from conceptor.vectors.conversion import Written, convert
from conceptor.vectors.files import open_vectors
from conceptor.vectors.source import VectorSource
from conceptor.vectors.table import MISSING, WordVectors
from conceptor.vectors.target import plan_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors

    Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Maps of two sets of vectors into one space.

    Attributes
    ----------
    source, target : AffineMap
    pairs, listed : int
        The number of pairs with a vector on both sides, and the number of all pairs.
    remarks : sequence of str
        Warnings for users.
    """

    source: AffineMap
    target: AffineMap
    pairs: int
    listed: int
    remarks: Sequence[str] = ()


def read_dictionary(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read one word and its translation per line, separated by a tab or a space."""
    pairs = []
    for number, line in read_lines(path, "word pairs", "of word pairs"):
        match line.split("\t") if "\t" in line else line.split():
            case [word, translation]:
                pairs.append((word.strip(), translation.strip()))
            case _:
                raise InvalidInputError(
                    f"{path}, line {number}: expected a word and its translation, found "
                    f"{line[:60]!r}"
                )
    if not pairs:
        raise InvalidInputError(f"{path}: contains no pairs of words")
    return pairs


def align(
    source: object,
    target: object,
    dictionary: str | os.PathLike[str] | Pairs,
    *,
    method: str = "cn",
    options: tuple[FitOptions, FitOptions] | None = None,
    progress: Progress = silent,
) -> Alignment:
    """Learn maps of two sets of vectors into one space, from pairs of words with the same meaning.

    Each side is post-processed by `method`; then the source is rotated to bring the dictionary's
    words as close as possible to their translations (orthogonal Procrustes; Xing et
    al. 2015).

    Parameters
    ----------
    source, target : path, open source, WordVectors, (words, array), ...
    dictionary : file, or pairs of words
    method : str
        A spectral method, or `original` for none.
    options : two FitOptions, optional
        Usage weights of each side.
    """
    pairs = (
        read_dictionary(dictionary)
        if isinstance(dictionary, str | os.PathLike)
        else list(dictionary)
    )
    if not pairs:
        raise InvalidInputError("the dictionary contains no pairs of words")
    words = zip(*pairs, strict=True)
    given = options or (FitOptions(), FitOptions())
    sides = [
        _Side.fit(as_vectors(vectors), method, some, choice, progress)
        for vectors, some, choice in zip((source, target), words, given, strict=True)
    ]
    known = (sides[0].rows != MISSING) & (sides[1].rows != MISSING)
    count = int(known.sum())
    if count < 2:
        raise InvalidInputError(
            f"{count} of the dictionary's {len(pairs)} pairs have vectors on both sides; "
            "are the languages of the files in the same order as in the dictionary?"
        )
    left, right = (unit_rows(side.table.vectors[side.rows[known]]) for side in sides)
    remarks = [*sides[0].remarks, *sides[1].remarks]
    if count < left.shape[1]:
        remarks.append(
            f"{count} pairs of words do not determine a rotation of {left.shape[1]} dimensions; "
            "use a longer dictionary"
        )
    provenance = {"method": f"{method}, aligned", "pairs": count}
    provenance["library"] = f"conceptor {__version__}"
    maps = sides[0].map @ AffineMap(rotation(left, right)), sides[1].map
    first, second = (AffineMap(m.matrix, m.offset, m.bias, provenance, unit=m.unit) for m in maps)
    return Alignment(first, second, count, len(pairs), remarks)


class _Side(NamedTuple):
    """One side of a dictionary: the method's map, and the rows of the words in a table."""

    map: AffineMap
    table: WordVectors
    rows: NDArray[np.intp]
    remarks: list[str]

    @classmethod
    def fit(
        cls,
        vectors: Vectors,
        method: str,
        words: Sequence[str],
        options: FitOptions,
        progress: Progress,
    ) -> _Side:
        found = fit_methods(vectors, [method], options, wanted=frozenset(words), progress=progress)
        table = found.rows[method]
        if method == ORIGINAL:
            map_ = AffineMap(np.eye(table.dimension), unit=True)
        else:
            map_ = found.methods[method].map
        remarks: list[str] = [Message(vectors.name, ": ", each) for each in found.cautions]
        return cls(map_, table, table.rows(words), remarks)


def rotation(left: Float64, right: Float64) -> Float64:
    """Return the orthogonal matrix W with the least ``‖left W − right‖`` (Schönemann 1966).

    If the right side has more columns, its rows are orthonormal; if it has fewer, its columns.
    """
    with one_blas_thread():
        U, _, Vt = np.linalg.svd(left.T @ right, full_matrices=False)
    return np.asarray(U @ Vt)


def align_files(
    source: VectorSource | str | os.PathLike[str],
    target: VectorSource | str | os.PathLike[str],
    dictionary: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    method: str = "cn",
    force: bool = False,
    progress: Progress = silent,
) -> tuple[Alignment, list[Written]]:
    """Align two files of vectors and write both, under their own names, to a directory.

    Parameters are those of `align`. The directory is created if it does not exist.
    """
    left, right = (
        each if isinstance(each, VectorSource) else open_vectors(each) for each in (source, target)
    )
    opened, folder = (left, right), Path(directory)
    names = [each.path.name for each in opened]
    if names[0] == names[1]:
        raise InvalidInputError(
            f"both files are named {names[0]}, so their outputs would collide; rename one"
        )
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder}: is a file, not a directory; name a directory")
    if folder.is_dir():
        for each, name in zip(opened, names, strict=True):
            plan_target(folder / name, source=each, force=force)
    found = align(left, right, dictionary, method=method, progress=progress)
    folder.mkdir(parents=True, exist_ok=True)
    reports = [
        convert(each, folder / name, map_, force=force, progress=progress)
        for each, name, map_ in zip(opened, names, (found.source, found.target), strict=True)
    ]
    return found, reports
