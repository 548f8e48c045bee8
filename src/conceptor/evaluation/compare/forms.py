"""Stored forms of rows of texts: a method, a number of dimensions, and a number type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.fitting import FitOptions, Fitted, fit_methods
from conceptor.methods import ORIGINAL, Method, MethodsLike, as_methods
from conceptor.postprocessing import rotate_for_bits
from conceptor.vectors.chunks import Transform, through
from conceptor.vectors.formats.encoding import DTYPES, Encoding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.vectors.vectors import Vectors


FLOAT32, INT8, BINARY = "float32", "int8", "binary"
# Plain PCA, the usual way to reduce dimensions.
PCA = "pca"
_PCA, _NOTHING = Method.parse("abtt:n_directions=0"), Method()
TEXT_METHODS = (ORIGINAL, "gentle", "renormalization", "abtt", "cn")
# Rotations for bits take minutes to learn, so by default only these methods have them.
_WITH_BITS = (ORIGINAL, "gentle")
_SIZES = (1, 2, 4)


@dataclass(frozen=True)
class Form:
    """A method, and how its output is stored.

    `original` with fewer dimensions keeps the first ones, as embeddings with nested dimensions
    (Matryoshka) are meant to be cut; a method keeps the leading directions of its output.
    """

    method: str
    dimensions: int
    dtype: str = FLOAT32
    cut: bool = False
    recipe: Method = _NOTHING  # with its number of dimensions

    @property
    def name(self) -> str:
        """The name in results."""
        size = [str(self.dimensions)] if self.cut else []
        return " ".join([self.method, *size, *([self.dtype] if self.dtype != FLOAT32 else [])])

    @property
    def label(self) -> str:
        """The stored form, without the method."""
        return f"{self.dimensions} {self.dtype}"

    @property
    def bytes(self) -> int:
        """The number of bytes for a row's numbers; cosines need no scales."""
        encoding = Encoding(self.dtype, self.dimensions)
        return encoding.width * encoding.stored.itemsize

    @property
    def whole(self) -> bool:
        """Whether it is complete: all dimensions, as float32."""
        return not self.cut and self.dtype == FLOAT32


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
    chosen = as_methods(TEXT_METHODS if methods is None else methods)
    for method in chosen.values():
        method.check_words(vectors)
    chosen = {ORIGINAL: _NOTHING} | {n: each for n, each in chosen.items() if each.steps}
    if sizes is None:
        sizes = [size for part in _SIZES if (size := dimension // part) >= 1]
    sizes = list(dict.fromkeys([dimension, *sizes]))
    for size in sizes:
        if not 1 <= size <= dimension:
            raise InvalidInputError(f"a size is {size}, but the rows have {dimension} dimensions")
    kinds = list(dict.fromkeys([FLOAT32, *(dtypes or (INT8, BINARY))]))
    if unknown := [each for each in kinds if each not in DTYPES]:
        raise InvalidInputError(
            f"unknown number type {unknown[0]!r}; choose from {', '.join(DTYPES)}"
        )
    if len(sizes) > 1 and methods is None:
        chosen[PCA] = _PCA
    forms = {}
    for size in sizes:
        for dtype in kinds:
            for name, method in chosen.items():
                if name == PCA and method is _PCA and size == dimension:
                    continue
                if (
                    dtype == BINARY
                    and dtypes is None
                    and not (size == dimension and (methods is not None or name in _WITH_BITS))
                ):
                    continue
                own = method.output_dimension(dimension)
                if own != dimension and size != dimension:
                    continue  # it has its own size
                cut = size != dimension
                whole = method.with_dimensions(size) if cut and method.steps else method
                form = Form(name, min(size, own), dtype, cut, whole)
                forms[form.name] = form
    return forms


@dataclass(frozen=True, eq=False)
class FormTransform:
    """Rows as they are read back from a form."""

    steps: tuple[Transform, ...]

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows in this form; the texts are not needed."""
        found: NDArray[Any] = through((), rows, self.steps)
        return found


def fit_forms(
    vectors: Vectors,
    forms: Mapping[str, Form],
    options: FitOptions | None,
    progress: Progress,
) -> tuple[dict[str, FormTransform], list[str]]:
    """Fit each method at each size in one pass; return the forms, and what they were fitted on.

    For bits, each method takes one more pass to learn the rotation.
    """
    wanted = {_key(form): form.recipe for form in forms.values() if form.recipe.steps}
    notes: list[str] = []
    fitted: Mapping[str, Fitted] = {}
    if wanted:
        found = fit_methods(vectors, wanted, options, doubts=False, progress=progress)
        fitted = found.methods
        weights = dict.fromkeys(each.description for each in found.weights.values())
        notes = [f"methods are fitted on {'; '.join(weights)} ({found.count:,})"]
    transforms = {}
    for name, form in forms.items():
        steps = _steps(vectors, form, fitted.get(_key(form)), progress)
        transforms[name] = FormTransform(steps)
    return transforms, notes


def _key(form: Form) -> str:
    return f"{form.method} {form.dimensions}"


def _steps(
    vectors: Vectors, form: Form, fitted: Fitted | None, progress: Progress
) -> tuple[Transform, ...]:
    steps: tuple[Transform, ...]
    if fitted is None:
        steps = (lambda _, rows: rows[:, : form.dimensions],) if form.cut else ()
    elif form.dtype == BINARY and fitted.is_map:
        progress(f"{form.name}: learning a rotation", None, 0)
        turned = rotate_for_bits(vectors, fitted.map)
        steps = (lambda _, rows: turned(rows),)
    else:
        steps = fitted.transforms
    if form.dtype == FLOAT32:
        return steps
    encoding = Encoding(form.dtype, form.dimensions)

    def store(_: Sequence[str], rows: NDArray[Any]) -> NDArray[np.float32]:
        return encoding.decode(*encoding.encode(np.asarray(rows, dtype=np.float32)))

    return (*steps, store)
