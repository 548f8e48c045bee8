"""The table of methods that can be compared, and the settings they are fitted with.

A new method is one more row of `METHODS`: its estimator, and what it is fitted on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from conceptor import datasets, estimation, spectral
from conceptor.chains import LEXICON_METHODS, Lexicon
from conceptor.errors import InvalidInputError
from conceptor.estimation import Weighting, first_words
from conceptor.usage import Usage, check_ranks, read_counts, unsorted, usage

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conceptor.spectral import SpectralMethod

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "ORIGINAL",
    "Method",
    "Settings",
    "checked",
    "settings_for",
]

ORIGINAL = "original"
FIRST_WORDS = Weighting(Usage(top=50_000), "the first 50,000 words")
RANKS = Weighting(Usage("zipf"), "all words, weighted by rank in the file")


@dataclass(frozen=True)
class Settings:
    """What the methods are fitted with: their authors' choices unless told otherwise.

    `aperture` is that of the paper's CN, `usage_aperture` that of CN weighted by usage.
    """

    aperture: float = 2.0
    usage_aperture: float | Literal["auto"] = "auto"
    directions: int = 2
    ridge: float = 50.0
    vocabulary: Weighting = FIRST_WORDS
    usage: Weighting = RANKS
    lexicon: Lexicon = field(default_factory=Lexicon)


@dataclass(frozen=True)
class Method:
    """A row of the table of methods: its estimator, and what it is fitted on."""

    name: str
    estimator: Callable[[Settings], SpectralMethod]
    weighting: Callable[[Settings], Weighting]


def _vocabulary(settings: Settings) -> Weighting:
    return settings.vocabulary


def _usage(settings: Settings) -> Weighting:
    return settings.usage


def _function_words(_: Settings) -> Weighting:
    return _english_function_words()


@cache
def _english_function_words() -> Weighting:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return Weighting(Usage(vocabulary=ENGLISH_STOP_WORDS), "scikit-learn's English function words")


METHODS = {
    method.name: method
    for method in (
        Method("abtt", lambda s: spectral.AllButTheTop(s.directions), _vocabulary),
        Method("cn", lambda s: spectral.ConceptorNegation(s.aperture), _vocabulary),
        Method("cn-zipf", lambda s: spectral.ConceptorNegation(s.usage_aperture), _usage),
        Method("whitening", lambda _: spectral.Whitening(), _vocabulary),
        Method("zipf-whitening", lambda _: spectral.Whitening(), _usage),
        Method("pvn", lambda s: spectral.PrincipalVarianceNormalization(s.directions), _vocabulary),
        Method("hsr", lambda s: spectral.HalfSiblingRegression(s.ridge), _function_words),
    )
}
DEFAULT_METHODS = (ORIGINAL, "abtt", "cn", "cn-zipf")


def checked(methods: Sequence[str]) -> list[str]:
    """Return the methods, each once; an error for a name that is none."""
    for method in methods:
        for step in [] if method == ORIGINAL else method.split("+"):
            if step not in METHODS and step not in LEXICON_METHODS:
                known = ", ".join([ORIGINAL, *METHODS, *LEXICON_METHODS])
                raise InvalidInputError(f"no method is called {step!r}; the methods are {known}")
    if not methods:
        raise InvalidInputError("no method was named")
    return list(dict.fromkeys(methods))


def settings_for(
    vectors: object,
    *,
    vocabulary: str | None = None,
    usage: str | None = None,
    data: str | os.PathLike[str] | None = None,
    offline: bool = False,
    aperture: float = 2.0,
    usage_aperture: float | Literal["auto"] = "auto",
    directions: int = 2,
    ridge: float = 50.0,
    synonyms: Sequence[str | os.PathLike[str]] = (),
    antonyms: Sequence[str | os.PathLike[str]] = (),
) -> Settings:
    """Return the settings for some vectors from what users write.

    Parameters
    ----------
    vectors : path, open source, WordVectors, ...
        Only their first words are looked at.
    vocabulary : `top:N`, a file of words, or None
        None is the paper's list where it can be had, else the first 50,000 words.
    usage : `zipf`, `wordfreq:LANG`, a file of "word count" lines, or None
        None is `zipf`, or for a file that is not sorted by frequency, where ranks mean nothing,
        the counts of the paper's list if that can be had, else all words count the same.
    data, offline
        Where the paper's list is looked for.
    aperture, usage_aperture, directions, ridge
        Of CN, CN weighted by usage, ABTT and PVN, HSR.
    synonyms, antonyms : files
        Of the lexicon methods; those of the paper are looked for when none are given.
    """
    listed: Path | None = None
    if vocabulary is None or usage is None:
        with suppress(datasets.MissingDataError):
            listed = datasets.fetch(estimation.PAPER_VOCABULARY, data, offline=offline)
    return Settings(
        aperture=aperture,
        usage_aperture=usage_aperture,
        directions=directions,
        ridge=ridge,
        vocabulary=_choose_vocabulary(vocabulary and datasets.at_hand(vocabulary, data), listed),
        usage=_choose_usage(usage and datasets.at_hand(usage, data), listed, vectors),
        lexicon=Lexicon(tuple(synonyms), tuple(antonyms), data, offline),
    )


def _choose_vocabulary(choice: str | None, listed: Path | None) -> Weighting:
    if choice is None:
        return FIRST_WORDS if listed is None else estimation.paper_vocabulary(listed)
    chosen = usage(vocabulary=choice)
    top = f"the first {chosen.top:,} words" if chosen.top else f"the words of {choice}"
    return Weighting(chosen, top)


def _choose_usage(choice: str | None, listed: Path | None, vectors: object) -> Weighting:
    if choice is not None and choice != "zipf":
        return Weighting(usage(choice), f"words weighted by {choice}")
    words = first_words(vectors)
    reason = unsorted(words)
    if reason is None:
        return RANKS
    if choice == "zipf":
        check_ranks(words, getattr(vectors, "path", "the vectors"))
        return Weighting(Usage("zipf"), f"{RANKS.description}, though {reason}")
    if listed is None:
        return Weighting(Usage(), f"all words, which count the same ({reason})")
    counts = usage(read_counts(listed))
    return Weighting(counts, "words weighted by their counts in Wikipedia (2015)")
