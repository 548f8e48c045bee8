"""What the options of `postprocess` and `fit` ask for: a method, a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.cli.file_options import read_aperture

if TYPE_CHECKING:
    from conceptor.algebra.methods import LexiconRecipe, Recipe

_DEFAULT, _PAPER = "cn", "cn-paper"


def chosen_method(
    method: str | None,
    *,
    paper: bool,
    weights: str | None,
    aperture: str | None,
    n_directions: int | None,
    power: float | None,
    ridge: float | None,
) -> str | Recipe | LexiconRecipe:
    """Return the method with its parameters; one of another method is a mistake, not ignored."""
    from conceptor.algebra.methods import Recipe, Words, parse_method

    if paper and (method is not None or aperture is not None or weights is not None):
        raise InvalidInputError(
            "--paper sets method, aperture and weights; leave --method, --aperture, --weights out"
        )
    name = _PAPER if paper else method or _DEFAULT
    chain = parse_method(name)
    usage = [step for step in chain if isinstance(step, Recipe) and step.words is Words.USAGE]
    if weights is not None and not usage:
        raise InvalidInputError(
            f"--weights has no meaning for {name}, which counts each word once; cn and "
            "zipf-whitening weigh words by their use"
        )
    given = {
        "aperture": None if aperture is None else read_aperture(aperture),
        "n_directions": n_directions,
        "power": power,
        "ridge": ridge,
    }
    parameters = {key: value for key, value in given.items() if value is not None}
    if not parameters:
        return name
    if len(chain) != 1:
        raise InvalidInputError(
            f"{name} has several steps; write parameters into the name, as in "
            "abtt:n_directions=3+counterfit"
        )
    known = chain[0].parameters if isinstance(chain[0], Recipe) else {}
    for key in parameters:
        if key not in known:
            raise InvalidInputError(f"--{key.removeprefix('n_')} has no meaning for {name}")
    return chain[0].with_parameters(**parameters)


def read_size(size: str | None) -> int | None:
    """Read 100MB, 2GB, 1.5g or plain bytes."""
    if size is None:
        return None
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    text = size.strip().lower().removesuffix("b")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "")
    try:
        value = int(float(number) * units[unit])
    except (ValueError, OverflowError):
        value = -1
    if value < 0:
        raise InvalidInputError(f"--memory takes a size such as 100MB or 8GB, not {size}")
    return value
