"""What the page asks for and what it gets: plain data, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from conceptor.concepts.spelling import Unknown  # noqa: TC001 (read by the description)


@dataclass(frozen=True)
class Settings:
    """A method and its parameters, as chosen on the page.

    Attributes
    ----------
    method : str
        One of `About.methods`.
    weights : str
        How words count: one of `About.weights`; `auto` leaves it to the method.
    aperture : float, optional
        For methods that have one; None for the automatic one.
    directions : int, optional
        For methods that remove or level leading directions; None for their default.
    """

    method: str
    weights: str = "auto"
    aperture: float | None = None
    directions: int | None = None


@dataclass(frozen=True)
class Choice:
    """A method that can be chosen; `control` names the parameter that a slider moves."""

    name: str
    description: str
    control: str


@dataclass(frozen=True)
class About:
    """The vectors, what rows stand for (`words`, `tokens`, `texts`), and what can be chosen."""

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
    """A word that begins as asked, and its rank, from 1."""

    word: str
    rank: int


@dataclass(frozen=True)
class Near:
    """A neighbour; `moved` is `new`, `gone` or `both`, compared with the other side.

    Lists are ordered by `score`: the cosine, less what rare and excluded words lose. Ranks count
    from 1. Of texts, `above` is the share of random pairs with a lower cosine, such as `99.9%`.
    """

    word: str
    score: float
    cosine: float
    rank: int
    moved: str
    above: str = ""


@dataclass(frozen=True)
class Neighbours:
    """The nearest words before and after, of the words that are known, and which are not."""

    before: list[Near]
    after: list[Near]
    like: list[str]
    without: list[str]
    unknown: list[Unknown]
    prior: bool


@dataclass(frozen=True)
class Score:
    """A benchmark before and after, × 100; None where it is undefined."""

    dataset: str
    before: float | None
    after: float | None
    note: str


@dataclass(frozen=True)
class Slider:
    """A parameter that can be moved, and its marks."""

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

    `before` and `after` are x and y of one word after the other, in 10,000ths. A cluster is named
    by words that are typical of it. `frequency_before` and `frequency_after` are the share of the
    variance of log rank that the plane explains: how much of a frequency axis it shows.
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
    """The words of a query and its neighbours on the planes of `Points`; first the query's."""

    words: list[str]
    ranks: list[int]
    clusters: list[int]
    before: list[int]
    after: list[int]
    query: int


@dataclass(frozen=True)
class Direction:
    """An eigendirection: its share of the variance, how it follows frequency, what is kept."""

    number: int
    share: float
    frequency: float | None
    kept: float
    low: list[str]
    high: list[str]


@dataclass(frozen=True)
class Directions:
    """The leading directions, and among how many first words their ends were looked for."""

    directions: list[Direction]
    among: int


@dataclass(frozen=True)
class Evidence:
    """A word, how far it lies inside a concept, and whether it was given as an example."""

    word: str
    evidence: float
    rank: int
    given: bool


@dataclass(frozen=True)
class CombinedConcepts:
    """Concepts: the share of the space each claims, how similar they are, which contains which."""

    names: list[str]
    quotas: list[float]
    similarity: list[list[float]]
    order: list[list[str]]
    expression: str
    words: list[Evidence]
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FiguresState:
    """How far the comparison is: `idle`, `running`, `done` or `failed`, and its report."""

    state: str
    label: str
    fraction: float | None
    html: str
    methods: list[str]


@dataclass(frozen=True)
class Problem:
    """Why there is no answer; which words are not there, and what may have been meant."""

    error: str
    unknown: list[Unknown] = field(default_factory=list)
