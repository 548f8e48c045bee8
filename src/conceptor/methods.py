"""`Method`: a name such as `cn`, `abtt:n_directions=3` or `cn+counterfit`, with its behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from conceptor.algebra.lengths import Lengths
from conceptor.algebra.recipes import METHODS, LexiconRecipe, Recipe, Words
from conceptor.base.errors import InvalidInputError, Setting, did_you_mean
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conceptor.vectors.vectors import Vectors

__all__ = ["DEFAULT_METHODS", "ORIGINAL", "Method", "MethodLike", "MethodsLike", "as_methods"]

Step: TypeAlias = Recipe | LexiconRecipe
# What callers may pass for a method, and for several.
MethodLike: TypeAlias = "Method | str | Recipe | LexiconRecipe"
MethodsLike: TypeAlias = "Iterable[MethodLike] | Mapping[str, MethodLike | Sequence[Step]]"

# The vectors as they came.
ORIGINAL = "original"
DEFAULT_METHODS = (ORIGINAL, "abtt", "cn-paper", "cn")
# The method for each kind of row. Rows of static models keep their lengths, which weight tokens;
# embeddings of whole texts have little to gain and something to lose.
_DEFAULTS = {RowKind.WORDS: "cn", RowKind.TOKENS: "cn:lengths=kept", RowKind.TEXTS: "gentle"}


@dataclass(frozen=True)
class Method:
    """One or several recipes, applied one after the other; none leaves the vectors as they are.

    `str(method)` is its name; `Method.parse` is the inverse.

    Examples
    --------
    >>> method = Method.parse("cn:aperture=2+counterfit")
    >>> method.is_map, method.needs_words
    (False, True)
    >>> str(method)
    'cn:aperture=2+counterfit'
    """

    steps: tuple[Step, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Method:
        """Read a name; raise for an unknown method or parameter."""
        if text == ORIGINAL:
            return cls()
        return cls(tuple(_parse_step(text, step) for step in text.split("+")))

    @classmethod
    def of(cls, method: MethodLike) -> Method:
        """Return a method given as a name, a recipe or a `Method`."""
        if isinstance(method, Method):
            return method
        return cls.parse(method) if isinstance(method, str) else cls((method,))

    @classmethod
    def of_steps(cls, steps: str | Step | Sequence[Step]) -> Method:
        """Return a method given as a name, a recipe, or several recipes."""
        if isinstance(steps, str | Recipe | LexiconRecipe):
            return cls.of(steps)
        return cls(tuple(steps))

    @classmethod
    def default_for(cls, vectors: Vectors) -> Method:
        """Return the method for vectors if the user names none."""
        return cls.parse(_DEFAULTS[vectors.kind])

    def __str__(self) -> str:
        return "+".join(map(_spell_step, self.steps)) or ORIGINAL

    @property
    def name(self) -> str:
        """The name under which results show it."""
        return str(self)

    @property
    def is_map(self) -> bool:
        """Whether it is one affine map for all vectors, which can be saved and applied."""
        if not self.turning or not all(step.is_map for step in self.turning):
            return False
        return not any(step.unit for step in self.turning[1:])

    @property
    def turning(self) -> tuple[Step, ...]:
        """The steps that change directions: all but `sif`, which only changes lengths."""
        return tuple(s for s in self.steps if isinstance(s, Recipe) or s.synonyms or s.antonyms)

    @property
    def lengths(self) -> Lengths:
        """What becomes of lengths: by usage, after everything else, if any step says so."""
        if any(step.lengths is Lengths.USAGE for step in self.steps):
            return Lengths.USAGE
        return self.steps[0].lengths if self.steps else Lengths.KEPT

    @property
    def needs_words(self) -> bool:
        """Whether it must know which word each row is."""
        return any(step.needs_words for step in self.steps)

    @property
    def weighs_by_usage(self) -> bool:
        """Whether frequent words count more."""
        return any(isinstance(step, Recipe) and step.words is Words.USAGE for step in self.steps)

    @property
    def recipe(self) -> Recipe | None:
        """The only step, where it is a spectral one."""
        only = self.steps[0] if len(self.steps) == 1 else None
        return only if isinstance(only, Recipe) else None

    def output_dimension(self, dimension: int) -> int:
        """Return the dimension of the result for vectors of this dimension."""
        for step in self.steps:
            dimension = step.output_dimension(dimension)
        return dimension

    def with_parameters(self, **parameters: object) -> Method:
        """Return the method with other parameters; raise if it does not take them."""
        if len(self.steps) != 1:
            raise InvalidInputError(
                f"{self} has {len(self.steps)} steps; put parameters into the name, as in "
                "abtt:n_directions=3+counterfit"
            )
        return Method((self.steps[0].with_parameters(**parameters),))

    def with_dimensions(self, n_components: int) -> Method:
        """Return the method with `n_components` set for its last spectral step.

        >>> str(Method.parse("cn+sif").with_dimensions(128))
        'cn:n_components=128+sif'
        """
        spectral = [i for i, step in enumerate(self.steps) if isinstance(step, Recipe)]
        if not spectral:
            raise InvalidInputError(
                f"{self} keeps the dimension of the vectors; put a spectral method first, such as "
                "cn"
            )
        steps = list(self.steps)
        steps[spectral[-1]] = steps[spectral[-1]].with_parameters(n_components=n_components)
        return replace(self, steps=tuple(steps))

    def check_changes(self) -> None:
        """Raise for the method that does nothing."""
        if not self.steps:
            raise InvalidInputError(f"{ORIGINAL} changes nothing; name a method")

    def check_words(self, vectors: Vectors) -> None:
        """Raise if it needs words and the rows are none."""
        if self.needs_words and (not vectors.has_words or vectors.kind is RowKind.TEXTS):
            found = "are texts" if vectors.has_words else "have no words"
            raise InvalidInputError(f"{vectors.name}: its rows {found}, and {self} needs words")

    def check_weighs(self) -> None:
        """Raise if frequencies were given to a method that counts each word once."""
        if not self.weighs_by_usage:
            raise InvalidInputError(
                Setting("weights"),
                f" does not apply to {self}, which counts each word once; leave it out, or use cn "
                "or zipf-whitening",
            )

    def require_map(self, why: str, *, of_words: bool = True) -> None:
        """Raise, with the reason, if it is not one map; of rows of single words with `sif`."""
        if not self.is_map or (not of_words and len(self.turning) < len(self.steps)):
            raise InvalidInputError(
                f"{self} is not a single map of all vectors; {why}; use one that is, such as cn"
            )


def as_methods(methods: MethodsLike) -> dict[str, Method]:
    """Return methods by name, each once; raise for an unknown one."""
    if isinstance(methods, Mapping):
        found = {
            name: each if isinstance(each, Method) else Method.of_steps(each)
            for name, each in methods.items()
        }
    else:
        found = {method.name: method for method in map(Method.of, methods)}
    if not found:
        raise InvalidInputError("no method was named")
    return found


def spectral_methods() -> list[str]:
    """Return the names of the methods that need nothing but vectors."""
    return [name for name, step in METHODS.items() if isinstance(step, Recipe)]


def _parse_step(method: str, text: str) -> Step:
    name, *given = text.split(":")
    if name not in METHODS:
        known = [ORIGINAL, *METHODS]
        raise InvalidInputError(
            f"unknown method {name!r}{did_you_mean(name, known)}; the methods are "
            f"{', '.join(known)}"
        )
    step = METHODS[name]
    return step.with_parameters(**dict(_parse_parameter(method, step, one) for one in given))


def _parse_parameter(method: str, step: Step, text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if name == "unit" and value in ("true", "false") and "lengths" in step.parameters:
        return name, value == "true"
    if not equals or name not in step.parameters:
        takes = ", ".join(sorted(step.parameters)) or "no parameters"
        raise InvalidInputError(f"{method}: {text!r} is not a parameter; it takes {takes}")
    try:
        return name, int(value) if name.startswith("n_") else float(value)
    except ValueError:
        return name, value


def _spell_step(step: Step) -> str:
    """Return the name with the parameters that differ from those in the registry."""
    usual = METHODS[step.name].parameters if step.name in METHODS else {}
    changed = {name: value for name, value in step.parameters.items() if usual.get(name) != value}
    return ":".join([step.name, *(f"{name}={_spell(value)}" for name, value in changed.items())])


def _spell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # 2, not 2.0; and 1e16, because a plus sign separates steps.
    return str(value).removesuffix(".0").replace("e+", "e")
