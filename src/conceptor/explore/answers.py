"""The requests and answers of the page, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from conceptor.concepts.found import Unknown  # noqa: TC001 (read by the description)


@dataclass(frozen=True)
class Settings:
    """A method and its parameters, as chosen on the page.

    Attributes
    ----------
    method : str
        One of `About.methods`.
    weights : str
        How words are weighted: one of `About.weights`; `auto` uses the method's default.
    aperture : float, optional
        For methods that have one; None for the automatic aperture.
    directions : int, optional
        For methods that remove or flatten leading directions; None for their default.
    """

    method: str
    weights: str = "auto"
    aperture: float | None = None
    directions: int | None = None


@dataclass(frozen=True)
class Choice:
    """A method on the page; `control` names the parameter that a slider sets."""

    name: str
    description: str
    control: str


@dataclass(frozen=True)
class About:
    """The vectors, the kind of rows (`words`, `tokens`, `texts`), and the available choices."""

    vectors: str
    rows: str
    count: int
    dimension: int
    sorted: bool
    other: str | None
    methods: list[Choice]
    weights: list[str]
    projections: list[str]
    examples: list[str]
    version: str


@dataclass(frozen=True)
class Completion:
    """A word with the requested prefix, and its rank, from 1."""

    word: str
    rank: int


@dataclass(frozen=True)
class Near:
    """A neighbour; `moved` is `new`, `gone` or `both`, compared with the other side.

    Lists are ordered by `score`: the cosine, minus a penalty for rare and for excluded words. Ranks
    start at 1. For texts, `above` is the share of random pairs with a lower cosine, as in `99.9%`.
    """

    word: str
    score: float
    cosine: float
    rank: int
    moved: str
    above: str = ""


@dataclass(frozen=True)
class Neighbours:
    """The nearest words before and after, for the known words; and the unknown words."""

    before: list[Near]
    after: list[Near]
    like: list[str]
    without: list[str]
    unknown: list[Unknown]
    prior: bool


@dataclass(frozen=True)
class Score:
    """A benchmark score before and after, × 100; None where it is undefined."""

    dataset: str
    before: float | None
    after: float | None
    note: str


@dataclass(frozen=True)
class Slider:
    """A parameter with its range and marks."""

    name: str
    value: float
    least: float
    most: float
    marks: dict[str, float]


@dataclass(frozen=True)
class SolvedMethod:
    """A method at one setting: gate, spectrum, isotropy, quick benchmarks, the command line."""

    slider: Slider | None
    gate: list[float]
    spectrum_before: list[float]
    spectrum_after: list[float]
    participation_before: float
    participation_after: float
    scores: list[Score]
    charts: dict[str, str]
    command: str
    notes: list[str]


@dataclass(frozen=True)
class Points:
    """Common words on a plane before and after, and the names of their clusters.

    `before` and `after` are lists of x, y, x, y, … for all words, in 10,000ths. Typical words name
    each cluster. `frequency_before` and `frequency_after` are the share of the variance of log
    rank that the plane explains: how much of a frequency axis it shows.
    """

    words: list[str]
    ranks: list[int]
    clusters: list[int]
    before: list[int]
    after: list[int]
    names: list[str]
    frequency_before: float
    frequency_after: float


@dataclass(frozen=True)
class Placed:
    """The words of a query, then its neighbours, on the planes of `Points`."""

    words: list[str]
    ranks: list[int]
    clusters: list[int]
    before: list[int]
    after: list[int]
    query: int


@dataclass(frozen=True)
class Direction:
    """An eigendirection: share of the variance, correlation with frequency, share kept."""

    number: int
    share: float
    frequency: float | None
    kept: float
    low: list[str]
    high: list[str]


@dataclass(frozen=True)
class Directions:
    """The leading directions, and the number of first words searched for their ends."""

    directions: list[Direction]
    among: int


@dataclass(frozen=True)
class Evidence:
    """A word, how much of it lies inside a concept, and whether it was given as an example."""

    word: str
    evidence: float
    rank: int
    given: bool


@dataclass(frozen=True)
class CombinedConcepts:
    """Concepts: their shares of the space, similarities, and order (which contains which)."""

    names: list[str]
    quotas: list[float]
    similarity: list[list[float]]
    order: list[list[str]]
    expression: str
    words: list[Evidence]
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FiguresState:
    """The state of the comparison (`idle`, `running`, `done` or `failed`) and its report."""

    state: str
    label: str
    fraction: float | None
    html: str
    methods: list[str]


@dataclass(frozen=True)
class Problem:
    """An error: its message, the unknown words, and suggestions for them."""

    error: str
    unknown: list[Unknown] = field(default_factory=list)
