"""Stored forms of rows of texts: a method, a number of dimensions, and a number type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.itq import MOST_ROWS, fit_itq
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import METHODS, ORIGINAL, Method, MethodsLike, as_methods
from conceptor.vectors.formats.encoding import DTYPES, Encoding
from conceptor.vectors.texts import read_some
from conceptor.vectors.vectors import Vectors

# A function of rows that returns them in another form.
Change = Callable[[NDArray[Any]], NDArray[Any]]

_FLOAT32, _INT8, _BINARY = "float32", "int8", "binary"
TEXT_METHODS = (ORIGINAL, "gentle", "renormalization", "abtt", "cn")
# Plain PCA, the usual way to reduce dimensions.
_PCA = "pca"
# Rotations for bits take minutes to learn, so by default only these methods have them.
_WITH_BITS = (ORIGINAL, "gentle")


@dataclass(frozen=True)
class Form:
    """A method, and how its output is stored.

    `original` with fewer dimensions keeps the first ones, as embeddings with nested dimensions
    (Matryoshka) are meant to be cut; a method keeps the leading directions of its output.
    """

    method: str
    dimensions: int
    dtype: str = _FLOAT32
    cut: bool = False
    recipe: Method = METHODS[ORIGINAL]  # with its number of dimensions

    @property
    def name(self) -> str:
        """The name in results."""
        size = [str(self.dimensions)] if self.cut else []
        return " ".join([self.method, *size, *([self.dtype] if self.dtype != _FLOAT32 else [])])

    @property
    def bytes(self) -> int:
        """The number of bytes for a row's numbers; cosines need no scales."""
        encoding = Encoding(self.dtype, self.dimensions)
        return encoding.width * encoding.stored.itemsize

    @property
    def whole(self) -> bool:
        """Whether it is complete: all dimensions, as float32."""
        return not self.cut and self.dtype == _FLOAT32

    @property
    def options(self) -> str:
        """The options of `postprocess` that write this form; none for the original."""
        if self.recipe.is_original:
            return ""
        stored = f" --dtype {self.dtype}" if self.dtype != _FLOAT32 else ""
        return f"--method {self.recipe}{stored}"


def plan_forms(
    vectors: Vectors,
    methods: MethodsLike | None = None,
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] | None = None,
) -> dict[str, Form]:
    """Return the forms to compare by name, starting with the unchanged `original`.

    By default: all dimensions, half of them and a quarter; float32 and int8; and bits at full size
    for the original and the default.
    """
    dimension = vectors.dimension
    named = as_methods(TEXT_METHODS if methods is None else methods)
    for method in named.values():
        method.check_rows(vectors)
    chosen = {name: each for name, each in named.items() if not each.is_original}
    chosen = {ORIGINAL: METHODS[ORIGINAL]} | chosen
    if sizes is None:
        sizes = [size for part in (1, 2, 4) if (size := dimension // part) >= 1]
    sizes = list(dict.fromkeys([dimension, *sizes]))
    for size in sizes:
        if not 1 <= size <= dimension:
            raise InvalidInputError(f"a size is {size}, but the rows have {dimension} dimensions")
    kinds = list(dict.fromkeys([_FLOAT32, *(dtypes or (_INT8, _BINARY))]))
    if unknown := [each for each in kinds if each not in DTYPES]:
        names = ", ".join(DTYPES)
        raise InvalidInputError(f"unknown number type {unknown[0]!r}; choose from {names}")
    if len(sizes) > 1 and methods is None:
        chosen[_PCA] = Method.parse("abtt:n_directions=0")
    forms = {}
    for size in sizes:
        for dtype in kinds:
            for name, method in chosen.items():
                cut = size != dimension
                has_bits = not cut and (methods is not None or name in _WITH_BITS)
                own = method.output_dimension(dimension)
                if (
                    (dtype == _BINARY and dtypes is None and not has_bits)
                    or (own != dimension and cut)  # it has its own size
                    # At full size, PCA has the same cosines as the centered rows.
                    or (name == _PCA and methods is None and not cut)
                ):
                    continue
                smaller = cut and not method.is_original
                recipe = method.with_parameters(n_components=size) if smaller else method
                form = Form(name, min(size, own), dtype, cut, recipe)
                forms[form.name] = form
    return forms


def fit_forms(
    vectors: Vectors, forms: Mapping[str, Form], options: FitOptions | None, progress: Progress
) -> tuple[dict[str, Change], list[str]]:
    """Fit each method at each size in one pass; return the forms, and what they were fitted on."""
    learned = {name: form for name, form in forms.items() if not form.recipe.is_original}
    maps: dict[str, Any] = {}
    notes = []
    if methods := {f"{each.method} {each.dimensions}": each.recipe for each in learned.values()}:
        fits = fit_methods(vectors, methods, options, doubts=False, progress=progress)
        maps = {name: fitted.map for name, fitted in fits.methods.items()}
        weights = (each.weights for each in fits.methods.values())
        names = dict.fromkeys(each.description for each in weights if each)
        notes = [f"methods are fitted on {'; '.join(names)} ({fits.count:,})"]
    if any(form.dtype == _BINARY for form in learned.values()):
        sample = read_some(vectors, MOST_ROWS)
        sampled_rows = sample.vectors[sample.sample]

    def change_of(form: Form) -> Change:
        change: Change = lambda rows: rows[:, : form.dimensions]  # noqa: E731
        if not form.recipe.is_original:
            map_ = maps[f"{form.method} {form.dimensions}"]
            if form.dtype == _BINARY:
                progress(f"{form.name}: learning a rotation", None, 0)
                rows = map_(sampled_rows)
                map_ = map_ @ fit_itq(rows) if len(rows) > form.dimensions else map_
            change = map_
        if form.dtype == _FLOAT32:
            return change
        encoding = Encoding(form.dtype, form.dimensions)
        return lambda rows: encoding.decode(
            *encoding.encode(np.asarray(change(rows), dtype=np.float32))
        )

    return {name: change_of(form) for name, form in forms.items()}, notes
