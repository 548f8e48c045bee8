"""Post-processors one after the other, linear or not, each fitted on what came out before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conceptor import datasets
from conceptor.estimation import gather
from conceptor.evaluation.rows import chunks_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from conceptor.estimation import Weighting
    from conceptor.lexicon.fitting import LexiconMethod
    from conceptor.moments import Moments
    from conceptor.progress import Progress
    from conceptor.spectral import SpectralMethod

__all__ = ["LEXICON_METHODS", "Lexicon", "Stream", "lexicon_step", "spectral_step"]

Transform = Callable[[Sequence[str], Any], Any]


@dataclass(frozen=True)
class Stream:
    """Vectors as some steps leave them; they can be read again and again.

    Attributes
    ----------
    vectors : path, open source, (words, array), ...
    transforms : functions of words and rows
        Applied in order to each chunk.
    """

    vectors: object
    transforms: tuple[Transform, ...] = ()

    def chunks(self) -> Iterator[tuple[Sequence[str], Any]]:
        """Yield words and transformed rows."""
        for words, rows in chunks_of(self.vectors):
            names = list(words)
            yield names, self.transform(names, rows)

    def transform(self, words: Sequence[str], rows: Any) -> Any:  # noqa: ANN401
        """Take rows through all steps."""
        for transform in self.transforms:
            rows = transform(words, rows)
        return rows

    def then(self, step: Callable[[Stream], Transform]) -> Stream:
        """Fit one more step on the vectors as they are now."""
        return Stream(self.vectors, (*self.transforms, step(self)))


def spectral_step(
    fitted: Callable[[Moments], SpectralMethod], weighting: Weighting
) -> Callable[[Stream], Transform]:
    """Return a step that fits an estimator on the moments of a stream."""

    def fit(stream: Stream) -> Transform:
        (moments,) = gather(stream.chunks(), [weighting], ()).moments
        map_ = fitted(moments).map_
        return lambda words, rows: map_(rows)

    return fit


def lexicon_step(method: LexiconMethod, progress: Progress) -> Callable[[Stream], Transform]:
    """Return a step that fits words to a lexicon."""
    return lambda stream: method.fit(stream, progress=progress).transform


@dataclass(frozen=True)
class Lexicon:
    """Files of synonyms and of antonyms; those of the paper are looked for when none are given."""

    synonyms: tuple[str | os.PathLike[str], ...] = ()
    antonyms: tuple[str | os.PathLike[str], ...] = ()
    data: str | os.PathLike[str] | None = None
    offline: bool = False

    def synonym_files(self) -> list[str | os.PathLike[str]]:
        """Return the files of synonyms."""
        return list(self.synonyms) or self._fetched("ppdb_synonyms")

    def antonym_files(self) -> list[str | os.PathLike[str]]:
        """Return the files of antonyms."""
        return list(self.antonyms) or self._fetched("ppdb_antonyms", "wordnet_antonyms")

    def _fetched(self, *names: str) -> list[str | os.PathLike[str]]:
        files: list[Path] = [
            datasets.fetch(f"lexicon/{name}.txt", self.data, offline=self.offline) for name in names
        ]
        return list(files)


def _counterfit(*, synonyms: bool, antonyms: bool) -> Callable[[Lexicon], LexiconMethod]:
    def method(lexicon: Lexicon) -> LexiconMethod:
        from conceptor.lexicon import CounterFitting

        return CounterFitting(
            lexicon.synonym_files() if synonyms else None,
            lexicon.antonym_files() if antonyms else None,
        )

    return method


def _retrofit(lexicon: Lexicon) -> LexiconMethod:
    from conceptor.lexicon import Retrofitting

    return Retrofitting(lexicon.synonym_files())


# Methods that need to know words, not only their vectors.
LEXICON_METHODS: dict[str, Callable[[Lexicon], LexiconMethod]] = {
    "counterfit-syn": _counterfit(synonyms=True, antonyms=False),
    "counterfit-ant": _counterfit(synonyms=False, antonyms=True),
    "counterfit": _counterfit(synonyms=True, antonyms=True),
    "retrofit": _retrofit,
}
