"""The result of a battery: rows, years and means, as text, HTML, JSON or a data frame."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from conceptor.base.arrays import jsonable
from conceptor.base.errors import MissingExtraError
from conceptor.base.notebook import html_grid
from conceptor.base.numbers import format_number
from conceptor.evaluation.task import Outcome, is_thin

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


YEARS = ("2012", "2013", "2014", "2015")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of results; a year's row is the plain mean of its tasks."""

    task: str
    dataset: str
    metric: str
    score: float
    used: int
    total: int

    @property
    def thin(self) -> bool:
        """Whether too few items were used for the score to take part in a mean."""
        return is_thin(self.used, self.total)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with None for an undefined score."""
        found: dict[str, Any] = jsonable(asdict(self))
        return found


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of one set of vectors.

    Attributes
    ----------
    vectors : str
        Name of the vectors.
    outcomes : sequence of Outcome
        One for each dataset.
    missing : mapping of str to str
        Datasets that were not found, and why.
    """

    vectors: str
    outcomes: Sequence[Outcome]
    missing: dict[str, str]

    @property
    def families(self) -> list[str]:
        """The tasks that were run, in order."""
        return list(dict.fromkeys(outcome.task for outcome in self.outcomes))

    def rows(self, *, years: bool = True) -> list[Row]:
        """Return a row for each dataset and, with `years`, for each year of STS."""
        rows = [Row(o.task, o.dataset, o.metric, o.score, o.used, o.total) for o in self.outcomes]
        return rows + self.years() if years else rows

    def years(self) -> list[Row]:
        """Return the mean of each year of STS, over its thin tasks only if it has no others."""
        years = []
        for year in YEARS:
            of_year = [o for o in self.outcomes if o.dataset.startswith(f"{year}/")]
            if of_year:
                score = fmean(o.score for o in self.tasks_of(f"STS {year}"))
                used, total = (sum(o.used for o in of_year), sum(o.total for o in of_year))
                years.append(Row("sts", f"STS {year}", "pearson", score, used, total))
        return years

    def tasks_of(self, row: str) -> list[Outcome]:
        """Return the outcomes behind a row: its own, or those in the mean of a year."""
        year = row.removeprefix("STS ")
        found = [o for o in self.outcomes if o.dataset == row or o.dataset.startswith(f"{year}/")]
        return [o for o in found if not o.thin] or found

    def of_family(self, family: str) -> list[Outcome]:
        """Return the outcomes that belong to a family's mean; SICK, for example, does not."""
        return [o for o in self.outcomes if o.task == family and o.in_mean]

    def mean_outcomes(self, family: str) -> list[Outcome]:
        """Return the outcomes in a family's mean: those defined, on enough items."""
        return [o for o in self.of_family(family) if not (math.isnan(o.score) or o.thin)]

    @property
    def left_out(self) -> dict[str, str]:
        """Datasets left out of the means because the vectors cover too little of them."""
        return {o.dataset: f"{o.used} of {o.total} items" for o in self.outcomes if o.thin}

    def means(self) -> dict[str, float]:
        """Return each family's plain mean over the sets that belong to it."""
        parts = {family: self.mean_outcomes(family) for family in self.families}
        return {
            family: fmean(outcome.score for outcome in outcomes)
            for family, outcomes in parts.items()
            if outcomes
        }

    @property
    def remarks(self) -> list[str]:
        """Remarks of outcomes, besides their scores."""
        return [f"{o.dataset}: {o.remark}" for o in self.outcomes if o.remark]

    def __getitem__(self, dataset: str) -> Row:
        """Return the row of a dataset or a year."""
        for row in self.rows():
            if row.dataset == dataset:
                return row
        raise KeyError(dataset)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "vectors": self.vectors,
            "results": [row.to_dict() for row in self.rows()],
            "means": self.means(),
            "left_out": self.left_out,
            "remarks": self.remarks,
            "missing": self.missing,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame, one row for each dataset and year."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("A data frame", "pandas") from None
        return pd.DataFrame([asdict(row) for row in self.rows()])

    def __str__(self) -> str:
        lines = [f"{self.vectors}"]
        lines += [
            f"{row.task:<15} {row.dataset:<22} {row.score:6.2f}  {row.used}/{row.total}"
            for row in self.rows()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show a row for each dataset in a notebook."""
        rows = (
            (row.task, row.dataset, row.metric, format_number(row.score), f"{row.used}/{row.total}")
            for row in self.rows()
        )
        return html_grid(self.vectors, ("task", "dataset", "metric", "score", "used"), rows)
