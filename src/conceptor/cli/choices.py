"""What the options of `postprocess` and `fit` ask for: a method, weights, a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from conceptor.cli.file_options import Method, read_aperture
from conceptor.errors import InvalidInputError

if TYPE_CHECKING:
    from conceptor.spectral import SpectralMethod
    from conceptor.usage import Usage
    from conceptor.vectors import VectorSource


def chosen_usage(
    source: VectorSource, method: Method, weights: str | None, vocabulary: str | None
) -> Usage:
    """Return what words weigh; ranks are used only where they mean something."""
    from conceptor.datasets import at_hand
    from conceptor.estimation import first_words
    from conceptor.usage import OFFER, check_ranks, unsorted, usage

    weights = weights and at_hand(weights)
    vocabulary = vocabulary and at_hand(vocabulary)
    chosen = usage(weights or ("zipf" if method is Method.cn else "uniform"), vocabulary)
    if chosen.name != "zipf":
        return chosen
    words = first_words(source)
    if weights is not None:
        check_ranks(words, source.path)
    reason = unsorted(words)
    if reason is None:
        return chosen
    instead = "; better:" if weights else " and all words count the same; better:"
    typer.echo(
        f"conceptor: warning: {source.path}: {reason}, so ranks say nothing about frequency"
        f"{instead} {OFFER}",
        err=True,
    )
    return chosen if weights else usage("uniform", vocabulary)


def as_in_the_paper(
    method: Method, aperture: str | None, weights: str | None, vocabulary: str | None
) -> tuple[str, str, str | None]:
    """Return aperture, weights and vocabulary as in the paper."""
    if method is not Method.cn or aperture is not None or weights is not None:
        raise InvalidInputError(
            "--paper sets method, aperture and weights; leave --method, --aperture, --weights out"
        )
    return "2", "uniform", vocabulary or _paper_vocabulary()


def _paper_vocabulary() -> str | None:
    from conceptor.datasets import data_file, find

    file = data_file("enwiki_vocab_min200.txt")
    found = find(file)
    if found is None:
        typer.echo(
            f"conceptor: warning: {file.name} is not at hand, so all words take part; "
            "`conceptor data fetch` gets it",
            err=True,
        )
        return None
    return str(found[0])


def chosen_estimator(
    method: Method, options: dict[str, Any], vocabulary: str | None
) -> SpectralMethod:
    """Return the method with its options; one of another method is a mistake, not ignored."""
    from conceptor import spectral

    kinds: dict[Method, tuple[type[SpectralMethod], str | None]] = {
        Method.cn: (spectral.ConceptorNegation, "aperture"),
        Method.abtt: (spectral.AllButTheTop, "directions"),
        Method.ew: (spectral.EigenvalueWeighting, "power"),
        Method.whiten: (spectral.Whitening, None),
        Method.pvn: (spectral.PrincipalVarianceNormalization, "directions"),
        Method.hsr: (spectral.HalfSiblingRegression, "ridge"),
    }
    kind, takes = kinds[method]
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name != takes:
            raise InvalidInputError(f"--{name} has no meaning for --method {method.value}")
    if method is Method.cn:
        given["aperture"] = read_aperture(given.get("aperture", "auto"))
    if method is Method.hsr and vocabulary is None:
        raise InvalidInputError("--method hsr needs the function words: --vocabulary FILE")
    estimator = kind(**given)
    estimator.check_parameters()
    return estimator


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
